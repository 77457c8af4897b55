"""A backend's functions, called with two ends of an interval instead of one array.

The ends may have shapes of their own, as those of a user may; so may their gradients.
"""

import jax
import jax.numpy as jnp

from jaxbern.kernels import backends


def stack(lower, upper):
    """``[2, *I]``, as the backends take it."""
    return jnp.stack(jnp.broadcast_arrays(lower, upper))


def backend(implementation, like, degree, size, platform="cpu"):
    return backends.get(implementation, platform, like.dtype, degree, size)


def options(found, launch):
    return {} if launch is None or found.name == "xla" else {"launch": launch}


def evaluate(
    implementation, x, coeffs, lower, upper, addend=None, outside="clamp", launch=None
):
    found = backend(implementation, coeffs, len(coeffs) - 1, x.size)
    interval = stack(lower, upper)
    more = options(found, launch)
    return found.evaluate(x, coeffs, interval, addend, outside=outside, **more)


def vjp(
    implementation,
    x,
    coeffs,
    lower,
    upper,
    dy,
    interval=False,
    outside="clamp",
    launch=None,
):
    """``dx, dcoeffs``; with ``interval`` also ``dlower, dupper``."""
    found = backend(implementation, coeffs, len(coeffs) - 1, x.size)
    both, pull = jax.vjp(stack, jnp.asarray(lower), jnp.asarray(upper))
    more = options(found, launch) | {"with_interval": interval}
    dx, dcoeffs, *ends = found.vjp(x, coeffs, both, dy, outside=outside, **more)
    return dx, dcoeffs, *(end for pair in map(pull, ends) for end in pair)


def moments(
    implementation, x, dy, lower, upper, *, shape, outside="clamp", launch=None
):
    found = backend(implementation, jnp.asarray(lower), shape[0] - 1, x.size)
    more = options(found, launch) | {"outside": outside, "shape": shape}
    return found.moments(x, stack(lower, upper), dy, **more)
