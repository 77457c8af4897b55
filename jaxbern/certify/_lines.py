"""Straight lines below and above an activation on an interval.

Any slope has a line below all control points. The best one encloses the least area, which
is to be highest in the middle of the interval; for ``relu`` that is the rule of CROWN
(slope 0 or 1, whichever is nearer). Its height there is concave in the slope, so
bisection finds it; whatever it finds, the offset makes the line sound.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify._bernstein import Points
from jaxbern.certify._rounding import FLOOR, Bounds, gamma, largest, size

_STEPS = 20


class Lines(NamedTuple):
    """``slope x + offset`` below and above the activation, each ``[W]``."""

    below: tuple[jax.Array, jax.Array]
    above: tuple[jax.Array, jax.Array]


def lines(points: Points, box: Bounds) -> Lines:
    """Lines below and above for ``x`` in the box; horizontal where that is unbounded."""
    # Above the activation is below its negative; one program for both.
    signs = jnp.asarray([1, -1], points.y.dtype)

    def below(sign):
        return _below(points._replace(y=sign * points.y), box)

    slope, offset = (signs[:, None] * found for found in jax.vmap(below)(signs))
    return Lines((slope[0], offset[0]), (slope[1], offset[1]))


def heights(points: Points) -> Bounds:
    """Return the range of the activation."""
    return Bounds(
        jnp.min(points.y, axis=1) - points.slack,
        jnp.max(points.y, axis=1) + points.slack,
    )


def _below(points: Points, box: Bounds) -> tuple[jax.Array, jax.Array]:
    slope = jax.lax.stop_gradient(_slope(points, box))
    x = jnp.where(jnp.isfinite(points.x), points.x, 0)
    over = points.y - slope[:, None] * x
    # Each x_k and each term of the difference is off by a few roundings. What the
    # infinities are multiplied by is zero.
    reach = jnp.where(slope == 0, 0, largest(box)) * size(slope)
    heights = jnp.max(jnp.where(jnp.isfinite(points.y), size(points.y), 0), axis=1)
    error = points.slack + gamma(0, x.dtype) * (reach + heights)
    return slope, jnp.min(over, axis=1) - error


def _slope(points: Points, box: Bounds) -> jax.Array:
    """Slope of the line that is highest in the middle among those below all points.

    Such a line is below the points at both ends and not below the lowest point in the
    middle, so ``|slope| <= (max y - min y) / half the width``.
    """
    middle, half = 0.5 * box.lower + 0.5 * box.upper, 0.5 * box.upper - 0.5 * box.lower
    spread = jnp.max(points.y, axis=1) - jnp.min(points.y, axis=1)
    limit = jnp.minimum(spread / jnp.maximum(half, FLOOR), points.steepest)
    limit = jnp.where(jnp.isfinite(half) & jnp.isfinite(spread) & (half > 0), limit, 0)
    away = points.x - middle[:, None]
    # The line touches a point on the left or one on the right first. Two minima are much
    # faster on a CPU than the place of one.
    left = jnp.where(away < 0, points.y, jnp.inf)
    right = jnp.where(away < 0, jnp.inf, points.y)

    def bisect(ends, _):
        slope = 0.5 * ends.lower + 0.5 * ends.upper
        line = slope[:, None] * away
        rises = jnp.min(left - line, axis=1) < jnp.min(right - line, axis=1)
        return Bounds(
            jnp.where(rises, slope, ends.lower), jnp.where(rises, ends.upper, slope)
        ), None

    ends, _ = jax.lax.scan(bisect, Bounds(-limit, limit), length=_STEPS)
    # One of them is often the slope itself: 0 or 1 for relu.
    one, other = (jnp.min(points.y - end[:, None] * away, axis=1) for end in ends)
    return jnp.where(limit > 0, jnp.where(one > other, *ends), 0)
