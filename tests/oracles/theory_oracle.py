"""Networks over rationals by the textbook sum, as coefficients of powers of ``x``.

The code under test evaluates and takes differences; this oracle multiplies polynomials
out and reads off their degree.
"""

import math
from fractions import Fraction

Polynomial = list[Fraction]  # coefficients of 1, x, x^2, ...


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
