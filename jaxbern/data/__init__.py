"""Data sets: HIGGS and SUSY as published, and a small collider simulation.

>>> import jaxbern as jb
>>> data = jb.data.higgs("HIGGS.csv.gz")  # doctest: +SKIP
>>> data = jb.data.load("collider:higgs", rows=1000, seed=1)
>>> split = jb.data.split(data, seeds=[0, 1, 2])
"""

import importlib
from types import ModuleType

from jaxbern.data._dataset import Dataset as Dataset
from jaxbern.data._errors import DataError as DataError
from jaxbern.data._inventory import DataCopy as DataCopy
from jaxbern.data._inventory import DataFile as DataFile
from jaxbern.data._inventory import cache_folder as cache_folder
from jaxbern.data._inventory import fingerprint as fingerprint
from jaxbern.data._inventory import inventory as inventory
from jaxbern.data._load import higgs as higgs
from jaxbern.data._load import load as load
from jaxbern.data._load import susy as susy
from jaxbern.data._split import Split as Split
from jaxbern.data._split import split as split


def __getattr__(name: str) -> ModuleType:
    """Import ``jb.data.collider`` on first use."""
    if name == "collider":
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all names, those imported on first use included."""
    return sorted({*globals(), "collider"})
