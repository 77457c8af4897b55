"""Pallas for Triton as a backend; the kernels are imported when they are first called."""

import functools
import importlib
import importlib.util

from jaxbern.kernels.backend import Backend, kernel_limit, kernel_obstacle


def _obstacle(platform: str, dtype, degree: int) -> str | None:
    if importlib.util.find_spec("jax.experimental.pallas.triton") is None:
        return "this JAX has no Pallas for Triton"
    return kernel_obstacle(platform, dtype, degree)


def _call(module: str, function: str, /, *args, **options):
    found = importlib.import_module(f"jaxbern.kernels.pallas.{module}")
    return getattr(found, function)(*args, **options)


def _backend(name: str, obstacle, interpret: bool) -> Backend:
    functions = (
        functools.partial(_call, *where, interpret=interpret)
        for where in (
            ("pallas_forward", "evaluate"),
            ("pallas_gradient", "vjp"),
            ("pallas_gradient", "moments"),
        )
    )
    return Backend(name, *functions, obstacle=obstacle)


BACKEND = _backend("pallas", _obstacle, interpret=False)
INTERPRETED = _backend("pallas:interpret", kernel_limit, interpret=True)
