"""Where the graph of a Bernstein activation lies, and how steep it is, on an interval.

The coefficients of a polynomial of degree ``n`` restricted to ``[a, b]`` are the heights of
its *control points*, over ``a + k/n (b - a)``. The graph lies in their convex hull, and so
above every line that is below all of them. The hull is wider than the graph by a
constant times ``(b - a)^2``, so the interval is cut into a few pieces first. Beyond the
ends the activation is constant: the segment to ``(a, sigma(a))`` adds that one point.
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
    coeffs: jax.Array, lower: ArrayLike, upper: ArrayLike, box: Bounds
) -> Points:
    """Of ``coeffs [W, n+1]`` on ``[lower, upper]`` (scalars or ``[W]``) for ``x`` in a box."""
    cuts, pieces = _restricted(coeffs, lower, upper, box)
    degree = coeffs.shape[-1] - 1
    along = np.arange(degree + 1) / max(degree, 1)
    start, stop = cuts[:, :-1, None], cuts[:, 1:, None]
    x = start + (stop - start) * jnp.asarray(along, cuts.dtype)[None, None]
    x, y = (a.reshape(len(coeffs), -1) for a in (x, pieces))
    ends = box.lower[:, None], box.upper[:, None]
    return Points(
        jnp.concatenate([ends[0], x, ends[1]], axis=1),
        jnp.concatenate([y[:, :1], y, y[:, -1:]], axis=1),
        _slack(coeffs),
        jnp.max(jnp.abs(poly.derivative(coeffs, lower=lower, upper=upper)), axis=1),
    )


def slopes(
    coeffs: jax.Array, lower: ArrayLike, upper: ArrayLike, box: Bounds
) -> Bounds:
    """Bounds on the derivative; it is zero outside the interval."""
    steps = poly.derivative(coeffs, lower=lower, upper=upper)
    _, pieces = _restricted(steps, lower, upper, box)
    least, most = jnp.min(pieces, axis=(1, 2)), jnp.max(pieces, axis=(1, 2))
    slack = _slack(steps)
    outside = (box.lower < lower) | (box.upper > upper)
    return Bounds(
        jnp.where(outside, jnp.minimum(least - slack, 0), least - slack),
        jnp.where(outside, jnp.maximum(most + slack, 0), most + slack),
    )


def _restricted(coeffs, lower, upper, box):
    """Ends ``[W, PIECES+1]`` and coefficients ``[W, PIECES, n+1]`` of the pieces.

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
    """What :func:`jaxbern.poly.restrict` may be off by, ``5 n eps max|c|``, and more."""
    return gamma(6 * coeffs.shape[-1], coeffs.dtype) * size(
        jnp.max(jnp.abs(coeffs), axis=1)
    )
