"""The value and the gradient as Pallas kernels for Mosaic GPU.

What is done with an element is in :mod:`jaxbern.kernels.element`. The sums stay in registers
while a program walks down its rows, and each program writes its own: no atomics, the same
bits every time.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxbern.kernels.element import Arithmetic, Slope, Value
from jaxbern.kernels.mosaic.mosaic_tile import TILE, Strip, call, instruction, spread
from jaxbern.kernels.packed import FORWARD, GRADIENT, SKIP, Task, outputs


def run(
    task: Task, arrays: Sequence[jax.Array], *, interpret: bool
) -> Sequence[jax.Array]:
    """Run the task's kernel; ``interpret`` runs its meaning instead, on any platform."""
    tile = (task.launch.rows, task.launch.columns)
    if tile != TILE:
        raise ValueError(f"a tile of the Mosaic kernels must be {TILE}, got {tile}")
    kernel = _evaluate if task.kernel in (FORWARD, SKIP) else _differentiate
    kernel = functools.partial(kernel, task=task, interpret=interpret)
    return call(kernel, task, outputs(task, arrays[0]), arrays, interpret)


class _Compiled(Arithmetic):
    def quick_reciprocal(self, x: jax.Array) -> jax.Array:
        """``1 / x``, one unit off at most: a division would be twenty instructions."""
        return instruction("rcp.approx.ftz.f32", x)


def _arithmetic(interpret: bool) -> Arithmetic:
    return Arithmetic() if interpret else _Compiled()


def _evaluate(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    interval_ref,  # [2 or 3, S or 1, W or 1]
    *refs,  # addend [S, B, W] if there is one; then y [S, B, W]
    task: Task,
    interpret: bool,
):
    *addend_ref, y_ref = refs
    inputs = (x_ref, *addend_ref)
    strip = Strip.here(task, interpret)
    memory = strip.memory
    interval, raw = map(strip.parameters, (interval_ref, coeffs_ref))
    value = Value.of(task, interval, raw, _arithmetic(interpret))
    in_tile = jax.tree.map(spread, value)

    def tiles(row, count, carry):
        # All loads first: that many are in flight at once.
        loaded = [map(memory.load, strip.tiles(ref, row, count)) for ref in inputs]
        loaded = list(zip(*loaded, strict=True))
        for target, args in zip(strip.tiles(y_ref, row, count), loaded, strict=True):
            memory.store(target, in_tile(*args))
        return carry

    def single(row, carry):
        args = [memory.load(strip.row(ref, row)) for ref in inputs]
        memory.store(strip.row(y_ref, row), value(*args))
        return carry

    strip.walk(tiles, single)


def _differentiate(
    x_ref,  # [S, B, W]
    *refs,  # coeffs [n+1, S or 1, W or 1] if dx is wanted, interval, dy; then results
    task: Task,
    interpret: bool,
):
    results = 2 if task.kernel == GRADIENT else 1
    *coeffs_ref, interval_ref, dy_ref = refs[:-results]
    *dx_ref, sums_ref = refs[-results:]
    inputs = (x_ref, dy_ref)
    strip = Strip.here(task, interpret)
    memory = strip.memory
    raw = [c for ref in coeffs_ref for c in strip.parameters(ref)]
    slope = Slope.of(task, strip.parameters(interval_ref), raw, _arithmetic(interpret))
    in_tile = jax.tree.map(spread, slope)

    def tiles(row, count, sums):
        loaded = [map(memory.load, strip.tiles(ref, row, count)) for ref in inputs]
        targets = [strip.tiles(ref, row, count) for ref in dx_ref]
        for i, (x, dy) in enumerate(list(zip(*loaded, strict=True))):
            dx, sums = in_tile(x, dy, sums)
            for target in targets:
                memory.store(target[i], dx)
        return tuple(sums)

    def single(row, sums):
        # All warps hold this row; the first adds it to its sums.
        def once(value):
            return jnp.where(memory.first_row(), spread(value), 0.0)

        x, dy = (memory.load(strip.row(ref, row)) for ref in inputs)
        dx, sums = slope(x, dy, sums, spread, once)
        for target in dx_ref:
            memory.store(strip.row(target, row), dx)
        return tuple(sums)

    zero = memory.zeros()
    strip.store_sums(sums_ref, strip.walk(tiles, single, (zero,) * task.sums))
