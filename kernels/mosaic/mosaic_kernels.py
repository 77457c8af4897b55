"""The value and the gradient as Pallas kernels for Mosaic GPU.

What is done with an element is in :mod:`jaxbern.kernels.element`. The sums stay in registers
while a program walks down its rows, and each program writes its own: no atomics, the same
bits every time.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxbern.kernels.element import Arithmetic, Place, Slope, Value
from jaxbern.kernels.mosaic.mosaic_tile import TILE, Strip, call, spread
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
    place = Place.of(task.degree, strip.parameters(interval_ref), Arithmetic())
    value = Value.of(place, strip.parameters(coeffs_ref), task.linear)
    in_tile = jax.tree.map(spread, value)

    def tiles(rows, carry):
        # All loads first: that many are in flight at once.
        loaded = [[memory.load(strip.tile(ref, row)) for ref in inputs] for row in rows]
        for row, args in zip(rows, loaded, strict=True):
            memory.store(strip.tile(y_ref, row), in_tile(*args))
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
    place = Place.of(task.degree, strip.parameters(interval_ref), Arithmetic())
    raw = [c for ref in coeffs_ref for c in strip.parameters(ref)]
    slope = Slope.of(task.degree, place, raw, task.linear, task.ends)
    in_tile = jax.tree.map(spread, slope)

    def tiles(rows, sums):
        loaded = [[memory.load(strip.tile(ref, row)) for ref in inputs] for row in rows]
        for row, args in zip(rows, loaded, strict=True):
            dx, sums = in_tile(*args, sums)
            if dx is not None:
                memory.store(strip.tile(dx_ref[0], row), dx)
        return tuple(sums)

    def single(row, sums):
        # All warps hold this row; the first adds it to its sums.
        def once(value):
            return jnp.where(memory.first_row(), spread(value), 0.0)

        args = [memory.load(strip.row(ref, row)) for ref in inputs]
        dx, sums = slope(*args, sums, spread, once)
        if dx is not None:
            memory.store(strip.row(dx_ref[0], row), dx)
        return tuple(sums)

    zero = memory.zeros()
    strip.store_sums(sums_ref, strip.walk(tiles, single, (zero,) * task.sums))
