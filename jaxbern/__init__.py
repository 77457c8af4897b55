"""Learnable Bernstein-polynomial activations for JAX."""

import importlib
from types import ModuleType

from jaxbern import _stopped as _stopped  # first: the others import JAX
from jaxbern import initializers as initializers
from jaxbern import linen as linen
from jaxbern import poly as poly
from jaxbern._version import __version__ as __version__
from jaxbern.kernels.autotune import autotune as autotune
from jaxbern.nn import MLP as MLP
from jaxbern.nn import BernsteinAct as BernsteinAct
from jaxbern.nn import NetworkConfig as NetworkConfig
from jaxbern.nn import convert as convert
from jaxbern.nn import inspect as inspect
from jaxbern.nn import saturation as saturation
from jaxbern.op import bernstein as bernstein
from jaxbern.op import bernstein_norm as bernstein_norm
from jaxbern.op import explain as explain
from jaxbern.op import implementation as implementation

# Imported on first use, so that importing the activation alone stays fast.
_ON_DEMAND = ("certify", "data", "metrics", "optim", "plot", "train")


def __getattr__(name: str) -> ModuleType:
    """Import ``jb.data`` and the other submodules of ``_ON_DEMAND`` on first use."""
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all names, those imported on first use included."""
    return sorted({*globals(), *_ON_DEMAND})
