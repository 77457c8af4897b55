"""Triton kernels as a backend, called through jax-triton.

``import jaxbern`` does not import Triton: what needs it is imported when it is called. The
kernels are in :mod:`jaxbern.kernels.triton.triton_kernels`; this file prepares their calls.
Without a GPU they can be interpreted or compiled: ``triton_offline`` beside it.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels.algebra import binomials
from jaxbern.kernels.backend import kernel_limit, kernel_obstacle
from jaxbern.kernels.factored import factor, stretch
from jaxbern.kernels.packed import FORWARD, GRADIENT, MOMENTS, SKIP, Packed, Task
from jaxbern.kernels.triton.triton_call import Call, launch


def _launched(task: Task, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
    return launch(prepare(task, arrays), arrays)


def _interpreted(task: Task, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
    from jaxbern.kernels.triton import triton_offline

    return triton_offline.interpret(prepare(task, arrays), arrays)


def prepare(task: Task, arrays: Sequence[jax.Array | jax.ShapeDtypeStruct]) -> Call:
    """How the task's kernel is called for packed ``arrays``, in its own order."""
    degree, (groups, rows, width), launch = task.degree, task.sizes, task.launch
    factors, scale = factor(degree), stretch(degree)
    forward = task.kernel in (FORWARD, SKIP)
    # Behind x: coefficients, unless only moments are wanted, and the interval.
    *coeffs, interval = arrays[1 : 2 if task.kernel == MOMENTS else 3]
    constants: dict[str, Any] = {
        "FACTORS": (degree, factors.inner, factors.outer, scale),
        "WIDTH": width,
        "STRIDES": tuple(_strides(p.shape) for p in (interval, *coeffs)),
        "TILE": (launch.rows, launch.columns, launch.unroll,
                 rows % launch.rows_per_program != 0),
        "MODE": (task.centred, task.linear, task.ends),
    }  # fmt: skip
    if coeffs:
        weights = binomials(degree if forward else degree - 1, np.float64)
        weights = weights if forward else weights * (degree / scale)
        constants["WEIGHTS"] = tuple(weights.astype(np.float32).tolist())
    y = jax.ShapeDtypeStruct(task.sizes, arrays[0].dtype)
    partial_sums = (task.sums, groups, task.row_blocks, width)
    sums = jax.ShapeDtypeStruct(partial_sums, jnp.float32)
    outputs = {GRADIENT: (y, sums), MOMENTS: (sums,)}.get(task.kernel, (y,))
    return Call(
        task.kernel,
        tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays),
        (rows, launch.rows_per_program),
        outputs,
        tuple(constants.items()),
        task.programs,
        launch.warps,
        # In a loop over layers the sum takes the place of what it was added to; else XLA
        # would copy it there.
        ((len(arrays) - 1, 0),) if task.kernel == SKIP else (),
    )


def _strides(shape: Sequence[int]) -> tuple[int, int, int]:
    """Strides of ``[k, S or 1, W or 1]``: zero along what is shared."""
    _, groups, width = shape
    return groups * width, width if groups > 1 else 0, 1 if width > 1 else 0


def _obstacle(platform: str, dtype, degree: int) -> str | None:
    obstacle = kernel_obstacle(platform, dtype, degree)
    if obstacle is None and importlib.util.find_spec("jax_triton") is None:
        return "jax-triton is not installed: pip install 'jaxbern[triton,cuda12]'"
    return obstacle


BACKEND = Packed(_launched).backend("triton", _obstacle)
INTERPRETED = Packed(_interpreted).backend("triton:interpret", kernel_limit)
