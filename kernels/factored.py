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

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Value = Any  # anything with sums and products: arrays, kernel values, numbers


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


@functools.cache
def factor(degree: int) -> Factors:
    """The factorisation with the fewest products; all have the same multiply-adds.

    Near an end ``inner_(J-1)`` falls below the smallest normal float first, and what it
    loses, 2^-149, is multiplied by ``C(n,J-1)``: ``J`` is so small that this stays
    below the smallest normal float.

    >>> factor(9)
    Factors(degree=9, inner=5, outer=2)
    """
    choices = [
        Factors(degree, inner, -(-(degree + 1) // inner))
        for inner in range(1, degree + 2)
        if math.comb(degree, inner - 1) <= 2**21 * stretch(degree) ** (inner - 1)
    ]
    return min(choices, key=lambda f: (operations(f), f.inner))


def operations(factors: Factors) -> int:
    """Products and multiply-adds of :func:`evaluate`, found by counting them."""
    count = 0

    class Counted:
        def __mul__(self, other):
            nonlocal count
            count += 1
            return self

    value = Counted()
    coeffs = [value] * (factors.degree + 1)
    evaluate(factors, coeffs, Powers(value), Powers(value), lambda a, b, c: a * b)
    return count


def stretch(degree: int) -> float:
    """What ``t`` and ``s`` are multiplied by: a power of two, taken back exactly.

    ``t^j`` alone underflows where ``C(n,k) t^k s^(n-k)`` does not, and what is lost there
    is multiplied by the binomial. Stretched by this, the sum of all terms is still
    below 2^80 times the largest coefficient, far from overflow.
    """
    return 2.0 ** min(max(80 // degree, 1), 8)


class Powers:
    """Powers of one value, each computed once, as a product of two others."""

    def __init__(self, base: Value):
        """``base`` is the first power."""
        self._known = {1: base}

    def __getitem__(self, exponent: int) -> Value:
        """``base ** exponent`` for an exponent >= 1."""
        if exponent not in self._known:
            # Of known powers if there are such, and of similar ones: that is quickest.
            pairs = [a for a in self._known if exponent - a in self._known]
            a = min(pairs, key=lambda a: abs(2 * a - exponent), default=exponent // 2)
            self._known[exponent] = self[a] * self[exponent - a]
        return self._known[exponent]


def monomials(t: Powers, s: Powers, degree: int) -> list[Value]:
    """``t^j s^(degree - j)`` for ``j = 0..degree``, ``degree >= 1``.

    From degree 4 as a power of ``t s`` times one of ``t`` or of ``s``, whose exponents then
    differ by two: fewer products, and smaller numbers never stand alone, where they
    could underflow although the product does not.
    """
    if degree < 4:
        mixed = (t[j] * s[degree - j] for j in range(1, degree))
        return [s[degree], *mixed, t[degree]]
    both, half = Powers(t[1] * s[1]), (degree + 1) // 2
    exponents = range(degree - 2 * (half - 1), degree + 1, 2)  # upwards: each from two
    low, high = ([base[e] for e in exponents] for base in (s, t))
    low = [low[-1], *(both[j] * low[-1 - j] for j in range(1, half))]
    high = [high[-1], *(both[j] * high[-1 - j] for j in range(1, half))]
    middle = [] if degree % 2 else [both[degree // 2]]
    return [*low, *middle, *reversed(high)]


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
    shared = shared_factors(factors, t, s)
    return [*(q * low for q in shared), shared[-1] * high]


def shared_factors(factors: Factors, t: Powers, s: Powers) -> list[Value]:
    """``outer_i / s^L`` for ``i < I-1``, where ``I > 2``; the last is ``/ t^L`` too."""
    bases = Powers(t[factors.inner]), Powers(s[factors.inner])
    return monomials(*bases, factors.outer - 2)


def slopes(coeffs: Sequence[Value]) -> list[Value]:
    """What multiplies ``t^k s^(n-k)`` in the slope, but for the factor ``n / (u - l)``.

    The derivative has degree ``n-1`` and coefficients ``d_k = c_{k+1} - c_k`` times that
    factor. Elevated to degree n it is a sum over the same products as the value; with
    the binomials, ``C(n-1,k) d_k + C(n-1,k-1) d_{k-1}``: positive weights, so nothing
    cancels that did not before.
    """
    degree = len(coeffs) - 1
    steps = [b - a for a, b in itertools.pairwise(coeffs)]
    weights = [float(math.comb(degree - 1, k)) for k in range(degree)]
    scaled = [step * weight for step, weight in zip(steps, weights, strict=True)]
    mixed = (a + b for a, b in itertools.pairwise(scaled))
    return [scaled[0], *mixed, scaled[-1]]


def contract(
    factors: Factors,
    coeffs: Sequence[Value],
    inner: Sequence[Value],
    outer: Sequence[Value],
    fma: Callable[[Value, Value, Value], Value],
) -> Value:
    """``sum_i outer_i sum_j coeffs_k inner_j``, with ``fma(a, b, c) = a b + c``."""
    blocks = block_sums(factors, coeffs, inner, fma)
    return _dot(blocks, outer, fma) if outer else blocks[0]


def evaluate(
    factors: Factors,
    coeffs: Sequence[Value],
    t: Powers,
    s: Powers,
    fma: Callable[[Value, Value, Value], Value],
) -> Value:
    """``sum_k coeffs_k t^k s^(n-k)``.

    Like :func:`contract`, but as nothing else needs the outer factors, what they share
    is multiplied once and not ``I`` times.
    """
    blocks = block_sums(factors, coeffs, inner_factors(factors, t, s), fma)
    if factors.outer == 1:
        return blocks[0]
    low, high = s[factors.last], t[factors.last]
    if factors.outer == 2:
        return fma(blocks[1], high, blocks[0] * low)
    shared = shared_factors(factors, t, s)
    return fma(_dot(blocks[:-1], shared, fma), low, blocks[-1] * shared[-1] * high)


def accumulate(
    factors: Factors,
    sums: Sequence[Value],
    inner: Sequence[Value],
    outer: Sequence[Value],
    fma: Callable[[Value, Value, Value], Value],
) -> tuple[Value, ...]:
    """``sums_k + outer_i inner_j`` for every k."""
    sums = list(sums)
    for block, each in zip(factors.blocks, outer, strict=True):
        for k, j in block:
            sums[k] = fma(inner[j], each, sums[k]) if inner else sums[k] + each
    return tuple(sums)


def block_sums(
    factors: Factors,
    coeffs: Sequence[Value],
    inner: Sequence[Value],
    fma: Callable[[Value, Value, Value], Value],
) -> list[Value]:
    """``sum_j coeffs_k inner_j`` of every block."""
    if not inner:
        return list(coeffs)
    return [
        _dot([coeffs[k] for k, _ in block], [inner[j] for _, j in block], fma)
        for block in factors.blocks
    ]


def _dot(a: Sequence[Value], b: Sequence[Value], fma) -> Value:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = fma(x, y, total)
    return total
