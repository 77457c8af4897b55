"""The gradient as a Pallas kernel for TPUs.

The grid is groups, strips of columns, blocks of rows, the last fastest: a strip's sums stay
in fast memory while its rows pass by. Within a block a few rows are taken at a time, so
that all sums fit in registers.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from jaxbern.kernels.element import Arithmetic, Slope
from jaxbern.kernels.packed import GRADIENT, Task, result

COLUMNS = 128  # lanes of a register
ROWS = 512  # of a block: 256 KiB, so that a copy is long and several fit


def run(
    task: Task, arrays: Sequence[jax.Array], *, interpret: bool
) -> Sequence[jax.Array]:
    """``dx``, if it is wanted, and the sums; ``interpret`` runs on any platform."""
    groups, batch, width = task.sizes
    x, *parameters, dy = arrays
    # A register holds 8 rows of 4 bytes, or 16 of 2.
    step = 32 // x.dtype.itemsize
    rows = min(ROWS, -(-batch // step) * step)
    like_x = pl.BlockSpec((None, rows, COLUMNS), lambda g, c, r: (g, r, c))
    summed = pl.BlockSpec((None, task.sums, COLUMNS), lambda g, c, r: (g, 0, c))
    outputs = [result(x, (groups, task.sums, width), jnp.float32)]
    out_specs = [summed]
    if task.kernel == GRADIENT:
        outputs.insert(0, result(x, task.sizes, x.dtype))
        out_specs.insert(0, like_x)
    kernel = functools.partial(_differentiate, task=task, rows=rows, step=step)
    *dx, sums = pl.pallas_call(
        kernel,
        grid=(groups, -(-width // COLUMNS), -(-batch // rows)),
        in_specs=[like_x, *map(_of_parameters, parameters), like_x],
        out_specs=out_specs,
        out_shape=outputs,
        name=task.kernel,
        interpret=interpret,
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")
        ),
    )(x, *(jnp.swapaxes(p, 0, 1) for p in parameters), dy)
    # One sum over all rows, where GPU kernels have one for each row block.
    return *dx, jnp.swapaxes(sums, 0, 1)[:, :, None]


def _of_parameters(values: jax.Array) -> pl.BlockSpec:
    """All numbers of a strip's columns, of ``[S or 1, k, W or 1]``."""
    count, groups, width = values.shape
    columns = COLUMNS if width > 1 else 1

    def index(group, strip, _):
        return (group if groups > 1 else 0, 0, strip if width > 1 else 0)

    return pl.BlockSpec((None, count, columns), index)


def _differentiate(
    x_ref,  # [rows, 128]
    *refs,  # coeffs [n+1, 128 or 1] if dx is wanted, interval, dy; then results
    task: Task,
    rows: int,
    step: int,
):
    results = 2 if task.kernel == GRADIENT else 1
    *coeffs_ref, interval_ref, dy_ref = refs[:-results]
    *dx_ref, sums_ref = refs[-results:]
    first = pl.program_id(2) * rows

    @pl.when(first == 0)
    def _():
        sums_ref[...] = jnp.zeros_like(sums_ref)

    shape = (step, COLUMNS)
    interval = _rows_of(interval_ref, shape)
    raw = [c for ref in coeffs_ref for c in _rows_of(ref, shape)]
    slope = Slope.of(task, interval, raw, Arithmetic())

    def body(i, sums):
        here = pl.ds(i * step, step)
        x, dy = (ref[here, :].astype(jnp.float32) for ref in (x_ref, dy_ref))
        if task.sizes[1] % rows:
            # Beyond the last row memory holds anything, which as NaN would come through.
            row = first + i * step + lax.broadcasted_iota(jnp.int32, shape, 0)
            inside = row < task.sizes[1]
            x, dy = jnp.where(inside, x, 0.0), jnp.where(inside, dy, 0.0)
        dx, sums = slope(x, dy, sums)
        for ref in dx_ref:
            ref[here, :] = dx.astype(ref.dtype)
        return tuple(sums)

    zero = jnp.zeros(shape, jnp.float32)
    sums = lax.fori_loop(0, rows // step, body, (zero,) * task.sums)
    for k, values in enumerate(sums):
        sums_ref[k : k + 1, :] += jnp.sum(values, axis=0, keepdims=True)


def _rows_of(ref, shape: tuple[int, int]) -> list[jax.Array]:
    return [jnp.broadcast_to(ref[k : k + 1, :], shape) for k in range(ref.shape[0])]
