"""Inputs in a ball: the least value of a linear function there, by the dual norm."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.certify._layers import matmul
from jaxbern.certify._rounding import Bounds, centred, gamma, size

NORMS = (1, 2, math.inf)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Ball:
    """All inputs ``x`` with ``|x - centre| <= radius`` in a norm.

    Attributes:
      centre: ``[..., in]``, in the shape of the box's ends.
      radius: a number, or one for each box, ``[...]``.
      norm: 1, 2 or ``jnp.inf``.
    """

    centre: Any
    radius: Any
    norm: float = dataclasses.field(default=2, metadata={"static": True})


def least(
    factors: jax.Array, box: Bounds, ball: Ball | None
) -> tuple[jax.Array, jax.Array]:
    """Bound ``factors x`` from below for inputs in a box and in a ball; also return sizes.

    ``factors [rows, in]`` give two arrays ``[rows]``: the least value, which is
    ``factors centre`` less radius times dual norm, and the sizes of all products in it,
    which rounding errors are relative to.
    """
    centre, radius = centred(box)
    lowest = matmul(factors, centre) - matmul(jnp.abs(factors), radius)
    sizes = matmul(size(factors), size(centre) + radius)
    if ball is None:
        return lowest, sizes
    dual = _dual_norm(factors, ball.norm)
    reach = ball.radius * (1 + gamma(0, dual.dtype)) * dual
    other = matmul(factors, ball.centre) - reach
    # Each entry of x is within the radius of the centre's, whatever the norm.
    more = matmul(size(factors), size(ball.centre) + ball.radius)
    return jnp.fmax(lowest, other), jnp.fmax(sizes, sizes + more)


def _dual_norm(factors: jax.Array, norm: float) -> jax.Array:
    """Bound the dual norm of each row from above."""
    sizes = jnp.abs(factors)
    if norm == 1:
        return jnp.max(sizes, axis=1)
    error = 1 + gamma(factors.shape[1], factors.dtype)
    if norm == math.inf:
        return jnp.sum(sizes, axis=1) * error
    # Scaled, so that no square overflows or is lost.
    largest = jnp.max(size(sizes), axis=1)
    scaled = size(sizes) / largest[:, None]
    return largest * jnp.sqrt(jnp.sum(jnp.square(scaled), axis=1)) * error
