"""What runs on a TPU: XLA's code, but for gradients of high degree.

XLA puts ``dx`` and all sums of a gradient into one loop over ``x`` and ``dy`` as long as they
are few. Many it divides among several loops, each of which reads both arrays again: 52 bytes
for an element at degree 25 in place of 12. There a kernel reads them once.
"""

import functools
import importlib

import numpy as np

from jaxbern.kernels.backend import HIGHEST_KERNEL_DEGREE, Backend
from jaxbern.kernels.layout import plan
from jaxbern.kernels.packed import Packed
from jaxbern.kernels.xla import xla_backend

# Up to here XLA reads the arguments once: compiled for v5e and v6e.
HIGHEST_XLA_DEGREE = 17
# Columns lie along the lanes of a register: with fewer most of them would be idle.
LANES = 128


def _run(task, arrays, *, interpret):
    kernels = importlib.import_module("jaxbern.kernels.tpu.tpu_kernels")
    return kernels.run(task, arrays, interpret=interpret)


def _suits(x_shape, coeffs_shape, interval) -> bool:
    """Whether the kernel is the better choice, and can do it."""
    degree = coeffs_shape[0] - 1
    columns = plan(x_shape, coeffs_shape, interval.shape).sizes[2]
    return (
        HIGHEST_XLA_DEGREE < degree <= HIGHEST_KERNEL_DEGREE
        and interval.dtype == np.float32
        and columns >= LANES
    )


def _backend(interpret: bool) -> Backend:
    xla = xla_backend.BACKEND
    kernels = Packed(functools.partial(_run, interpret=interpret))

    def vjp(x, coeffs, interval, dy, **options):
        suits = _suits(x.shape, coeffs.shape, interval)
        run = kernels.vjp if suits else xla.vjp
        return run(x, coeffs, interval, dy, **options)

    def moments(x, interval, dy, *, shape, **options):
        run = kernels.moments if _suits(x.shape, shape, interval) else xla.moments
        return run(x, interval, dy, shape=shape, **options)

    # Evaluation is left to XLA, which fuses it with what is around it.
    obstacle, elementwise = xla.obstacle, xla.elementwise
    functions = xla.evaluate, vjp, moments
    return Backend(xla.name, *functions, obstacle=obstacle, elementwise=elementwise)


BACKEND = _backend(interpret=False)
INTERPRETED = _backend(interpret=True)
