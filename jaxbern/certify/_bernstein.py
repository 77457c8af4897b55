"""Where the graph of a Bernstein activation lies, and how steep it is, on an interval.

The coefficients of a polynomial of degree ``n`` restricted to ``[a, b]`` are the heights of
its *control points*, over ``a + k/n (b - a)``. The graph lies in their convex hull, and so
above every line that is below all of them. The hull is wider than the graph by a
constant times ``(b - a)^2``, so the interval is cut into a few pieces first. Beyond the
ends the activation is a straight line, level (``"clamp"``) or the tangent (``"linear"``): its
segment to ``(a, sigma(a))`` adds that one point.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbern import poly
from jaxbern.certify._rounding import Bounds, gamma, size

PIECES = 4


class Points(NamedTuple):
    """Control points of each neuron: the graph lies in their hull, give or take."""

    x: jax.Array  # [W, P]
    y: jax.Array  # [W, P]
    slack: jax.Array  # [W], how far off the heights may be
    steepest: jax.Array  # [W], no slope of the graph is larger


def points(
    coeffs: jax.Array,
    lower: ArrayLike,
    upper: ArrayLike,
    box: Bounds,
    outside: str = "clamp",
) -> Points:
    """Compute points in a box, for ``coeffs [W, n+1]`` on ``[lower, upper]``."""
    cuts, pieces = _restricted(coeffs, lower, upper, box)
    degree = coeffs.shape[-1] - 1
    along = np.arange(degree + 1) / max(degree, 1)
    start, stop = cuts[:, :-1, None], cuts[:, 1:, None]
    x = start + (stop - start) * jnp.asarray(along, cuts.dtype)[None, None]
    x, y = (a.reshape(len(coeffs), -1) for a in (x, pieces))
    steps = poly.derivative(coeffs, lower=lower, upper=upper)
    ends, slack = [y[:, 0], y[:, -1]], _slack(coeffs)
    if outside == "linear":
        tails, errors = zip(
            *(_tail(coeffs, lower, upper, end) for end in box), strict=True
        )
        ends = [end + tail for end, tail in zip(ends, tails, strict=True)]
        slack = slack + errors[0] + errors[1]
        # A box beside the interval has nothing of the polynomial in it.
        beside = ((box.lower > upper) | (box.upper < lower))[:, None]
        x, y = (
            jnp.where(beside, a[:, None], b) for a, b in ((box.lower, x), (ends[0], y))
        )
    return Points(
        jnp.concatenate([box.lower[:, None], x, box.upper[:, None]], axis=1),
        jnp.concatenate([ends[0][:, None], y, ends[1][:, None]], axis=1),
        slack,
        jnp.max(jnp.abs(steps), axis=1),
    )


def slopes(
    coeffs: jax.Array,
    lower: ArrayLike,
    upper: ArrayLike,
    box: Bounds,
    outside: str = "clamp",
) -> Bounds:
    """Bound the derivative; outside it is zero, or that of the nearer end."""
    steps = poly.derivative(coeffs, lower=lower, upper=upper)
    _, pieces = _restricted(steps, lower, upper, box)
    least, most = jnp.min(pieces, axis=(1, 2)), jnp.max(pieces, axis=(1, 2))
    slack = _slack(steps)
    if outside == "linear":  # the pieces hold the ends that the box reaches beyond
        return Bounds(least - slack, most + slack)
    beyond = (box.lower < lower) | (box.upper > upper)
    return Bounds(
        jnp.where(beyond, jnp.minimum(least - slack, 0), least - slack),
        jnp.where(beyond, jnp.maximum(most + slack, 0), most + slack),
    )


def _tail(coeffs, lower, upper, x):
    """Compute what the tangents add at ``x [W]``, and bound its rounding error.

    ``n (c_1 - c_0) (x - l) / (u - l)``: the quotient first, as the slope of a wide interval
    may be too small for a float. Where a tangent is level there is nothing, even at
    infinity; another infinite tail is not off by anything.
    """
    degree, width = coeffs.shape[-1] - 1, upper - lower
    if not degree:
        return jnp.zeros_like(x), jnp.zeros_like(x)
    tail, error = jnp.zeros_like(x), jnp.zeros_like(x)
    for rise, beyond in (
        (coeffs[:, 1] - coeffs[:, 0], jnp.minimum(x - lower, 0)),
        (coeffs[:, -1] - coeffs[:, -2], jnp.maximum(x - upper, 0)),
    ):
        away = jnp.where(rise == 0, 0, degree * (beyond / width))
        tail = tail + rise * away
        sizes = jnp.where(jnp.isfinite(away), size(rise) * jnp.abs(away), 0)
        error = error + gamma(0, x.dtype) * sizes
    return tail, error


def _restricted(coeffs, lower, upper, box):
    """Compute ends ``[W, PIECES+1]`` and coefficients ``[W, PIECES, n+1]`` of the pieces.

    Neighbours share an end and the outer ends are exact, so the pieces cover the
    interval wherever rounding puts the cuts.
    """
    start, stop = (jnp.clip(end, lower, upper) for end in box)
    along = jnp.arange(PIECES, dtype=coeffs.dtype) / PIECES
    inner = start[:, None] + (stop - start)[:, None] * along[None]
    cuts = jnp.concatenate([inner, stop[:, None]], axis=1)
    low, up = (jnp.broadcast_to(jnp.asarray(e, coeffs.dtype), start.shape)[:, None]
               for e in (lower, upper))  # fmt: skip
    pieces = poly.restrict(
        coeffs[:, None], cuts[:, :-1], cuts[:, 1:], lower=low, upper=up
    )
    return cuts, pieces


def _slack(coeffs: jax.Array) -> jax.Array:
    """Bound the rounding error of :func:`jaxbern.poly.restrict`, ``5 n eps max|c|``."""
    return gamma(6 * coeffs.shape[-1], coeffs.dtype) * size(
        jnp.max(jnp.abs(coeffs), axis=1)
    )
