"""Pallas for Triton as a backend; the kernels are imported when they are first called."""

import functools
import importlib
import importlib.util

from jaxbern.kernels.backend import kernel_limit, kernel_obstacle
from jaxbern.kernels.packed import Packed


def _run(task, arrays, *, interpret):
    kernels = importlib.import_module("jaxbern.kernels.pallas.pallas_kernels")
    return kernels.run(task, arrays, interpret=interpret)


def _obstacle(platform: str, dtype, degree: int) -> str | None:
    obstacle = kernel_obstacle(platform, dtype, degree)
    found = importlib.util.find_spec("jax.experimental.pallas.triton")
    if obstacle is None and found is None:
        return "this JAX has no Pallas for Triton"
    return obstacle


_kernels = Packed(functools.partial(_run, interpret=False), ratio=True)
_meaning = Packed(functools.partial(_run, interpret=True), ratio=True)
BACKEND = _kernels.backend("pallas", _obstacle)
INTERPRETED = _meaning.backend("pallas:interpret", kernel_limit)
