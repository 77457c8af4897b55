"""The gradient as a Pallas kernel: all of it in one pass over ``x`` and ``dy``.

The factored products of :mod:`jaxbern.kernels.factored`, with ``dy`` multiplied into the
outer ones, serve twice: contracted with the slope's coefficients they are ``dx``, added
up over the rows they are ``dcoeffs``. The ends of the interval take two sums more, as
moving an end is moving ``x`` the other way: ``-s dx`` and ``-t dx``. The sums stay in
registers while a program walks down its rows, and each program writes its own: no
atomics, the same bits every time.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jaxbern.kernels import config, factored, xla
from jaxbern.kernels.layout import plan
from jaxbern.kernels.pallas import require_float32
from jaxbern.kernels.pallas_tile import Arithmetic, Grid, call, result


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dy: jax.Array,
    *,
    interval: bool = False,
    on_cpu: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> tuple[jax.Array, ...]:
    """As :func:`jaxbern.kernels.xla.vjp`, in one pass over ``x`` and ``dy``."""
    if coeffs.shape[0] == 1 or x.size == 0:
        return xla.vjp(x, coeffs, lower, upper, dy, interval=interval, on_cpu=on_cpu)
    options = {"interval": interval, "launch": launch, "interpret": on_cpu or interpret}
    return _run(x, dy, lower, upper, coeffs, shape=coeffs.shape, **options)


def moments(
    x: jax.Array,
    dy: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    shape: tuple[int, ...],
    on_cpu: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.moments`: :func:`vjp` without ``dx``."""
    if shape[0] == 1 or x.size == 0:
        return xla.moments(x, dy, lower, upper, shape=shape, on_cpu=on_cpu)
    options = {"launch": launch, "interpret": on_cpu or interpret}
    [dcoeffs] = _run(x, dy, lower, upper, shape=shape, **options)
    return dcoeffs


def _run(x, dy, lower, upper, *coeffs, shape, launch, interpret, interval=False):
    """``(dx, dcoeffs)`` and, with ``interval``, ``(dlower, dupper)``.

    Without ``coeffs`` there is no ``dx``.
    """
    require_float32(lower.dtype)
    degree = shape[0] - 1
    layout = plan(x.shape, shape, lower.shape, upper.shape)
    launch = launch or config.gradient(layout.sizes, degree, interval=interval)
    grid = Grid(layout.sizes, launch, interpret)
    groups, _, columns = layout.sizes
    bounds = (layout.pack_bound(bound, broadcast=False) for bound in (lower, upper))
    args = [layout.pack(x), layout.pack(dy), *bounds]
    ends = (lower.shape, upper.shape) if interval else ()
    partial_sums = (degree + 1 + len(ends), grid.row_blocks, groups, columns)
    results = [result(x, partial_sums, jnp.float32)]
    name = "jaxbern_bernstein_moments"
    if coeffs:
        args += [layout.pack_coeffs(c, broadcast=False) for c in coeffs]
        results.append(result(x, layout.sizes, x.dtype))
        name = "jaxbern_bernstein_vjp" + ("_interval" if interval else "")
    kernel = functools.partial(_kernel, grid=grid, degree=degree, interval=interval)
    sums, *dx = call(kernel, grid, results, args, name=name)
    sums = layout.unpack_sums(jnp.sum(sums, axis=1), shape, *ends)
    return *map(layout.unpack, dx), *sums


def _kernel(
    x_ref,  # [S, B, W]
    dy_ref,
    lower_ref,  # [S or 1, W or 1]
    upper_ref,
    *refs,  # coeffs [n+1, S or 1, W or 1] if dx is wanted; then the results
    grid: Grid,
    degree: int,
    interval: bool,
):
    *coeffs_ref, sums_ref, dx_ref = refs if len(refs) > 1 else (*refs, None)
    strip, arithmetic = grid.strip(), Arithmetic(grid.interpret)
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    lower, upper = strip.bound(lower_ref), strip.bound(upper_ref)
    inverse = arithmetic.reciprocal(upper - lower) * stretch
    for ref in coeffs_ref:
        slopes = factored.slopes(strip.coeffs(ref))
        scale = inverse * (degree * stretch ** -(degree + 1))

    def step(i, sums):
        loaded = [
            (tile, tile.load(x_ref), tile.load(dy_ref)) for tile in strip.tiles(i)
        ]
        for tile, x, dy in loaded:
            z = arithmetic.clamp(x, lower, upper)
            t = factored.Powers((z - lower) * inverse)
            s = factored.Powers((upper - z) * inverse)
            inner = factored.inner_factors(factors, t, s)
            outer = factored.outer_factors(factors, t, s, scale=dy)
            sums = factored.accumulate(factors, sums, inner, outer, arithmetic.fma)
            if dx_ref is not None:
                dx = factored.contract(factors, slopes, inner, outer, arithmetic.fma)
                # Not `x != z`, which holds for NaN: that has to come through.
                dx = jnp.where((x < z) | (x > z), 0.0, dx * scale)
                tile.store(dx_ref, dx)
                if interval:
                    *sums, dlower, dupper = sums
                    dlower = arithmetic.fma(dx, s[1], dlower)
                    dupper = arithmetic.fma(dx, t[1], dupper)
                    sums = (*sums, dlower, dupper)
        return sums

    weights = [math.comb(degree, k) * stretch**-degree for k in range(degree + 1)]
    if interval:
        weights += [-1 / stretch, -1 / stretch]
    zero = jnp.zeros((grid.launch.rows, grid.launch.columns), jnp.float32)
    sums = strip.loop(step, (zero,) * len(weights))
    strip.store_sums(sums_ref, [v * w for v, w in zip(sums, weights, strict=True)])
