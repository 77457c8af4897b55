"""The operator by de Casteljau's algorithm in float64, for arrays of any shape.

Another formula than the code under test, and exact enough for it: ``t`` and ``s`` of a
float32 have no rounding but float64's. Shapes are those of :mod:`jaxbern.kernels.xla`.
"""

import numpy as np


def value(x, coeffs, lower, upper):
    """``sum_k c_k b_{n,k}(x)``, ``x`` clamped."""
    x, coeffs, lower, upper = map(np.float64, (x, coeffs, lower, upper))
    z = np.clip(x, lower, upper)
    t, s = (z - lower) / (upper - lower), (upper - z) / (upper - lower)
    row = np.broadcast_to(coeffs, (len(coeffs), *x.shape))
    while len(row) > 1:
        row = s * row[:-1] + t * row[1:]
    return row[0]


def slope(x, coeffs, lower, upper, absolute=False):
    """The derivative, zero strictly outside; or the same of the terms' sizes."""
    x, coeffs, lower, upper = map(np.float64, (x, coeffs, lower, upper))
    steps = np.diff(coeffs, axis=0) * (len(coeffs) - 1) / (upper - lower)[None]
    inside = (x >= lower) & (x <= upper)
    steps = np.abs(steps) if absolute else steps
    return np.where(inside, value(x, steps, lower, upper), 0.0)


def moments(x, dy, lower, upper, shape):
    """``sum dy b_{n,k}(x)`` to ``shape = [n+1, *C]``, over what ``C`` broadcasts."""
    axes = tuple(i for i, size in enumerate(shape[1:]) if size != x.shape[i])
    unit = np.eye(shape[0]).reshape(shape[0], shape[0], *[1] * x.ndim)
    terms = (np.float64(dy) * value(x, c, lower, upper) for c in unit)
    return np.stack([t.sum(axis=axes, keepdims=True) for t in terms])
