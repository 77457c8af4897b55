"""Float arithmetic with bounds on its rounding errors, so that bounds stay sound.

The model. One operation is off by at most ``eps/2`` of its result and, where numbers
underflow or the machine takes subnormal numbers for zero, by the smallest normal number
times the size of its operands. Then a sum of ``k`` products, in any order and fused or
not, is off by at most about ``k eps/2`` times the sum of their sizes. :func:`gamma` is
twice that and leaves room for 16 more roundings: the doubling pays for second-order
terms and for rounding in the error terms themselves, which are sums of sizes. A size has
``FLOOR`` added, which times ``gamma`` and another size is far above any underflow and far
below any number that matters.

A division, a square root and an exponential may be off by four units in the last place,
more than XLA needs on a CPU or an NVIDIA GPU.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

FLOOR = 2.0**-50


class Bounds(NamedTuple):
    """``lower <= f(x) <= upper``, each of the shape of ``f(x)``."""

    lower: jax.Array
    upper: jax.Array


def gamma(terms: int, dtype: Any) -> float:
    """Bound the error of a sum of ``terms`` products, relative to the sum of their sizes."""
    return (terms + 16) * float(jnp.finfo(dtype).eps)


def size(a: jax.Array) -> jax.Array:
    """Compute ``|a| + FLOOR``, so that errors from underflow are below ``gamma``."""
    return jnp.abs(a) + FLOOR


def largest(box: Bounds) -> jax.Array:
    """Return the size of the largest number in the box."""
    return size(jnp.maximum(jnp.abs(box.lower), jnp.abs(box.upper)))


def centred(box: Bounds) -> tuple[jax.Array, jax.Array]:
    """Compute centre and radius; the radius reaches both ends of the rounded centre."""
    centre = 0.5 * box.lower + 0.5 * box.upper
    radius = jnp.maximum(box.upper - centre, centre - box.lower)
    return centre, radius * (1 + gamma(0, centre.dtype))


def add(a: Bounds, b: Bounds) -> Bounds:
    """Add, rounding outward."""
    lower, upper = a.lower + b.lower, a.upper + b.upper
    step = gamma(0, lower.dtype)
    return Bounds(lower - step * size(lower), upper + step * size(upper))


def both(a: Bounds, b: Bounds) -> Bounds:
    """Combine two bounds: the tighter on either side; NaN bounds nothing."""
    return Bounds(jnp.fmax(a.lower, b.lower), jnp.fmin(a.upper, b.upper))


def only_if(holds: jax.Array, box: Bounds) -> Bounds:
    """Keep bounds where ``holds``; make them infinite elsewhere and where they are NaN."""
    lower = jnp.where(holds, box.lower, -jnp.inf)
    return known(Bounds(lower, jnp.where(holds, box.upper, jnp.inf)))


def known(box: Bounds) -> Bounds:
    """Replace NaN, which comes from infinities and overflows, by infinite bounds."""
    lower = jnp.where(jnp.isnan(box.lower), -jnp.inf, box.lower)
    return Bounds(lower, jnp.where(jnp.isnan(box.upper), jnp.inf, box.upper))
