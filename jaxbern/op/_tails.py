"""``outside="linear"``: straight lines beyond the interval, added to the clamped value."""

import jax
import jax.numpy as jnp

OUTSIDE = ("clamp", "linear")


def check(outside: str) -> str:
    """``outside``, if it is one of the two."""
    if outside not in OUTSIDE:
        raise ValueError(
            'outside must be "clamp" (constant beyond the interval) or "linear" (the '
            f"tangents at its ends), got {outside!r}"
        )
    return outside


def tails(
    x: jax.Array, coeffs: jax.Array, lower: jax.Array, upper: jax.Array
) -> jax.Array:
    """What the tangents add outside; zero inside and at the ends.

    ``coeffs [n+1, ...]`` and the ends are in the layout of the kernels.
    """
    degree, wide = coeffs.shape[0] - 1, x.astype(coeffs.dtype)
    if degree == 0:
        return jnp.zeros_like(wide)
    scale = degree / (upper - lower)
    # Not minimum and maximum: at an end point they would pass half of the gradient.
    below = jnp.where(wide < lower, wide - lower, 0)
    above = jnp.where(wide > upper, wide - upper, 0)
    first, last = coeffs[1] - coeffs[0], coeffs[-1] - coeffs[-2]
    return scale * (first * below + last * above)
