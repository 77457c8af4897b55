"""The formulas that every implementation shares, written once in ``jax.numpy``.

With ``t = (x - l) / (u - l)`` and ``s = (u - x) / (u - l)`` the basis polynomials are
``b_{n,k}(x) = C(n,k) t^k s^(n-k)``. The coefficient index ``k`` is always the leading axis.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike


def binomials(degree: int, dtype: DTypeLike) -> np.ndarray:
    """``C(degree, k)`` for all k, each rounded once."""
    exact = [math.comb(degree, k) for k in range(degree + 1)]
    return np.array(exact, dtype=np.float64).astype(dtype)


def halved_binomials(degree: int, dtype: DTypeLike) -> np.ndarray:
    """``C(degree, k) / 2^degree``: what :func:`terms` leaves out, at most one."""
    return np.ldexp(binomials(degree, np.float64), -degree).astype(dtype)


def along_leading(weights: np.ndarray, ndim: int) -> np.ndarray:
    """Reshape ``[n+1]`` so that it scales the leading axis of an array of ``ndim``."""
    return weights.reshape(-1, *[1] * (ndim - 1))


def power(base: jax.Array, exponent: int) -> jax.Array:
    """``base ** exponent`` for an int >= 1 by repeated squaring: no log, no NaN at 0."""
    half, odd = divmod(exponent, 2)
    if not half:
        return base
    squared = power(base * base, half)
    return squared * base if odd else squared


def derivative(coeffs: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
    """Coefficients of the derivative: ``n / (u - l) * (c_{k+1} - c_k)``."""
    degree = coeffs.shape[0] - 1
    if degree == 0:
        return jnp.zeros_like(coeffs)
    return (coeffs[1:] - coeffs[:-1]) * (degree / (upper - lower))[None]


def relative_move(
    x: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dx: jax.Array,
    dlower: jax.Array,
    dupper: jax.Array,
) -> jax.Array:
    """The tangent of ``x`` relative to its interval: ``dx - s dl - t du``.

    ``B`` depends on ``x``, ``l`` and ``u`` only through ``t``, so moving an end of the interval
    is moving ``x`` the other way, in proportion.
    """
    t, s = _position(x, lower, upper)
    return (dx.astype(t.dtype) - s * dlower - t * dupper).astype(x.dtype)


def interval_cotangent(
    coeffs: jax.Array,
    moments: jax.Array,
    below: jax.Array,
    above: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Gradients in ``lower`` and ``upper`` from sums that the one in ``coeffs`` needs anyway.

    They are ``-sum s dx`` and ``-sum t dx`` with ``dx = dy B'``. Now ``t b_{n-1,k}`` is
    ``(k+1)/n b_{n,k+1}`` and ``s b_{n-1,k}`` is ``(n-k)/n b_{n,k}``: both are sums of moments,

        sum t dx = sum_k k (c_k - c_{k-1}) m_k / (u-l),
        sum s dx = sum_k (n-k) (c_{k+1} - c_k) m_k / (u-l),

    where ``m_k`` leaves out what lies outside. That has only ``b_0`` or ``b_n``: ``below`` and
    ``above``, the sums of ``dy`` there, are taken from ``m_0`` and ``m_n``. Everything has the
    leading axis k and then the shape of ``moments[0]``, or broadcasts to it.
    """
    degree = len(moments) - 1
    steps = derivative(coeffs, lower, upper)
    if degree == 0:
        return jnp.zeros_like(lower), jnp.zeros_like(upper)
    rising = along_leading(np.arange(1, degree + 1, dtype=lower.dtype), moments.ndim)
    rising /= degree
    inside_n = jnp.concatenate([moments[1:-1], (moments[-1] - above)[None]])
    inside_0 = jnp.concatenate([(moments[0] - below)[None], moments[1:-1]])
    dupper = -jnp.sum(rising * steps * inside_n, axis=0)
    dlower = -jnp.sum(rising[::-1] * steps * inside_0, axis=0)
    return sum_to(dlower, lower.shape), sum_to(dupper, upper.shape)


def _position(x, lower, upper) -> tuple[jax.Array, jax.Array]:
    """``t`` and ``s`` of the clamped ``x``."""
    z = jnp.clip(x.astype(lower.dtype), lower, upper)
    inverse = 1 / (upper - lower)
    return (z - lower) * inverse, (upper - z) * inverse


def sum_to(values: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Sum over the axes where ``shape``, of the same rank, is 1 and ``values`` is not."""
    axes = tuple(i for i, n in enumerate(shape) if n != values.shape[i])
    return jnp.sum(values, axis=axes, keepdims=True) if axes else values


def outside(
    x: jax.Array, dy: jax.Array, lower: jax.Array, upper: jax.Array
) -> list[jax.Array]:
    """``dy`` where ``x`` is below the interval, and where it is above; else zero."""
    x, dy = x.astype(lower.dtype), dy.astype(lower.dtype)
    nothing = jnp.zeros_like(dy)
    return [jnp.where(x < lower, dy, nothing), jnp.where(x > upper, dy, nothing)]


def terms(
    x: jax.Array,
    dy: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    degree: int,
    first: int,
    last: int,
) -> list[jax.Array]:
    """``dy * (2t)^k * (2s)^(n-k)`` for ``first <= k < last``: two products each.

    Doubled, because ``2t + 2s = 2`` keeps the powers near one where the plain ones
    underflow; :func:`halved_binomials` takes the factor back, exactly.
    """
    z = jnp.clip(x.astype(lower.dtype), lower, upper)
    double = 2 / (upper - lower)
    t, s = (z - lower) * double, (upper - z) * double
    shared = dy.astype(lower.dtype)
    if first:
        shared = shared * power(t, first)
    if last <= degree:
        shared = shared * power(s, degree + 1 - last)
    if last - first == 1:
        return [shared]
    values = [shared]
    for _ in range(last - first - 1):
        values.append(values[-1] * t)
    tail = s
    for k in range(last - first - 2, -1, -1):
        values[k] = values[k] * tail
        tail = tail * s
    return values
