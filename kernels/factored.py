"""All products ``t^k s^(n-k)`` of one degree from few: an inner times an outer factor.

The ``n+1`` terms are cut into ``I`` blocks of ``J``. With ``L = n + 1 - (I-1) J`` terms
left for the last block, ``1 <= L <= J``,

    t^k s^(n-k) = outer_i * inner_j,        inner_j = t^j s^(J-1-j)   for every block,
    outer_i     = t^(iJ) s^((I-2-i)J + L)   for i < I-1,   k = iJ + j,
    outer_(I-1) = t^((I-2)J + L)            for the last,  k = n + 1 - J + j.

The last block ends at ``k = n`` and would begin inside the one before it, so only its
``L`` last terms are used, ``j >= J - L``. No exponent is negative: nothing is divided.
A sum of all terms costs ``n + 1`` multiply-adds plus about ``3 (I + J)``; with ``J``
near the root of ``n`` that is less than any form of Horner's rule that is stable at
both ends, and a value and its coefficient gradients are made of the same few numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import jax
import numpy as np

from jaxbern.kernels.algebra import along_leading, binomials

Value = TypeVar("Value")  # anything with a product: arrays, kernel values, numbers


@dataclass(frozen=True)
class Factors:
    """``I`` blocks of ``J`` terms; made by :func:`factor`."""

    degree: int
    inner: int  # J
    outer: int  # I

    @property
    def last(self) -> int:
        """``L``: terms in the last block."""
        return self.degree + 1 - (self.outer - 1) * self.inner

    @property
    def inner_exponents(self) -> tuple[tuple[int, int], ...]:
        """``(of t, of s)`` in each inner factor."""
        return tuple((j, self.inner - 1 - j) for j in range(self.inner))

    @property
    def outer_exponents(self) -> tuple[tuple[int, int], ...]:
        """``(of t, of s)`` in each outer factor."""
        if self.outer == 1:
            return ((0, 0),)
        rest = self.degree + 1 - self.inner
        full = ((i * self.inner, rest - i * self.inner) for i in range(self.outer - 1))
        return (*full, (rest, 0))

    @property
    def blocks(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The terms of each block, as ``(k, j)``."""
        full = self.outer - 1
        first = self.degree + 1 - self.inner
        return (
            *(
                tuple((i * self.inner + j, j) for j in range(self.inner))
                for i in range(full)
            ),
            tuple((first + j, j) for j in range(self.inner - self.last, self.inner)),
        )

    @property
    def products(self) -> int:
        """Multiplications in :func:`inner_factors` and :func:`outer_factors`."""
        inner = 3 * max(self.inner - 2, 0)
        if self.outer == 1:
            return inner
        # t^J and s^J, unless no outer factor is made of them.
        bases = 2 * (self.inner > 1 and (self.outer > 2 or self.last == self.inner))
        shared = 3 * max(self.outer - 3, 0)
        return inner + bases + shared + (self.outer if self.outer > 2 else 0)


def factor(degree: int) -> Factors:
    """The cheapest factorisation: every one sums ``n+1`` terms and then ``I`` blocks.

    >>> factor(9)
    Factors(degree=9, inner=4, outer=3)
    """
    choices = [
        Factors(degree, inner, -(-(degree + 1) // inner))
        for inner in range(1, degree + 2)
    ]
    return min(choices, key=lambda f: (f.products + f.outer, f.inner))


class Powers:
    """Powers of one value, each computed once, from two of half its exponent."""

    def __init__(self, base: Value):  # noqa: D107
        self._known = {1: base}

    def __getitem__(self, exponent: int) -> Value:
        """``base ** exponent`` for an exponent >= 1."""
        if exponent not in self._known:
            half = exponent // 2
            self._known[exponent] = self[exponent - half] * self[half]
        return self._known[exponent]


def monomials(t: Powers, s: Powers, degree: int, step: int = 1) -> list[Value]:
    """``t^(step j) s^(step (degree - j))`` for ``j = 0..degree``, ``degree >= 1``."""
    mixed = (t[step * j] * s[step * (degree - j)] for j in range(1, degree))
    return [s[step * degree], *mixed, t[step * degree]]


def inner_factors(factors: Factors, t: Powers, s: Powers) -> list[Value]:
    """``inner_j`` for every j; for ``J = 1``, where it is one, an empty list."""
    return monomials(t, s, factors.inner - 1) if factors.inner > 1 else []


def outer_factors(
    factors: Factors, t: Powers, s: Powers, scale: Value | None = None
) -> list[Value]:
    """``outer_i``, times ``scale``, for every i; nothing where that is just one.

    All but the last share ``s^L``, so a scale costs two products, not ``I``.
    """
    if factors.outer == 1:
        return [] if scale is None else [scale]
    low, high = s[factors.last], t[factors.last]
    if scale is not None:
        low, high = low * scale, high * scale
    if factors.outer == 2:
        return [low, high]
    step = Powers(t[factors.inner]), Powers(s[factors.inner])
    shared = monomials(*step, factors.outer - 2)
    return [*(q * low for q in shared), shared[-1] * high]


def scaled_coeffs(coeffs: jax.Array) -> jax.Array:
    """``C(n,k) c_k`` from ``[n+1, ...]``: what multiplies ``t^k s^(n-k)``."""
    weights = binomials(coeffs.shape[0] - 1, coeffs.dtype)
    return coeffs * along_leading(weights, coeffs.ndim)


def slope_coeffs(coeffs: jax.Array, width: jax.Array) -> jax.Array:
    """``C(n,k) e_k``, with ``e [n+1, ...]`` the derivative's coefficients at degree n.

    The derivative has ``d_k = n / width * (c_{k+1} - c_k)``, ``k < n``. Elevated by one
    degree it is a sum over the same products as the value. The weights of ``C(n,k) e_k =
    C(n-1,k) d_k + C(n-1,k-1) d_{k-1}`` are positive: nothing cancels that did not before.
    """
    degree = coeffs.shape[0] - 1
    weights = along_leading(binomials(degree - 1, coeffs.dtype), coeffs.ndim)
    inner = (coeffs[1:] - coeffs[:-1]) * (degree / width)[None] * weights
    none = np.zeros((1,) * coeffs.ndim, coeffs.dtype)
    padding = ((1, 1), *((0, 0),) * (coeffs.ndim - 1))
    padded = jax.lax.pad(inner, none.reshape(()), [(*p, 0) for p in padding])
    return padded[:-1] + padded[1:]


def contract(
    factors: Factors,
    coeffs: Sequence[Value],
    inner: Sequence[Value],
    outer: Sequence[Value],
    fma,
) -> Value:
    """``sum_i outer_i sum_j coeffs_k inner_j``, with ``fma(a, b, c) = a b + c``."""
    total = None
    for i, block in enumerate(factors.blocks):
        part = None
        for k, j in block:
            if not inner:
                part = coeffs[k]
            elif part is None:
                part = coeffs[k] * inner[j]
            else:
                part = fma(coeffs[k], inner[j], part)
        if not outer:
            return part
        total = part * outer[i] if total is None else fma(part, outer[i], total)
    return total
