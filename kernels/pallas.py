"""The value ``sum_k c_k b_{n,k}(x)`` as a Pallas kernel (Triton backend).

Per element: clamp, then ``t`` and ``s`` from the distances to both ends, then the factored
sum of :mod:`jaxbern.kernels.factored`, to which the addend, if there is one, comes with
the last multiply-add.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jaxbern.kernels import config, factored, xla
from jaxbern.kernels.layout import plan
from jaxbern.kernels.pallas_tile import Arithmetic, Grid, call, result


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    addend: jax.Array | None = None,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel's meaning instead of its code, on any platform.
    """
    degree = coeffs.shape[0] - 1
    if degree == 0 or x.size == 0:
        return xla.evaluate(x, coeffs, lower, upper, addend=addend)
    require_float32(coeffs.dtype)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    args = [
        layout.pack(x),
        layout.pack_coeffs(coeffs, broadcast=False),
        layout.pack_bound(lower, broadcast=False),
        layout.pack_bound(upper, broadcast=False),
    ]
    name, in_place = "jaxbern_bernstein", None
    if addend is not None:
        # In a loop over layers the sum takes the place of what it was added to; else
        # XLA would copy it there.
        name, in_place = "jaxbern_bernstein_skip", {len(args): 0}
        args.append(layout.pack(addend))
    launch = launch or config.forward(layout.sizes, degree, addend=addend is not None)
    grid = Grid(layout.sizes, launch, interpret)
    kernel = functools.partial(_kernel, grid=grid)
    results = [result(x, layout.sizes, x.dtype)]
    [y] = call(kernel, grid, results, args, name=name, in_place=in_place)
    return layout.unpack(y)


def _kernel(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    lower_ref,  # [S or 1, W or 1]
    upper_ref,
    *refs,  # addend [S, B, W] if there is one; then y [S, B, W]
    grid: Grid,
):
    *addend_ref, y_ref = refs
    degree = coeffs_ref.shape[0] - 1
    strip, arithmetic = grid.strip(), Arithmetic(grid.interpret)
    lower, upper = strip.bound(lower_ref), strip.bound(upper_ref)
    coeffs = [
        c * float(math.comb(degree, k)) for k, c in enumerate(strip.coeffs(coeffs_ref))
    ]
    factors, stretch = factored.factor(degree), factored.stretch(degree)
    inverse = arithmetic.reciprocal(upper - lower) * stretch

    def step(i, carry):
        # All loads first: that many are in flight at once.
        loaded = [
            (tile, tile.load(x_ref), *map(tile.load, addend_ref))
            for tile in strip.tiles(i)
        ]
        for tile, x, *addend in loaded:
            z = arithmetic.clamp(x, lower, upper)
            t = factored.Powers((z - lower) * inverse)
            s = factored.Powers((upper - z) * inverse)
            y = factored.evaluate(factors, coeffs, t, s, arithmetic.fma)
            tile.store(y_ref, arithmetic.scaled(y, stretch**-degree, *addend))
        return carry

    strip.loop(step)


def require_float32(dtype) -> None:
    """These kernels compute in float32."""
    if dtype != jnp.float32:
        raise NotImplementedError(
            f"the GPU kernels compute in float32, got arithmetic in {dtype}: write "
            "implementation='xla' for float64"
        )
