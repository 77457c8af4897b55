"""Initial polynomials: fits of a given function, or random ones with unit gain.

They are computed in float64 by NumPy when a layer is made, so that they are constants to
every JAX transform under which the layer is made.
"""

import functools
import inspect
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels.array_types import Ends
from jaxbern.op import arithmetic

# Directions of coefficient space that move the polynomial by less than this fraction of
# the strongest one are left out of a fit. Without that relu has coefficients of 1e4 at
# degree 25, which float32 and an optimiser cannot hold; with it 56, and the largest
# error is 0.062 in place of 0.052.
_WEAKEST = 1e-4


def fit(f: Callable, degree: int, lower: Ends, upper: Ends) -> np.ndarray:
    """Fit Bernstein coefficients ``[..., n+1]`` to ``f`` on ``[lower, upper]``.

    Least squares with value and slope of ``f`` kept at both ends, so that the tangents of
    ``outside="linear"`` are those of ``f``. Degree 2 keeps the values only, degree 1 is the
    chord, degree 0 the mean.
    """
    low, up = (np.asarray(end, np.float64)[..., None] for end in (lower, upper))
    count = 8 * (degree + 8)  # dense enough that the fit cannot swing between points
    t = np.square(np.sin(np.pi / 4 * np.arange(1, 2 * count, 2) / count))
    value, slope = sampled(f, low + (up - low) * np.array([0.0, 1.0]))
    inside, _ = sampled(f, low + (up - low) * t)
    if degree == 0:
        return inside.mean(axis=-1, keepdims=True)
    coeffs = np.zeros((*inside.shape[:-1], degree + 1))
    coeffs[..., 0], coeffs[..., -1] = value[..., 0], value[..., 1]
    kept = 1
    if degree >= 3:
        step = (up - low)[..., 0] / degree
        coeffs[..., 1] = value[..., 0] + slope[..., 0] * step
        coeffs[..., -2] = value[..., 1] - slope[..., 1] * step
        kept = 2
    free = slice(kept, degree + 1 - kept)
    matrix = basis(t, degree)
    if matrix[:, free].size:
        missing = (inside - coeffs @ matrix.T).reshape(-1, count).T
        found = np.linalg.lstsq(matrix[:, free], missing, rcond=_WEAKEST)[0]
        coeffs[..., free] = found.T.reshape(*coeffs.shape[:-1], -1)
    return coeffs


def basis(t: np.ndarray, degree: int) -> np.ndarray:
    """Compute ``b_{n,k}(t)`` as ``[..., n+1]``, for ``t`` in ``[0, 1]``."""
    t = np.asarray(t)[..., None]
    k = np.arange(degree + 1)
    ways = np.array([float(math.comb(degree, j)) for j in k])
    return ways * t**k * (1 - t) ** (degree - k)


def sampled(f: Callable, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute values and slopes of an elementwise function in float64, regardless of x64."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        try:
            point = jnp.asarray(x)
            pair = jax.jvp(f, (point,), (jnp.ones_like(point),))
        except jax.errors.TracerArrayConversionError:  # a function of NumPy's
            h = 1e-5 * (1 + np.abs(x))
            pair = f(x), (f(x + h) - f(x - h)) / (2 * h)
        value, slope = (np.asarray(part, np.float64) for part in pair)
    if value.shape != x.shape:
        raise ValueError(
            "the function to start as must be elementwise: it gives shape "
            f"{list(value.shape)} for {list(x.shape)}"
        )
    if not (np.isfinite(value).all() and np.isfinite(slope).all()):
        raise ValueError(
            "the function to start as must be finite, with a finite slope, on the "
            f"whole interval; on [{x.min():g}, {x.max():g}] it is not: move the ends"
        )
    return value, slope


def standardised(
    coeffs: jax.Array, lower: Ends, upper: Ends, outside: str
) -> jax.Array:
    """Shift and scale each polynomial so that unit variance in gives unit variance out.

    Inputs are standard normal. If the interval does not hold [-1, 1], where most of these
    are, they are normal around its middle, with three deviations to either end.
    """
    degree = coeffs.shape[-1] - 1
    if degree == 0:
        return coeffs
    low, up = np.broadcast_arrays(*(np.asarray(e, np.float64) for e in (lower, upper)))
    usual = (low <= -1) & (up >= 1)
    centre = np.where(usual, 0.0, (low + up) / 2)[..., None]
    deviation = np.where(usual, 1.0, (up - low) / 6)[..., None]
    nodes, weights = _quadrature()
    x = centre + deviation * nodes
    t = (x - low[..., None]) / (up - low)[..., None]
    inner = np.clip(t, 0, 1)
    matrix = basis(inner, degree)
    if outside == "linear":  # the tangents, n (c_1 - c_0) (t - 0) and its like
        below, above = degree * np.minimum(t, 0), degree * np.maximum(t - 1, 0)
        matrix[..., 0] -= below
        matrix[..., 1] += below
        matrix[..., -2] -= above
        matrix[..., -1] += above
    wide = coeffs.astype(arithmetic(coeffs.dtype))
    at_nodes, w = jnp.asarray(matrix, wide.dtype), jnp.asarray(weights, wide.dtype)
    product = functools.partial(jnp.matmul, precision="highest")
    if at_nodes.ndim == 2:  # one interval for all
        values = product(wide, at_nodes.T)
    else:
        values = product(at_nodes, wide[..., None])[..., 0]
    mean = product(values, w)[..., None]
    var = product(jnp.square(values - mean), w)[..., None]
    return ((wide - mean) * jax.lax.rsqrt(var)).astype(coeffs.dtype)


@functools.cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the standard normal distribution.

    They are equally spaced: Gaussian quadrature is inaccurate for clamped polynomials,
    which have kinks.
    """
    nodes = np.linspace(-6.0, 6.0, 241)
    weights = np.exp(-np.square(nodes) / 2)
    return nodes, weights / weights.sum()


def is_scalar_function(f: Callable) -> bool:
    """Return whether ``f`` is called as ``f(x)``; initialisers are ``f(key, shape, ...)``."""
    if isinstance(f, np.ufunc):
        return f.nin == 1
    kinds = inspect.Parameter
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:  # a function written in C that does not say
        return True
    if any(p.kind is kinds.VAR_POSITIONAL for p in parameters):
        return False
    positional = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(needed) == 1
