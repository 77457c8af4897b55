"""The gradient as a Pallas kernel: all of it in one pass over ``x`` and ``dy``.

The factored products of :mod:`jaxbern.kernels.factored`, with ``dy`` multiplied into the
outer ones, serve twice: contracted with the slope's coefficients they are ``dx``, added
up over the rows they are ``dcoeffs``. The gradient in the interval takes two sums more,
``s dx`` and ``t dx``; straight tails too, of what lies beyond either end
(:func:`jaxbern.kernels.algebra.beyond`), and the interval follows from these. The sums
stay in registers while a program walks down its rows, and each program writes its own:
no atomics, the same bits every time.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jaxbern.kernels import algebra, config, factored
from jaxbern.kernels.algebra import CLAMP, LINEAR
from jaxbern.kernels.layout import plan
from jaxbern.kernels.pallas.pallas_tile import Arithmetic, Grid, call, result


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    interval: jax.Array,
    dy: jax.Array,
    *,
    outside: str,
    with_interval: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> tuple[jax.Array, ...]:
    """As :func:`jaxbern.kernels.xla.xla_backend.vjp`, in one pass over ``x`` and ``dy``."""
    ends = outside if with_interval or outside == LINEAR else None
    options = {"ends": ends, "interpret": interpret, "launch": launch}
    dx, sums = _run(x, dy, interval, coeffs, shape=coeffs.shape, **options)
    given = coeffs if with_interval else None
    summed = {"summed_dx": outside != LINEAR}
    return dx, *algebra.gradients(
        sums, coeffs.shape, interval, outside, given, **summed
    )


def moments(
    x: jax.Array,
    interval: jax.Array,
    dy: jax.Array,
    *,
    outside: str,
    shape: tuple[int, ...],
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.xla_backend.moments`: :func:`vjp` without ``dx``."""
    ends = outside if outside == LINEAR else None
    options = {"ends": ends, "interpret": interpret, "launch": launch}
    [sums] = _run(x, dy, interval, shape=shape, **options)
    return algebra.gradients(sums, shape, interval, outside)[0]


def _run(x, dy, interval, *coeffs, shape, ends, launch, interpret):
    """``(dx, sums)``, or without ``coeffs`` the sums alone."""
    degree = shape[0] - 1
    layout = plan(x.shape, shape, interval.shape)
    launch = launch or config.gradient(layout.sizes, degree, ends=bool(ends))
    grid = Grid(layout.sizes, launch, interpret)
    groups, _, columns = layout.sizes
    args = [layout.pack(x), layout.pack(dy), layout.pack_parameters(interval)]
    count = degree + 1 + 2 * bool(ends)
    partial_sums = (count, grid.row_blocks, groups, columns)
    results = [result(x, partial_sums, jnp.float32)]
    name = "jaxbern_bernstein_moments"
    if coeffs:
        args += map(layout.pack_parameters, coeffs)
        results.append(result(x, layout.sizes, x.dtype))
        name = "jaxbern_bernstein_vjp"
    kernel = functools.partial(_kernel, grid=grid, degree=degree, ends=ends)
    sums, *dx = call(kernel, grid, results, args, name=name)
    return *map(layout.unpack, dx), layout.unpack_sums(jnp.sum(sums, axis=1))


def _kernel(
    x_ref,  # [S, B, W]
    dy_ref,
    interval_ref,  # [2 or 3, S or 1, W or 1]
    *refs,  # coeffs [n+1, S or 1, W or 1] if dx is wanted; then the results
    grid: Grid,
    degree: int,
    ends: str | None,
):
    *coeffs_ref, sums_ref, dx_ref = refs if len(refs) > 1 else (*refs, None)
    strip, arithmetic = grid.strip(), Arithmetic(grid.interpret)
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    lower, upper, *centre = strip.parameters(interval_ref)
    inverse = arithmetic.reciprocal(upper - lower) * stretch
    for ref in coeffs_ref:
        slopes = factored.slopes(strip.parameters(ref))
        scale = inverse * (degree * stretch ** -(degree + 1))

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
            if ends == LINEAR:
                sides = jnp.minimum(v - z, 0.0), jnp.maximum(v - z, 0.0)
                sums = add(sums, dy, sides)
            if dx_ref is None:
                continue
            dx = factored.contract(factors, slopes, inner, outer, arithmetic.fma)
            dx = dx * scale
            if ends != LINEAR:
                # Not `v != z`, which holds for NaN: that has to come through.
                dx = jnp.where((v < z) | (v > z), 0.0, dx)
            if ends == CLAMP:
                sums = add(sums, dx, (s[1], t[1]))
            tile.store(dx_ref, dx)
        return sums

    def add(sums, factor, pair):
        """``factor`` times each of ``pair``, to the last two sums."""
        *others, first, second = sums
        first = arithmetic.fma(factor, pair[0], first)
        return *others, first, arithmetic.fma(factor, pair[1], second)

    weights = [math.comb(degree, k) * stretch**-degree for k in range(degree + 1)]
    weights += {LINEAR: [1.0] * 2, CLAMP: [1 / stretch] * 2}.get(ends, [])
    zero = jnp.zeros((grid.launch.rows, grid.launch.columns), jnp.float32)
    sums = strip.loop(step, (zero,) * len(weights))
    strip.store_sums(sums_ref, [v * w for v, w in zip(sums, weights, strict=True)])
