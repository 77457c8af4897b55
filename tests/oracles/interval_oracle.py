"""Gradients in the ends of the interval, by a complex step in de Casteljau's algorithm.

No rule of differentiation is used, so none can be wrong: moved by ``ih`` with a tiny
``h``, an end moves the imaginary part of the value by ``h`` times its derivative, with
nothing to cancel. Shapes are those of :mod:`jaxbern.kernels.xla`.
"""

import numpy as np

from tests.oracles import casteljau

STEP = 1e-30


def gradients(x, coeffs, lower, upper, dy):
    """``sum dy dB/dlower`` and ``sum dy dB/dupper``, each in the shape of its end.

    Outside the interval the value is an end coefficient, wherever that end may be.
    """
    x, coeffs, lower, upper, dy = map(np.float64, (x, coeffs, lower, upper, dy))
    inside = (x >= lower) & (x <= upper)
    moved = (lower + 1j * STEP, upper), (lower, upper + 1j * STEP)
    return tuple(
        _sum_to(np.where(inside, _value(x, coeffs, *ends).imag / STEP * dy, 0.0), shape)
        for ends, shape in zip(moved, (lower.shape, upper.shape), strict=True)
    )


def limits(x, coeffs, lower, upper, dy):
    """The same sums of the sizes of all terms: what a rounding error is measured by."""
    x, coeffs, lower, upper, dy = map(np.float64, (x, coeffs, lower, upper, dy))
    size = casteljau.slope(x, coeffs, lower, upper, absolute=True) * np.abs(dy)
    t = (np.clip(x, lower, upper) - lower) / (upper - lower)
    return _sum_to(size * (1 - t), lower.shape), _sum_to(size * t, upper.shape)


def _value(x, coeffs, lower, upper):
    t, s = (x - lower) / (upper - lower), (upper - x) / (upper - lower)
    row = np.broadcast_to(coeffs, (len(coeffs), *x.shape))
    while len(row) > 1:
        row = s * row[:-1] + t * row[1:]
    return row[0]


def _sum_to(values, shape):
    axes = tuple(i for i, n in enumerate(shape) if n != values.shape[i])
    return values.sum(axis=axes, keepdims=True)
