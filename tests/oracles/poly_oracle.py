"""Bernstein polynomials in exact rational arithmetic.

Every float is a rational number, so these functions have no rounding errors. They use
textbook formulas, not the recurrences of the library.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


def rational(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


def exact_basis(n, t):
    return [math.comb(n, k) * t**k * (1 - t) ** (n - k) for k in range(n + 1)]


def exact_t(x, lower, upper):
    """Return the parameter ``t`` of ``x``, clamped to [0, 1]; ``x`` may be infinite."""
    x = min(max(float(x), float(lower)), float(upper))
    x, lower, upper = rational([x, lower, upper])
    return (x - lower) / (upper - lower)


def exact_value(coeffs, t):
    terms = zip(coeffs, exact_basis(len(coeffs) - 1, t), strict=True)
    return sum(c * b for c, b in terms)


def exact_restrict(coeffs, a, b):
    """Compute the blossom as a convolution: j factors of ``b`` and n-j factors of ``a``."""
    n, result = len(coeffs) - 1, []
    for j in range(n + 1):
        of_a, of_b = exact_basis(n - j, a), exact_basis(j, b)
        pairs = [(i, k) for i in range(n - j + 1) for k in range(j + 1)]
        result.append(sum(of_a[i] * of_b[k] * coeffs[i + k] for i, k in pairs))
    return result


def exact_derivative(coeffs, width, order):
    for _ in range(order):
        slope = (len(coeffs) - 1) / Fraction(width)
        coeffs = [slope * (b - a) for a, b in itertools.pairwise(coeffs)]
    return coeffs or [Fraction(0)]


def exact_power(coeffs, lower, upper):
    """Multiply out ``C(n,k) (x-l)^k (u-x)^(n-k) / (u-l)^n``, ascending in x."""
    n, total = len(coeffs) - 1, [Fraction(0)] * len(coeffs)
    for k, c in enumerate(coeffs):
        product = [c * math.comb(n, k) / (upper - lower) ** n]
        for root, slope in [(-lower, 1)] * k + [(upper, -1)] * (n - k):
            shifted = [Fraction(0), *(slope * p for p in product)]
            product = [root * p for p in product] + [Fraction(0)]
            product = [a + b for a, b in zip(product, shifted, strict=True)]
        total = [a + b for a, b in zip(total, product, strict=True)]
    return total


def assert_close(actual, exact, bound):
    """Assert ``|actual - exact| <= bound`` in exact arithmetic; the bounds are floats."""
    actual, bounds = np.ravel(actual), np.broadcast_to(bound, len(exact))
    assert len(actual) == len(exact)
    assert np.isfinite(actual).all(), actual
    for got, want, limit in zip(rational(actual), exact, bounds, strict=True):
        error = abs(got - want)
        assert error <= Fraction(float(limit)), (float(got), float(want), float(error))
