"""Measure how inputs use an activation: saturation, spread and gain."""

import jax.numpy as jnp

from jaxbern.kernels.array_types import Array, ArrayLike, Ends, Float
from jaxbern.op import arithmetic

# Four standard deviations hold 95% of a normal distribution.
SPREAD = 4


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


def of_layer(
    x: Float[Array, "*batch width"],
    y: Float[Array, "*batch width"],
    lower: Ends,
    upper: Ends,
) -> dict[str, Float[Array, " width"]]:
    """Measure each neuron over all axes of ``x [..., W]`` but the last.

    Returns a dictionary: ``saturation``, the fraction of inputs outside the interval;
    ``spread``, four standard deviations of the inputs as a fraction of the interval;
    ``gain``, the standard deviation of the outputs over that of the inputs (0 if all
    inputs are equal).
    """
    deviations = []
    for value in (x, y):
        wide = value.astype(arithmetic(value.dtype))
        deviations.append(jnp.std(wide, axis=tuple(range(value.ndim - 1))))
    inner, outer = deviations
    length = jnp.asarray(upper, inner.dtype) - jnp.asarray(lower, inner.dtype)
    moves = inner > 0
    return {
        "saturation": saturation(x, lower=lower, upper=upper),
        "spread": SPREAD * inner / jnp.broadcast_to(length, inner.shape),
        "gain": jnp.where(moves, outer / jnp.where(moves, inner, 1), 0),
    }
