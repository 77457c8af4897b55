"""The compared packages: which are installed, and how to get the others."""

import dataclasses
import importlib
import importlib.util
import sys
import warnings
from importlib import metadata


@dataclasses.dataclass(frozen=True)
class Package:
    """A package to compare with.

    Attributes:
      name: its name, as its authors write it.
      module: the module to import.
      get: how to install it.
      distribution: its name on PyPI, which has the version; empty if it has none.
    """

    name: str
    module: str
    get: str
    distribution: str | None = None

    def problem(self) -> str | None:
        """Return why it cannot be used here; None if it can."""
        if not _exists(self.module):
            return f"not installed: {self.get}"
        try:
            with warnings.catch_warnings():
                # Deprecation warnings of other packages.
                warnings.simplefilter("ignore")
                importlib.import_module(self.module)
        except Exception as error:  # imports of other packages may raise anything
            return f"installed, but its import fails: {error!r}"
        return None

    def version(self) -> str:
        """Return the version of the package, if it has one."""
        try:
            return metadata.version(self.distribution or self.name)
        except metadata.PackageNotFoundError:
            top = sys.modules.get(self.module.partition(".")[0])
            return f"{getattr(top, '__version__', '')} from source".strip()


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing too
        return False


JAXBERN = Package("jaxbern", "jaxbern", 'pip install -e ".[experiments]"')
TORCH = Package("PyTorch", "torch", "pip install torch", "torch")
DEEPBERN = Package(
    "DeepBern-Nets",
    "models.BernsteinLayer",
    "not a package: its folder, https://github.com/rcpsl/DeepBern-Nets, on PYTHONPATH",
)
RATIONAL = Package(
    "rational_activations",
    "rational.torch",
    "see https://github.com/ml-research/rational_activations",
    "rational-activations",
)
FLASHKAT = Package(
    "FlashKAT",
    "rational_kat",
    "not a package: its folder, https://github.com/OSU-STARLAB/FlashKAT, on PYTHONPATH, "
    "and pip install triton",
)
JAXKAN = Package("jaxKAN", "jaxkan", "pip install jaxkan", "jaxkan")
PYKAN = Package(
    "pykan",
    "kan",
    "pip install pykan matplotlib scikit-learn sympy pandas tqdm pyyaml",
)
EFFICIENT_KAN = Package(
    "efficient-kan",
    "efficient_kan",
    "see https://github.com/Blealtan/efficient-kan",
)
OTHERS = (TORCH, DEEPBERN, RATIONAL, FLASHKAT, JAXKAN, PYKAN, EFFICIENT_KAN)


def missing() -> dict[str, str]:
    """Return the packages that cannot be used here, by name, and why."""
    return {p.name: why for p in OTHERS if (why := p.problem()) is not None}
