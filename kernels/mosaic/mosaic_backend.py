"""Pallas for Mosaic GPU as a backend; the kernels are imported when first called."""

import functools
import importlib
import importlib.util

import jax

from jaxbern.kernels.backend import kernel_limit, kernel_obstacle
from jaxbern.kernels.mosaic.mosaic_fold import COLUMNS, plan
from jaxbern.kernels.packed import Packed

_OLDEST_JAX = (0, 12)


def _run(task, arrays, *, interpret):
    kernels = importlib.import_module("jaxbern.kernels.mosaic.mosaic_kernels")
    return kernels.run(task, arrays, interpret=interpret)


def _obstacle(platform: str, dtype, degree: int) -> str | None:
    if (obstacle := kernel_obstacle(platform, dtype, degree)) is not None:
        return obstacle
    if jax.__version_info__ < _OLDEST_JAX:
        # Mosaic GPU of JAX 0.10 compiles nothing for Ampere.
        oldest = ".".join(map(str, _OLDEST_JAX))
        return f"the Mosaic kernels need JAX {oldest}, this is {jax.__version__}"
    if importlib.util.find_spec("jax.experimental.pallas.mosaic_gpu") is None:
        return "this JAX has no Pallas for Mosaic GPU"
    return None


def _packed(interpret: bool) -> Packed:
    run = functools.partial(_run, interpret=interpret)
    return Packed(run, plan=plan, tile=(4, COLUMNS), ratio=True)


BACKEND = _packed(interpret=False).backend("mosaic", _obstacle)
INTERPRETED = _packed(interpret=True).backend("mosaic:interpret", kernel_limit)
