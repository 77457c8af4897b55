"""The value ``sum_k c_k b_{n,k}(x)`` as a Pallas kernel (Triton backend).

Per element: clamp, then ``t`` and ``s`` from the distances to both ends, then the factored
sum of :mod:`jaxbern.kernels.factored`.
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
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel's meaning instead of its code, on any platform.
    """
    degree = coeffs.shape[0] - 1
    if degree == 0 or x.size == 0:
        return xla.evaluate(x, coeffs, lower, upper)
    require_float32(coeffs.dtype)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    launch = launch or config.forward(layout.sizes, degree)
    grid = Grid(layout.sizes, launch, interpret)
    [y] = call(
        functools.partial(_kernel, grid=grid),
        grid,
        [result(x, layout.sizes, x.dtype)],
        (
            layout.pack(x),
            layout.pack_coeffs(coeffs, broadcast=False),
            layout.pack_bound(lower, broadcast=False),
            layout.pack_bound(upper, broadcast=False),
        ),
        name="jaxbern_bernstein",
    )
    return layout.unpack(y)


def _kernel(
    x_ref,  # [S, B, W]
    coeffs_ref,  # [n+1, S or 1, W or 1]
    lower_ref,  # [S or 1, W or 1]
    upper_ref,
    y_ref,  # [S, B, W]
    *,
    grid: Grid,
):
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
        for tile, x in [(tile, tile.load(x_ref)) for tile in strip.tiles(i)]:
            z = arithmetic.clamp(x, lower, upper)
            t = factored.Powers((z - lower) * inverse)
            s = factored.Powers((upper - z) * inverse)
            y = factored.evaluate(factors, coeffs, t, s, arithmetic.fma)
            tile.store(y_ref, y * stretch**-degree)
        return carry

    strip.loop(step)


def require_float32(dtype) -> None:
    """These kernels compute in float32."""
    if dtype != jnp.float32:
        raise NotImplementedError(
            f"the GPU kernels compute in float32, got arithmetic in {dtype}: write "
            "implementation='xla' for float64"
        )
