"""Bernstein polynomials, and networks of them, in exact rational arithmetic.

Every float is a rational number, so these functions have no rounding errors. They use
textbook formulas, not the recurrences of the library. A network is multiplied out, so that
its degree can be read off its coefficients of powers.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

Polynomial = list[Fraction]  # coefficients of 1, x, x^2, ...


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
    """Return the coefficients of powers of ``x``, by multiplying out the textbook sum."""
    return activation([Fraction(0), Fraction(1)], coeffs, lower, upper)


def add(p: Polynomial, q: Polynomial) -> Polynomial:
    size = max(len(p), len(q))
    p, q = ([*r, *[Fraction(0)] * (size - len(r))] for r in (p, q))
    return [a + b for a, b in zip(p, q, strict=True)]


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return product


def power(p: Polynomial, k: int) -> Polynomial:
    result = [Fraction(1)]
    for _ in range(k):
        result = multiply(result, p)
    return result


def activation(p: Polynomial, coeffs, lower: Fraction, upper: Fraction) -> Polynomial:
    """Compute ``sum_k c_k C(n,k) t^k (1-t)^(n-k)`` with ``t = (p - l) / (u - l)``."""
    n = len(coeffs) - 1
    t = [a / (upper - lower) for a in add(p, [-lower])]
    s = add([Fraction(1)], [-a for a in t])
    total = [Fraction(0)]
    for k, c in enumerate(coeffs):
        term = multiply(power(t, k), power(s, n - k))
        total = add(total, [c * math.comb(n, k) * a for a in term])
    return total


def network(layers, inputs: list[Polynomial]) -> Polynomial:
    """Return the sum of the last layer's outputs, for inputs that are polynomials."""
    for layer in layers:
        rows = zip(layer.weights, layer.biases, layer.coeffs, strict=True)
        outputs = []
        for weights, bias, coeffs in rows:
            z = [bias]
            for w, p in zip(weights, inputs, strict=True):
                z = add(z, [w * a for a in p])
            outputs.append(activation(z, coeffs, layer.lower, layer.upper))
        inputs = outputs
    total = [Fraction(0)]
    for p in inputs:
        total = add(total, p)
    return total


def degree(p: Polynomial) -> int:
    return max(k for k, a in enumerate(p) if a)


def value(p: Polynomial, x: Fraction) -> Fraction:
    return sum((a * x**k for k, a in enumerate(p)), Fraction(0))


def assert_close(actual, exact, bound):
    """Assert ``|actual - exact| <= bound`` in exact arithmetic; the bounds are floats."""
    actual, bounds = np.ravel(actual), np.broadcast_to(bound, len(exact))
    assert len(actual) == len(exact)
    assert np.isfinite(actual).all(), actual
    for got, want, limit in zip(rational(actual), exact, bounds, strict=True):
        error = abs(got - want)
        assert error <= Fraction(float(limit)), (float(got), float(want), float(error))
