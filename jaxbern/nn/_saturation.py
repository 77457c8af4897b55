"""``jaxbern.saturation``: the fraction of inputs outside the interval."""

import jax.numpy as jnp

from jaxbern.kernels.array_types import Array, ArrayLike, Ends, Float


def saturation(
    x: Float[ArrayLike, "... width"],
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
) -> Float[Array, " width"]:
    """Return the fraction of inputs outside ``[lower, upper]`` for each neuron.

    ``x [..., W]`` gives ``[W]`` in float32. A clamped activation is constant outside and
    passes no gradient, so a neuron whose fraction is near one has stopped learning. NaN
    counts as outside.

    >>> saturation(jnp.array([[-4.0, 0.0], [1.0, 3.0]])).tolist()
    [0.5, 0.0]
    """
    x = jnp.asarray(x)
    lower, upper = (
        jnp.broadcast_to(jnp.asarray(end).astype(x.dtype), x.shape)
        for end in (lower, upper)
    )
    outside = ~((x >= lower) & (x <= upper))
    return jnp.mean(outside.astype(jnp.float32), axis=tuple(range(x.ndim - 1)))
