"""The implementations by name. Each is a module with the functions of ``xla``."""

from types import ModuleType

from jaxbern.kernels import xla

NAMES = ("xla", "pallas", "triton")


def get(name: str) -> ModuleType:
    """The module that implements ``name``."""
    return {"xla": xla}[name]
