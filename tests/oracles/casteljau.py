"""The operator by de Casteljau's algorithm in float64, for arrays of any shape.

It is a different formula from the code under test and accurate enough: ``t`` and ``s`` of
a float32 have only float64 rounding errors. Shapes are those of
:mod:`jaxbern.kernels.xla.xla_backend`, but the ends of the interval are two arguments.
"""

import numpy as np


def value(x, coeffs, lower, upper, outside="clamp"):
    """Compute ``sum_k c_k b_{n,k}(x)``; beyond the ends constant or along the tangents."""
    x, coeffs, lower, upper = map(np.float64, (x, coeffs, lower, upper))
    z = np.clip(x, lower, upper)
    t, s = (z - lower) / (upper - lower), (upper - z) / (upper - lower)
    row = np.broadcast_to(coeffs, (len(coeffs), *x.shape))
    while len(row) > 1:
        row = s * row[:-1] + t * row[1:]
    return row[0] + (_tails(x, coeffs, lower, upper) if outside == "linear" else 0)


def size(x, coeffs, lower, upper, outside="clamp"):
    """Compute the same sum of absolute values: the scale of rounding errors."""
    inside = value(x, np.abs(coeffs), lower, upper)
    tails = _tails(*map(np.float64, (x, coeffs, lower, upper)), absolute=True)
    return inside + (tails if outside == "linear" else 0)


def _tails(x, coeffs, lower, upper, absolute=False):
    if len(coeffs) == 1:
        return np.zeros_like(x)
    steps = _steps(coeffs, lower, upper, absolute)
    below, above = np.minimum(x - lower, 0), np.maximum(x - upper, 0)
    below = np.abs(below) if absolute else below
    return below * steps[0] + above * steps[-1]


def _steps(coeffs, lower, upper, absolute):
    steps = np.diff(coeffs, axis=0) * (len(coeffs) - 1) / (upper - lower)[None]
    return np.abs(steps) if absolute else steps


def slope(x, coeffs, lower, upper, absolute=False, outside="clamp"):
    """Compute the derivative in ``x``, or with ``absolute`` the sum of its terms' sizes."""
    x, coeffs, lower, upper = map(np.float64, (x, coeffs, lower, upper))
    steps = _steps(coeffs, lower, upper, absolute)
    moving = (x >= lower) & (x <= upper) | (outside == "linear")
    return np.where(moving, value(x, steps, lower, upper), 0.0)


def moments(x, dy, lower, upper, shape, outside="clamp", absolute=False):
    """Sum ``dy b_{n,k}(x)`` to ``shape = [n+1, *C]``, over the axes that ``C`` broadcasts.

    With ``absolute``, sum the sizes of all terms.
    """
    axes = tuple(i for i, n in enumerate(shape[1:]) if n != x.shape[i])
    unit = np.eye(shape[0]).reshape(shape[0], shape[0], *[1] * x.ndim)
    basis, dy = (size, np.abs(dy)) if absolute else (value, dy)
    terms = (np.float64(dy) * basis(x, c, lower, upper, outside) for c in unit)
    return np.stack([t.sum(axis=axes, keepdims=True) for t in terms])
