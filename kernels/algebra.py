"""The formulas that every implementation shares, written once in ``jax.numpy``.

With ``t = (x - l) / (u - l)`` and ``s = (u - x) / (u - l)`` the basis polynomials are
``b_{n,k}(x) = C(n,k) t^k s^(n-k)``. The coefficient index ``k`` is always the leading axis.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np


def binomials(degree: int, dtype) -> np.ndarray:
    """``C(degree, k)`` for all k, each rounded once."""
    exact = [math.comb(degree, k) for k in range(degree + 1)]
    return np.array(exact, dtype=np.float64).astype(dtype)


def halved_binomials(degree: int, dtype) -> np.ndarray:
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
