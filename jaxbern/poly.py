"""Exact tools on polynomials given by their Bernstein coefficients.

A polynomial of degree ``n`` on ``[lower, upper]`` is

    p(x) = sum_k c_k b_{n,k}(x),    b_{n,k}(x) = C(n,k) t^k s^(n-k),
    t = (x - lower) / (upper - lower),    s = (upper - x) / (upper - lower).

Coefficients have shape ``[..., n+1]``; interval ends broadcast against ``[...]``,
in `basis` against ``x``. Results keep the dtype of ``coeffs`` or ``x``; half
precision is computed in float32 and rounded once. All but `from_function`, which
works on concrete numbers, can be differentiated to any order in both modes.
Reference: G. Farin, *Curves and Surfaces for CAGD*, chapters on Bernstein form.
"""

import functools
import math
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern import _poly_algorithms as _algorithms
from jaxbern._poly_algorithms import UNROLLED as UNROLLED
from jaxbern.kernels.array_types import Array, ArrayLike, Ends, Float
from jaxbern.op import checked_interval

__all__ = ["basis", "derivative", "elevate", "from_function", "restrict", "to_power"]


def basis(
    x: Float[ArrayLike, "*batch"],
    degree: int,
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
) -> Float[Array, "*batch terms"]:
    """Evaluate all basis polynomials ``b_{n,k}(x) = C(n,k) t^k s^(n-k)``, ``k = 0..n``.

    ``x [...]`` gives ``[..., n+1]``, at least 0 and summing to one. ``x`` is clamped
    as in the activation: outside, the value of the end point and gradient 0; at an end
    point the one-sided inner derivative. NaN gives NaN.

    >>> basis(0.0, 2).tolist()
    [0.25, 0.5, 0.25]
    """
    core = _algorithms.basis, _natural(degree, "degree")
    return _apply(core, jnp.asarray(x)[..., None], lower, upper, name="x")


def derivative(
    coeffs: Float[ArrayLike, "*neurons terms"],
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
    order: int = 1,
) -> Float[Array, "*neurons fewer"]:
    """Return the coefficients of a derivative, which has degree ``n - order``.

    One step is ``c'_k = n (c_{k+1} - c_k) / (upper - lower)``, from ``[..., n+1]``
    to ``[..., n]``; the derivative of a constant is the zero polynomial, ``[..., 1]``.

    >>> derivative(jnp.array([-3.0, 0.0, 3.0])).tolist()  # p(x) = x
    [1.0, 1.0]
    """
    return _apply(
        (_algorithms.derivative, _natural(order, "order")), coeffs, lower, upper
    )


def elevate(
    coeffs: Float[ArrayLike, "*neurons terms"], degree: int
) -> Float[Array, "*neurons more"]:
    """Write the polynomial in a degree ``>= n``: ``[..., n+1]`` to ``[..., degree+1]``.

    With ``m = degree``, ``c'_j = sum_k c_k C(n,k) C(m-n,j-k) / C(m,j)``: weights
    of at least 0 that sum to one, so the result stays in the hull of ``coeffs``.

    >>> elevate(jnp.array([0.0, 3.0]), 3).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _apply((_algorithms.elevate, _natural(degree, "degree")), coeffs)


def restrict(
    coeffs: Float[ArrayLike, "*neurons terms"],
    start: ArrayLike,
    stop: ArrayLike,
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
) -> Float[Array, "... terms"]:
    """Return coefficients ``[..., n+1]`` of the same polynomial over ``[start, stop]``.

    ``c'_j`` is the blossom of ``p`` at ``n-j`` times ``start`` and ``j`` times
    ``stop``. The smallest and the largest ``c'_j`` enclose ``p`` on the interval,
    up to rounding of at most ``5 n eps max|c|``. ``start`` and ``stop`` are clamped
    to ``[lower, upper]`` as the activation clamps its input, so they enclose the
    activation on any interval. Zero width gives the constant ``p(start)``, ``start >
    stop`` reverses the polynomial, and a NaN end gives NaN in every coefficient.

    >>> restrict(jnp.array([9.0, -9.0, 9.0]), 0.0, 3.0).tolist()  # x^2
    [0.0, 0.0, 9.0]
    """
    return _apply((_algorithms.restrict,), coeffs, lower, upper, start, stop)


def from_function(
    f: Callable[[np.ndarray], ArrayLike],
    degree: int,
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
    method: str = "lstsq",
) -> Float[Array, "... terms"]:
    """Return Bernstein coefficients ``[..., n+1]`` of a polynomial near ``f``.

    ``f`` is elementwise and called once, with a NumPy float64 array; the ends are
    concrete. ``"lstsq"`` fits Chebyshev-spaced points by least squares, reproduces
    polynomials of degree ``<= n`` and leaves out directions of coefficient space
    that move the polynomial by less than a rounding error: they would only add noise of
    size ``2^n``. A kink still needs large coefficients: for relu up to 3.2 at degree 9
    and 1e4 at degree 25.
    ``"bernstein"`` takes ``c_k = f(lower + k/n (upper - lower))`` (degree 0: the
    midpoint), which keeps range, monotonicity and convexity but converges slowly.

    >>> np.round(from_function(np.square, 2), 3).tolist()
    [9.0, -9.0, 9.0]
    """
    n, dtype = _natural(degree, "degree"), jnp.zeros(()).dtype
    low, up = (np.asarray(e)[..., None] for e in _interval(lower, upper, np.float64))
    if method == "bernstein":
        t = np.arange(n + 1) / n if n else np.array([0.5])
        return jnp.asarray(_sample(f, low * t[::-1] + up * t), dtype)
    if method != "lstsq":
        raise ValueError(f"method must be 'lstsq' or 'bernstein', got {method!r}")
    count = 8 * (n + 8)  # dense enough that the fit cannot oscillate between points
    t = np.square(np.sin(np.pi / 4 * np.arange(1, 2 * count, 2) / count))
    y = _sample(f, low * t[::-1] + up * t)
    ways = [float(math.comb(n, k)) for k in range(n + 1)]
    matrix = np.vander(t, n + 1, increasing=True) * np.vander(t[::-1], n + 1) * ways
    eps = max(float(jnp.finfo(d).eps) for d in (y.dtype, dtype))  # f rounds too
    fit = np.linalg.lstsq(matrix, y.astype(float).reshape(-1, count).T, rcond=eps)[0]
    return jnp.asarray(fit.T.reshape(*(low + up).shape[:-1], n + 1), dtype)


def to_power(
    coeffs: Float[ArrayLike, "*neurons terms"],
    *,
    lower: Ends = -3.0,
    upper: Ends = 3.0,
) -> Float[Array, "... terms"]:
    """Return ascending power coefficients: ``p(x) = sum_i p_i x^i``, ``[..., n+1]``.

    ``p_i`` is ``C(n,i) / (upper-lower)^i`` times the ``i``-th differences of
    ``coeffs``, blended at ``x = 0``: the Taylor coefficient, without any clamping.
    Its rounding error is about ``n eps C(n,i) (2/(upper-lower))^i max|c|``, and larger
    if 0 is outside the interval: use float64 from degree 10 on, and do not evaluate the
    polynomial in this form.

    >>> to_power(jnp.array([1.0, 2.0, 5.0]), lower=0.0, upper=1.0).tolist()
    [1.0, 2.0, 2.0]
    """
    return _apply((_algorithms.power,), coeffs, lower, upper)


def _sample(f, x):
    # Concrete even under jit; cases that NumPy warns about raise an error below.
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        y = np.asarray(f(x))
    if y.shape != x.shape:
        raise ValueError(
            f"f must be elementwise, got {y.shape} for {x.shape}; write np.vectorize(f)"
        )
    if (bad := ~np.isfinite(y) | (y.imag != 0)).any():
        raise ValueError(
            f"f must be real and finite, got {y[bad][0]} at {x[bad][0]}: move the ends"
        )
    return y.real if jnp.issubdtype(y.dtype, jnp.floating) else y.real.astype(float)


def _natural(value, name):
    try:
        if (number := operator.index(value)) >= 0:
            return number
        error = ValueError
    except TypeError:
        error = TypeError
    raise error(f"{name} must be a Python integer of at least 0, got {value!r}")


def _interval(lower, upper, dtype):
    if not any(isinstance(end, jax.core.Tracer) for end in (lower, upper)):
        return checked_interval(lower, upper, dtype)
    return lower, upper


def _apply(core, coeffs, lower=-3.0, upper=3.0, *cuts, name="coeffs"):
    c = jnp.asarray(coeffs)
    if not jnp.issubdtype(c.dtype, jnp.floating):
        raise TypeError(
            f"{name} must be floating point, got {c.dtype}; write {name}.astype(float)"
        )
    if c.shape[-1:] in [(), (0,)]:
        raise ValueError(
            f"{name} must have shape [..., n+1], got {c.shape}; write {name}[..., None]"
        )
    dtype = np.float64 if c.dtype == np.float64 else np.float32
    ends = [jnp.asarray(e, dtype) for e in (*_interval(lower, upper, dtype), *cuts)]
    try:
        shape = np.broadcast_shapes(c.shape[:-1], *(e.shape for e in ends))
    except ValueError as error:
        raise ValueError(
            f"interval ends must broadcast against the axes {c.shape[:-1]} of {name}, "
            f"got {[e.shape for e in ends]}; write for example end[:, None]"
        ) from error
    return _run(core, shape, c, *ends)


@functools.partial(jax.jit, static_argnums=(0, 1))  # an eager scan compiles every time
def _run(core, shape, c, *ends):
    ends = [jnp.broadcast_to(e, shape) for e in ends]
    wide = jnp.broadcast_to(c.astype(ends[0].dtype), (*shape, c.shape[-1]))
    return core[0](*core[1:], wide, *ends).astype(c.dtype)
