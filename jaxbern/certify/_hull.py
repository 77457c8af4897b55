"""The range of a Bernstein activation, as fast as it can be differentiated.

For training: one piece, no rounding terms, one array for each coefficient. The coefficients
on ``[a, b]`` are blossoms; all of them come from two runs of de Casteljau's algorithm, and
the polynomial lies between the smallest and the largest.
"""

import functools
import itertools

import jax
import jax.numpy as jnp

from jaxbern import poly
from jaxbern.certify._rounding import Bounds


def hull(
    coeffs: jax.Array, lower: jax.Array, upper: jax.Array, box: Bounds, outside: str
) -> Bounds:
    """Bound values for ``x`` in a box ``[...]``; ``coeffs [n+1, ...]`` and ends broadcast.

    Above degree 10, :func:`jaxbern.poly.restrict` does it: its program is shorter.
    """
    width = upper - lower
    a, b = ((jnp.clip(end, lower, upper) - lower) / width for end in box)
    rows = _restricted(coeffs, a, b)
    low, high = functools.reduce(jnp.minimum, rows), functools.reduce(jnp.maximum, rows)
    if outside == "clamp" or len(coeffs) == 1:
        return Bounds(low, high)
    degree = len(coeffs) - 1
    ends = []
    for x, inner in zip(box, (rows[0], rows[-1]), strict=True):
        below = jnp.minimum(x - lower, 0) * (coeffs[1] - coeffs[0])
        above = jnp.maximum(x - upper, 0) * (coeffs[-1] - coeffs[-2])
        ends.append(inner + degree / width * (below + above))
    # A box beside the interval has nothing of the polynomial in it.
    beside = (box.lower > upper) | (box.upper < lower)
    low, high = (jnp.where(beside, ends[0], e) for e in (low, high))
    return Bounds(
        jnp.minimum(low, jnp.minimum(*ends)), jnp.maximum(high, jnp.maximum(*ends))
    )


def _restricted(coeffs, a, b) -> list[jax.Array]:
    """Compute coefficients over ``[a, b]`` of a polynomial on ``[0, 1]``, one array each."""
    if len(coeffs) > poly.UNROLLED + 1:
        whole = jnp.broadcast_to(coeffs, (len(coeffs), *a.shape))
        found = poly.restrict(jnp.moveaxis(whole, 0, -1), a, b, lower=0.0, upper=1.0)
        return list(jnp.moveaxis(found, -1, 0))
    zero = jnp.zeros_like(a)
    rows = [zero + row for row in coeffs]
    # First to [a, 1], then to [a, b] in it. Where a is 1, so is b: any quotient will do.
    rest = 1 - a
    v = jnp.where(rest > 0, (b - a) / jnp.where(rest > 0, rest, 1), 0)
    right = [rows[-1]]
    for _ in rows[1:]:
        rows = [p + a * (q - p) for p, q in itertools.pairwise(rows)]
        right.append(rows[-1])
    rows = right[::-1]
    left = [rows[0]]
    for _ in rows[1:]:
        rows = [p + v * (q - p) for p, q in itertools.pairwise(rows)]
        left.append(rows[0])
    return left
