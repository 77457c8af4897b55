"""Which implementation runs: by name, by platform, and why.

A name the user gave works or raises, saying why. Without one (``AUTO``) the platform that
the program is compiled for decides, at lowering time, so a program exported for
another platform gets that platform's choice.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from jaxbern.kernels import xla

AUTO = "auto"
NAMES = ("xla", "pallas", "triton")


@dataclass(frozen=True)
class Backend:
    """The functions every implementation has; :mod:`jaxbern.kernels.xla` defines them."""

    evaluate: Callable
    vjp: Callable
    moments: Callable


def get(implementation: str, platform: str) -> Backend:
    """The backend that runs ``implementation`` in a program compiled for ``platform``."""
    if implementation in (AUTO, "xla"):
        on_cpu = platform == "cpu"
        return Backend(
            evaluate=xla.evaluate,
            vjp=functools.partial(xla.vjp, on_cpu=on_cpu),
            moments=functools.partial(xla.moments, on_cpu=on_cpu),
        )
    raise NotImplementedError(
        f"implementation={implementation!r} is a kernel for CUDA devices and this "
        f"program is compiled for {platform!r}: write implementation='xla', or leave "
        "it out and the best available one is chosen"
    )
