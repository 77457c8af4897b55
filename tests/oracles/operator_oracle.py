"""The operator in exact rational arithmetic, a different formula from the library's.

Every float is a rational number, so the value of the textbook sum at a float is one
too. Each function also returns the *limit*, the sum of the absolute values of the terms,
which is the scale of rounding errors.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from tests.oracles.poly_oracle import exact_t


def basis(x: float, degree: int, lower: float, upper: float) -> tuple[list[int], int]:
    """Return ``b_{n,k}(x)`` at the clamped ``x``: numerators and a common denominator."""
    t = exact_t(x, lower, upper)
    above, below = t.denominator - t.numerator, t.numerator
    numerators = [
        math.comb(degree, k) * below**k * above ** (degree - k)
        for k in range(degree + 1)
    ]
    return numerators, t.denominator**degree


def evaluate(x, coeffs, lower=-3.0, upper=3.0):
    """Return values and limits at ``x [B, W]`` for ``coeffs [W, n+1]`` in float64."""
    rational = [[Fraction(float(v)) for v in row] for row in coeffs]
    return _each(x, lambda xi, w: _sums(rational[w], xi, lower, upper))


def gradient_x(x, coeffs, dy, lower=-3.0, upper=3.0):
    """Compute ``dy * B'(x)``: zero strictly outside, one-sided at the ends."""
    degree = coeffs.shape[1] - 1
    width = Fraction(upper) - Fraction(lower)
    rational = [[Fraction(float(v)) for v in row] for row in coeffs]
    steps = [
        [degree * (b - a) / width for a, b in itertools.pairwise(row)]
        for row in rational
    ]

    def one(xi, w):
        outside = degree == 0 or not lower <= xi <= upper
        return (0.0, 0.0) if outside else _sums(steps[w], xi, lower, upper)

    value, limit = _each(x, one)
    return value * dy, limit * np.abs(dy)


def gradient_coeffs(x, degree, dy, lower=-3.0, upper=3.0):
    """Compute ``sum_batch dy * b_{n,k}(x)`` as ``[W, n+1]``, and the limit of each.

    Terms are rounded to float64 before they are added; float32 does not resolve that.
    """
    terms = np.zeros((*x.shape, degree + 1))
    for i, w in np.ndindex(*x.shape):
        numerators, denominator = basis(x[i, w], degree, lower, upper)
        terms[i, w] = [b / denominator for b in numerators]
    terms *= np.float64(dy)[..., None]
    return terms.sum(axis=0), np.abs(terms).sum(axis=0)


def _sums(coeffs: list[Fraction], x, lower, upper) -> tuple[float, float]:
    numerators, denominator = basis(x, len(coeffs) - 1, lower, upper)
    common = math.lcm(*(c.denominator for c in coeffs))
    scaled = [c.numerator * (common // c.denominator) for c in coeffs]
    terms = [a * b for a, b in zip(scaled, numerators, strict=True)]
    denominator *= common
    return sum(terms) / denominator, sum(map(abs, terms)) / denominator


def _each(x, function):
    out = np.zeros((2, *x.shape))
    for i, w in np.ndindex(*x.shape):
        out[:, i, w] = function(float(x[i, w]), w)
    return out[0], out[1]
