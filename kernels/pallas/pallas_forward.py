"""The value ``sum_k c_k b_{n,k}(x)`` as a Pallas kernel (Triton backend).

Per element: clamp, then ``t`` and ``s`` from the distances to both ends, then the factored
sum of :mod:`jaxbern.kernels.factored`, to which the addend and the straight line beyond an
end, if there are such, come with one multiply-add each.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jaxbern.kernels import config, factored
from jaxbern.kernels.algebra import LINEAR
from jaxbern.kernels.layout import plan
from jaxbern.kernels.pallas.pallas_tile import Arithmetic, Grid, call, result


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    interval: jax.Array,
    addend: jax.Array | None = None,
    *,
    outside: str,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.xla_backend.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel's meaning instead of its code, on any platform.
    """
    degree = len(coeffs) - 1
    layout = plan(x.shape, coeffs.shape, interval.shape)
    args = [layout.pack(x), *map(layout.pack_parameters, (coeffs, interval))]
    name, in_place = "jaxbern_bernstein", None
    if addend is not None:
        # In a loop over layers the sum takes the place of what it was added to; else
        # XLA would copy it there.
        name, in_place = "jaxbern_bernstein_skip", {len(args): 0}
        args.append(layout.pack(addend))
    launch = launch or config.forward(layout.sizes, degree, addend=addend is not None)
    grid = Grid(layout.sizes, launch, interpret)
    kernel = functools.partial(_kernel, grid=grid, linear=outside == LINEAR)
    results = [result(x, layout.sizes, x.dtype)]
    [y] = call(kernel, grid, results, args, name=name, in_place=in_place)
    return layout.unpack(y)


def _kernel(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    interval_ref,  # [2 or 3, S or 1, W or 1]
    *refs,  # addend [S, B, W] if there is one; then y [S, B, W]
    grid: Grid,
    linear: bool,
):
    *addend_ref, y_ref = refs
    degree = coeffs_ref.shape[0] - 1
    strip, arithmetic = grid.strip(), Arithmetic(grid.interpret)
    lower, upper, *centre = strip.parameters(interval_ref)
    raw = strip.parameters(coeffs_ref)
    coeffs = [c * float(math.comb(degree, k)) for k, c in enumerate(raw)]
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    inverse = arithmetic.reciprocal(upper - lower)
    rises = [(b - a) * (inverse * degree) for a, b in (raw[:2], raw[-2:])]
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
            if linear:
                y = arithmetic.fma(v - z, jnp.where(v < lower, *rises), y)
            tile.store(y_ref, y)
        return carry

    strip.loop(step)
