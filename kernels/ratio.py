"""The same polynomials in the ratio of the distances to the two ends, which is at most 1.

With ``q = min(t, s) / max(t, s)`` and ``m = max(t, s)`` every product is

    t^k s^(n-k) = m^n q^k   if t < s,   else   m^n q^(n-k).

So the value is Horner's rule in ``q``, stable as all powers are positive, whose coefficients
are taken in one order or the other: a select for each, which runs beside the multiply-adds
on another pipe. It needs about half the multiply-adds of :mod:`jaxbern.kernels.factored`
and more instructions in all. For the gradient only the few factors are written in this
way. :mod:`jaxbern.kernels.forms` counts which is better.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxbern.kernels.factored import Factors, Powers

Value = Any
# A factor below the smallest normal float has an error of 2^-149 on a GPU, times the
# binomial: with this one it stays below the smallest normal float, 2^-126.
LARGEST_BINOMIAL = 2**21


def evaluate(
    coeffs: Sequence[Value], a: Value, b: Value, inverse: Value, arithmetic
) -> tuple[Value, Value]:
    """Two factors of ``sum_k coeffs_k t^k s^(n-k)``: Horner's sum, and ``m^n``.

    ``a`` and ``b`` are the distances to the lower and the upper end, ``inverse`` is what
    makes them ``t`` and ``s``.
    """
    low, q, m = _ratio(a, b, inverse, arithmetic)
    return _horner(coeffs, low, q, arithmetic), m[len(coeffs) - 1]


@dataclass(frozen=True)
class Products:
    """``inner_j`` and ``outer_i dy`` of :mod:`jaxbern.kernels.factored`, up to a scale.

    For two or three blocks. The inner ones lack ``m^(J-1)``, which the outer ones have.
    """

    low: Value
    q: Powers
    scaled: Value  # m^n dy
    inner: list[Value]
    outer: list[Value]
    arithmetic: Any

    @classmethod
    def of(cls, factors: Factors, a, b, inverse, dy, arithmetic) -> "Products":
        """Prepare from the distances to the ends, as in :func:`evaluate`, and ``dy``."""
        low, q, m = _ratio(a, b, inverse, arithmetic)
        last = factors.inner - 1
        powers = [None, *(q[j] for j in range(1, last + 1))]
        inner = [
            _either(arithmetic, low, powers[j], powers[last - j])
            for j in range(last + 1)
        ]
        scaled = dy * m[factors.degree]
        # One product after the other, as a high power alone could underflow.
        short = end = scaled * q[factors.last]
        middle = []
        if factors.outer == 3:
            more = factors.inner - factors.last
            long = short * q[more] if more else short
            end = long * q[factors.last]
            middle = [_either(arithmetic, low, long, short)]
        ends = (
            arithmetic.select(low, scaled, end),
            arithmetic.select(low, end, scaled),
        )
        outer = [ends[0], *middle, ends[1]]
        return cls(low, q, scaled, inner, outer, arithmetic)

    def contract(self, coeffs: Sequence[Value]) -> Value:
        """``sum_k coeffs_k t^k s^(n-k) dy`` by Horner's rule."""
        return _horner(coeffs, self.low, self.q, self.arithmetic) * self.scaled


def stretch(degree: int) -> float:
    """What ``t`` and ``s`` are multiplied by in the gradient: a power of two.

    The products of :class:`Products` are then at least 2^20 times what they stand for, as
    much as the binomials, and no number that matters underflows.
    """
    return 2.0 ** -(-25 // degree)


def blocks(degree: int) -> list[Factors]:
    """The factorisations that :func:`factors_of` can do without losing small numbers."""
    choices = (Factors(degree, -(-(degree + 1) // i), i) for i in (2, 3))
    return [
        f
        for f in choices
        if f.inner > 1
        and 1 <= f.last <= f.inner
        and math.comb(degree, f.inner - 1) <= LARGEST_BINOMIAL
    ]


def _ratio(a, b, inverse, arithmetic) -> tuple[Value, Powers, Powers]:
    """Whether ``a`` is the smaller, and powers of ``q`` and of ``m``."""
    small, large = arithmetic.minimum(a, b), arithmetic.maximum(a, b)
    q = small * arithmetic.quick_reciprocal(large)
    return a < b, Powers(q), Powers(large * inverse)


def _horner(coeffs, low, q, arithmetic):
    ordered = [
        _either(arithmetic, low, up, down)
        for up, down in zip(coeffs, reversed(coeffs), strict=True)
    ]
    total = ordered.pop()
    while ordered:
        total = arithmetic.fma(total, q[1], ordered.pop())
    return total


def _either(arithmetic, low, up, down):
    """A select; nothing to choose where both are the same, and None is one."""
    if up is down:
        return up
    up, down = (1.0 if value is None else value for value in (up, down))
    return arithmetic.select(low, up, down)
