"""The formulas that every implementation shares, written once in ``jax.numpy``.

With ``t = (x - l) / (u - l)`` and ``s = (u - x) / (u - l)`` the basis polynomials are
``b_{n,k}(x) = C(n,k) t^k s^(n-k)``. Outside ``[l, u]`` the polynomial continues as its end
value (``CLAMP``) or as its tangent at the end (``LINEAR``).

``coeffs`` is ``[n+1, *C]``. ``interval`` is ``[2, *I]``, the ends ``l`` and ``u``, or
``[3, *I]``: then the third row, the centre, is subtracted from ``x`` first, and the ends are
relative to it. ``[mean - 3 std, mean + 3 std]`` written as ends loses what ``std`` has
beyond the last bit of ``mean``; written as ``(-3 std, 3 std, mean)`` it loses nothing.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern.kernels.array_types import Array, Float

CLAMP = "clamp"
LINEAR = "linear"


def binomials(degree: int, dtype: DTypeLike) -> np.ndarray:
    """``C(degree, k)`` for all k, each rounded once."""
    exact = [math.comb(degree, k) for k in range(degree + 1)]
    return np.array(exact, dtype=np.float64).astype(dtype)


def along_leading(weights: np.ndarray, ndim: int) -> np.ndarray:
    """Reshape ``[n+1]`` so that it scales the leading axis of an array of ``ndim``."""
    return weights.reshape(-1, *[1] * (ndim - 1))


def power(base: Float[Array, "*batch"], exponent: int) -> Float[Array, "*batch"]:
    """``base ** exponent`` for an int >= 1 by repeated squaring: no log, no NaN at 0."""
    half, odd = divmod(exponent, 2)
    if not half:
        return base
    squared = power(base * base, half)
    return squared * base if odd else squared


def sum_to(
    values: Float[Array, "*batch"], shape: tuple[int, ...]
) -> Float[Array, "*#batch"]:
    """Sum over the axes where ``shape``, of the same rank, is 1 and ``values`` is not."""
    axes = tuple(i for i, n in enumerate(shape) if n != values.shape[i])
    return jnp.sum(values, axis=axes, keepdims=True) if axes else values


def shifted(
    x: Float[Array, "*batch"], interval: Float[Array, "ends *#batch"]
) -> Float[Array, "*batch"]:
    """``x`` in the dtype of the arithmetic, relative to the centre if there is one."""
    wide = x.astype(interval.dtype)
    return wide - interval[2] if len(interval) == 3 else wide


def derivative(
    coeffs: Float[Array, "terms ..."], interval: Float[Array, "ends ..."]
) -> Float[Array, "fewer ..."]:
    """Coefficients of the derivative: ``n / (u - l) * (c_{k+1} - c_k)``."""
    degree = len(coeffs) - 1
    if degree == 0:
        return jnp.zeros_like(coeffs)
    return (coeffs[1:] - coeffs[:-1]) * (degree / (interval[1] - interval[0]))[None]


def where_moving(
    x: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    values: Float[Array, "*batch"],
    outside: str,
) -> Float[Array, "*batch"]:
    """``values`` where the activation follows ``x``: not beyond the ends if clamped.

    At an end point the slope from inside holds, and NaN comes through.
    """
    if outside == LINEAR:
        return values
    v = shifted(x, interval)
    beyond = (v < interval[0]) | (v > interval[1])
    return jnp.where(beyond, jnp.zeros_like(values), values)


def relative_move(
    x: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    dx: Float[Array, "*batch"],
    dinterval: Float[Array, "ends *#batch"],
    outside: str,
) -> Float[Array, "*batch"]:
    """The tangent of ``x`` relative to its interval: ``dx - s dl - t du - dcentre``.

    The activation depends on ``x``, ``l`` and ``u`` only through ``t``, so moving an end of
    the interval is moving ``x`` the other way, in proportion.
    """
    lower, upper = interval[0], interval[1]
    v = shifted(x, interval)
    if outside == CLAMP:
        v = jnp.clip(v, lower, upper)
    inverse = 1 / (upper - lower)
    t, s = (v - lower) * inverse, (upper - v) * inverse
    moved = dx.astype(v.dtype) - s * dinterval[0] - t * dinterval[1]
    if len(interval) == 3:
        moved = moved - dinterval[2]
    return moved.astype(x.dtype)


def beyond(
    x: Float[Array, "*batch"],
    dy: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    outside: str,
) -> list[Float[Array, "*batch"]]:
    """What gradients need from below the interval, and from above; zero elsewhere.

    ``dy`` if clamped, to take it out of sums that hold inside only; if linear
    ``dy (x - end)``, by which the end's slope enters the value.
    """
    v, dy = shifted(x, interval), dy.astype(interval.dtype)
    if outside == LINEAR:
        low, high = jnp.minimum(v - interval[0], 0), jnp.maximum(v - interval[1], 0)
        return [dy * low, dy * high]
    nothing = jnp.zeros_like(dy)
    below, above = v < interval[0], v > interval[1]
    return [jnp.where(below, dy, nothing), jnp.where(above, dy, nothing)]


def gradients(
    sums: Float[Array, "sums *groups"],
    shape: tuple[int, ...],
    interval: Float[Array, "ends *#groups"],
    outside: str,
    coeffs: Float[Array, "terms *#groups"] | None = None,
    *,
    summed_dx: bool = False,
) -> tuple[Float[Array, "..."], ...]:
    """Gradients in the coefficients and, given ``coeffs``, in the interval.

    ``sums`` are the moments ``m_k = sum dy b_{n,k}(z)``, where ``z`` is the clamped ``x``, and
    behind them, if linear or if ``coeffs`` are given, the sums of :func:`beyond`, or with
    ``summed_dx`` ``sum s dx`` and ``sum t dx``. They are ``[n+1 or n+3, *J]``, kept apart along
    every axis on which anything varies; ``shape`` is that of the coefficients.
    """
    degree = shape[0] - 1
    moments, ends = sums[: degree + 1], sums[degree + 1 :]
    dcoeffs = moments
    if outside == LINEAR and degree:
        # Below, the value is c_0 + n (c_1 - c_0) (x - l) / (u - l); above likewise.
        below, above = ends * (degree / (interval[1] - interval[0]))[None]
        dcoeffs = dcoeffs + _spread([-below, below], 0, degree - 1)
        dcoeffs = dcoeffs + _spread([-above, above], degree - 1, 0)
    dcoeffs = sum_to(dcoeffs, shape)
    if coeffs is None:
        return (dcoeffs,)
    if degree == 0:
        return dcoeffs, jnp.zeros_like(interval)
    if not summed_dx:
        ends = _sums_of_dx(moments, ends, coeffs, interval, outside)
    # The centre moves both ends together.
    rows = [*ends, ends[0] + ends[1]][: len(interval)]
    return dcoeffs, sum_to(-jnp.stack(rows), interval.shape)


def _spread(
    pair: list[Float[Array, "*groups"]], before: int, after: int
) -> Float[Array, "terms *groups"]:
    padding = [(before, after)] + [(0, 0)] * pair[0].ndim
    return jnp.pad(jnp.stack(pair), padding)


def _sums_of_dx(moments, ends, coeffs, interval, outside):
    """``sum s dx`` and ``sum t dx``, where ``dx = dy B'``, from the moments.

    ``t b_{n-1,k}`` is ``(k+1)/n b_{n,k+1}`` and ``s b_{n-1,k}`` is ``(n-k)/n b_{n,k}``, hence

        sum t dx = sum_k k (c_k - c_{k-1}) m_k / (u-l),
        sum s dx = sum_k (n-k) (c_{k+1} - c_k) m_k / (u-l)

    over what lies inside. Outside there is only ``b_0`` or ``b_n``. If clamped, nothing
    there depends on the interval: those sums of ``dy`` are taken from ``m_0`` and ``m_n``.
    If linear, ``t`` and ``s`` go on beyond 0 and 1.
    """
    degree, (below, above) = len(moments) - 1, ends
    steps = derivative(coeffs, interval)
    rising = np.arange(1, degree + 1, dtype=interval.dtype) / degree
    rising = along_leading(rising.astype(interval.dtype), moments.ndim)
    first, last = moments[0] - below, moments[-1] - above
    if outside == LINEAR:
        below, above = ends / (interval[1] - interval[0])[None]
        first, last = moments[0] - below, moments[-1] + above
    of_s = jnp.concatenate([first[None], moments[1:-1]])
    of_t = jnp.concatenate([moments[1:-1], last[None]])
    of_s = jnp.sum(rising[::-1] * steps * of_s, axis=0)
    of_t = jnp.sum(rising * steps * of_t, axis=0)
    if outside == LINEAR:
        of_s, of_t = of_s - steps[-1] * above, of_t + steps[0] * below
    return of_s, of_t
