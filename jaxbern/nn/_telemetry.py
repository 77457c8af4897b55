"""Measure how inputs use an activation: saturation, spread and gain."""

import jax
import jax.numpy as jnp

from jaxbern.kernels.array_types import Ends
from jaxbern.nn._saturation import saturation
from jaxbern.op import arithmetic

# Four standard deviations hold 95% of a normal distribution.
SPREAD = 4


def of_layer(
    x: jax.Array, y: jax.Array, lower: Ends, upper: Ends
) -> dict[str, jax.Array]:
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
