"""The value and the gradient as Pallas kernels (Triton backend).

Per element: clamp, then ``t`` and ``s`` from the distances to both ends, then the factored
products of :mod:`jaxbern.kernels.factored`. Contracted with the coefficients they are the
value, to which the addend and the straight line beyond an end come with one multiply-add
each. With ``dy`` multiplied into the outer ones they serve twice: contracted with the
slope's coefficients they are ``dx``, added up over the rows the moments. The sums stay in
registers while a program walks down its rows, and each program writes its own: no
atomics, the same bits every time.
"""

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxbern.kernels import factored
from jaxbern.kernels.packed import FORWARD, GRADIENT, MOMENTS, SKIP, Task
from jaxbern.kernels.pallas.pallas_tile import Arithmetic, Strip, call, result


def run(
    task: Task, arrays: Sequence[jax.Array], *, interpret: bool
) -> Sequence[jax.Array]:
    """Run the task's kernel; ``interpret`` runs its meaning instead, on any platform."""
    x, (groups, _, columns) = arrays[0], task.sizes
    like_x = result(x, task.sizes, x.dtype)
    sums = result(x, (task.sums, groups, task.row_blocks, columns), jnp.float32)
    results = {GRADIENT: [like_x, sums], MOMENTS: [sums]}.get(task.kernel, [like_x])
    kernel = _evaluate if task.kernel in (FORWARD, SKIP) else _differentiate
    kernel = functools.partial(kernel, task=task, interpret=interpret)
    # In a loop over layers the sum takes the place of what it was added to; else XLA
    # would copy it there.
    in_place = {len(arrays) - 1: 0} if task.kernel == SKIP else {}
    return call(kernel, task, results, arrays, in_place, interpret)


def _evaluate(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    interval_ref,  # [2 or 3, S or 1, W or 1]
    *refs,  # addend [S, B, W] if there is one; then y [S, B, W]
    task: Task,
    interpret: bool,
):
    *addend_ref, y_ref = refs
    degree = task.degree
    strip, arithmetic = Strip.here(task, interpret), Arithmetic(interpret)
    lower, upper, *centre = strip.parameters(interval_ref)
    raw = strip.parameters(coeffs_ref)
    coeffs = [c * float(math.comb(degree, k)) for k, c in enumerate(raw)]
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    inverse = arithmetic.reciprocal(upper - lower)
    low, high = ((b - a) * (inverse * degree) for a, b in (raw[:2], raw[-2:]))
    inverse = inverse * stretch

    def step(i, carry):
        # All loads first: that many are in flight at once.
        loaded = [
            (tile, tile.load(x_ref), *map(tile.load, addend_ref))
            for tile in strip.tiles(i)
        ]
        for tile, x, *addend in loaded:
            v = x - centre[0] if centre else x
            z = arithmetic.clamp(v, lower, upper)
            t = factored.Powers((z - lower) * inverse)
            s = factored.Powers((upper - z) * inverse)
            y = factored.evaluate(factors, coeffs, t, s, arithmetic.fma)
            y = arithmetic.scaled(y, stretch**-degree, *addend)
            if task.linear:
                y = arithmetic.fma(v - z, jnp.where(v < lower, low, high), y)
            tile.store(y_ref, y)
        return carry

    strip.loop(step)


def _differentiate(
    x_ref,  # [S, B, W]
    *refs,  # coeffs [n+1, S or 1, W or 1] if dx is wanted, interval, dy; then results
    task: Task,
    interpret: bool,
):
    degree, wants_dx = task.degree, task.kernel == GRADIENT
    results = 1 + wants_dx
    *coeffs_ref, interval_ref, dy_ref = refs[:-results]
    *dx_ref, sums_ref = refs[-results:]
    strip, arithmetic = Strip.here(task, interpret), Arithmetic(interpret)
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    lower, upper, *centre = strip.parameters(interval_ref)
    inverse = arithmetic.reciprocal(upper - lower) * stretch
    scale = inverse * (degree * stretch ** -(degree + 1))
    slopes = [
        slope for ref in coeffs_ref for slope in factored.slopes(strip.parameters(ref))
    ]

    def step(i, sums):
        loaded = [
            (tile, tile.load(x_ref), tile.load(dy_ref)) for tile in strip.tiles(i)
        ]
        for tile, x, dy in loaded:
            v = x - centre[0] if centre else x
            z = arithmetic.clamp(v, lower, upper)
            t = factored.Powers((z - lower) * inverse)
            s = factored.Powers((upper - z) * inverse)
            inner = factored.inner_factors(factors, t, s)
            outer = factored.outer_factors(factors, t, s, scale=dy)
            sums = factored.accumulate(factors, sums, inner, outer, arithmetic.fma)
            if task.linear:
                over = jnp.minimum(v - z, 0.0), jnp.maximum(v - z, 0.0)
                sums = add_to_last(sums, dy, over)
            if not wants_dx:
                continue
            dx = factored.contract(factors, slopes, inner, outer, arithmetic.fma)
            dx = dx * scale
            if not task.linear:
                # Not `v != z`, which holds for NaN: that has to come through.
                dx = jnp.where((v < z) | (v > z), 0.0, dx)
                sums = add_to_last(sums, dx, (s[1], t[1])) if task.ends else sums
            tile.store(dx_ref[0], dx)
        return sums

    def add_to_last(sums, factor, pair):
        *others, first, second = sums
        first = arithmetic.fma(factor, pair[0], first)
        return *others, first, arithmetic.fma(factor, pair[1], second)

    zero = jnp.zeros((task.launch.rows, task.launch.columns), jnp.float32)
    strip.store_sums(sums_ref, strip.loop(step, (zero,) * task.sums))
