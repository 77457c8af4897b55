"""Gradients in the ends of the interval, by a complex step in de Casteljau's algorithm.

No differentiation rules are needed: moving an end by ``ih`` with a tiny ``h`` changes the
imaginary part of the value by ``h`` times the derivative, without cancellation. Shapes are
those of :mod:`tests.oracles.casteljau`.
"""

import numpy as np

from tests.oracles import casteljau

STEP = 1e-30


def gradients(x, coeffs, lower, upper, dy, outside="clamp"):
    """Compute ``sum dy dB/dlower`` and ``sum dy dB/dupper``, in the shapes of the ends.

    Outside the interval the value is an end coefficient, independent of the end, or lies
    on the tangent at the end.
    """
    x, coeffs, lower, upper, dy = map(np.float64, (x, coeffs, lower, upper, dy))
    below, above = x < lower, x > upper
    moved = (lower + 1j * STEP, upper), (lower, upper + 1j * STEP)
    found = []
    for ends, shape in zip(moved, (lower.shape, upper.shape), strict=True):
        inside, first, last = (part.imag for part in _pieces(x, coeffs, *ends))
        tails = np.where(below, first, last) if outside == "linear" else 0.0
        derivative = np.where(below | above, tails, inside) / STEP
        found.append(_sum_to(derivative * dy, shape))
    return tuple(found)


def limits(x, coeffs, lower, upper, dy, outside="clamp"):
    """Compute the same sums of absolute values: the scale of rounding errors."""
    x, coeffs, lower, upper, dy = map(np.float64, (x, coeffs, lower, upper, dy))
    options = {"absolute": True, "outside": outside}
    size = casteljau.slope(x, coeffs, lower, upper, **options) * np.abs(dy)
    z = x if outside == "linear" else np.clip(x, lower, upper)
    t = (z - lower) / (upper - lower)
    # Sums of `1 - t` and `t` share their moments: beyond an end both are large.
    more = np.maximum(np.abs(t - 0.5) - 0.5, 0)
    return (
        _sum_to(size * (np.abs(1 - t) + more), lower.shape),
        _sum_to(size * (np.abs(t) + more), upper.shape),
    )


def _pieces(x, coeffs, lower, upper):
    """Return functions for the polynomial and its tangents at both ends."""
    t, s = (x - lower) / (upper - lower), (upper - x) / (upper - lower)
    row = np.broadcast_to(coeffs, (len(coeffs), *x.shape))
    degree = len(coeffs) - 1
    first, last = (
        (coeffs[0] + degree * (coeffs[1] - coeffs[0]) * t,
         coeffs[-1] + degree * (coeffs[-2] - coeffs[-1]) * s)
        if degree else (t * 0, t * 0)
    )  # fmt: skip
    while len(row) > 1:
        row = s * row[:-1] + t * row[1:]
    return row[0], first, last


def _sum_to(values, shape):
    axes = tuple(i for i, n in enumerate(shape) if n != values.shape[i])
    return values.sum(axis=axes, keepdims=True)
