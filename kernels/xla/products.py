"""The products ``dy t^k s^(n-k)`` whose sums over rows are the coefficients' gradients."""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern.kernels.algebra import beyond, binomials, power, shifted
from jaxbern.kernels.array_types import Array, Float


def weights(degree: int, with_ends: bool, dtype: DTypeLike) -> np.ndarray:
    """What :func:`terms` leaves out: ``C(n,k) / 2^n``, at most one."""
    halved = np.ldexp(binomials(degree, np.float64), -degree)
    return np.concatenate([halved, np.ones(2 * with_ends)]).astype(dtype)


def terms(
    x: Float[Array, "*batch"],
    dy: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    degree: int,
    *,
    ends: str | None,
    first: int = 0,
    last: int | None = None,
) -> list[Float[Array, "*batch"]]:
    """``dy * (2t)^k * (2s)^(n-k)`` for ``first <= k < last``: two products each.

    Doubled, because ``2t + 2s = 2`` keeps the powers near one where the plain ones
    underflow; :func:`weights` takes the factor back, exactly. ``ends`` asks for the two
    values of :func:`algebra.beyond` behind the last term.
    """
    last = degree + 1 if last is None else last
    lower, upper = interval[0], interval[1]
    z = jnp.clip(shifted(x, interval), lower, upper)
    double = 2 / (upper - lower)
    t, s = (z - lower) * double, (upper - z) * double
    shared = dy.astype(interval.dtype)
    if first:
        shared = shared * power(t, first)
    if last <= degree:
        shared = shared * power(s, degree + 1 - last)
    values = [shared]
    for _ in range(last - first - 1):
        values.append(values[-1] * t)
    tail = s
    for k in range(last - first - 2, -1, -1):
        values[k] = values[k] * tail
        tail = tail * s
    if ends and last > degree:
        values += beyond(x, dy, interval, ends)
    return values
