"""The value and the gradient as Pallas kernels (Triton backend).

What is done with an element is in :mod:`jaxbern.kernels.element`. The sums stay in registers
while a program walks down its rows, and each program writes its own: no atomics, the same
bits every time.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxbern.kernels.element import Arithmetic, Slope, Value
from jaxbern.kernels.packed import FORWARD, GRADIENT, SKIP, Task, outputs
from jaxbern.kernels.pallas.pallas_tile import Assembly, Strip, call


def run(
    task: Task, arrays: Sequence[jax.Array], *, interpret: bool
) -> Sequence[jax.Array]:
    """Run the task's kernel; ``interpret`` runs its meaning instead, on any platform."""
    kernel = _evaluate if task.kernel in (FORWARD, SKIP) else _differentiate
    kernel = functools.partial(kernel, task=task, interpret=interpret)
    # In a loop over layers the sum takes the place of what it was added to; else XLA
    # would copy it there.
    in_place = {len(arrays) - 1: 0} if task.kernel == SKIP else {}
    return call(kernel, task, outputs(task, arrays[0]), arrays, in_place, interpret)


def _evaluate(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    interval_ref,  # [2 or 3, S or 1, W or 1]
    *refs,  # addend [S, B, W] if there is one; then y [S, B, W]
    task: Task,
    interpret: bool,
):
    *addend_ref, y_ref = refs
    strip = Strip.here(task, interpret)
    arithmetic = Arithmetic() if interpret else Assembly()
    interval, raw = map(strip.parameters, (interval_ref, coeffs_ref))
    value = Value.of(task, interval, raw, arithmetic)

    def step(i, carry):
        # All loads first: that many are in flight at once.
        loaded = [
            (tile, tile.load(x_ref), *map(tile.load, addend_ref))
            for tile in strip.tiles(i)
        ]
        for tile, x, *addend in loaded:
            tile.store(y_ref, value(x, *addend))
        return carry

    strip.loop(step)


def _differentiate(
    x_ref,  # [S, B, W]
    *refs,  # coeffs [n+1, S or 1, W or 1] if dx is wanted, interval, dy; then results
    task: Task,
    interpret: bool,
):
    results = 2 if task.kernel == GRADIENT else 1
    *coeffs_ref, interval_ref, dy_ref = refs[:-results]
    *dx_ref, sums_ref = refs[-results:]
    strip = Strip.here(task, interpret)
    arithmetic = Arithmetic() if interpret else Assembly()
    raw = [c for ref in coeffs_ref for c in strip.parameters(ref)]
    slope = Slope.of(task, strip.parameters(interval_ref), raw, arithmetic)

    def step(i, sums):
        loaded = [
            (tile, tile.load(x_ref), tile.load(dy_ref)) for tile in strip.tiles(i)
        ]
        for tile, x, dy in loaded:
            dx, sums = slope(x, dy, sums)
            if dx is not None:
                tile.store(dx_ref[0], dx)
        return sums

    zero = jnp.zeros((task.launch.rows, task.launch.columns), jnp.float32)
    strip.store_sums(sums_ref, strip.loop(step, (zero,) * task.sums))
