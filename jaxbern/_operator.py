"""``jaxbern.bernstein``: checks its arguments, brings them to the kernels' layout."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbern import _dispatch
from jaxbern.kernels import primitives

# C(n, n/2) times a coefficient must stay finite in the dtype of the arithmetic.
_HIGHEST_DEGREE = {"float32": 100, "float64": 1000}


def bernstein(
    x: ArrayLike,
    coeffs: ArrayLike,
    *,
    lower: ArrayLike = -3.0,
    upper: ArrayLike = 3.0,
    implementation: str | None = None,
) -> jax.Array:
    r"""Evaluate a Bernstein polynomial for each neuron, elementwise.

    .. math:: \sigma(x) = \sum_{k=0}^{n} c_k \binom nk
              \frac{(x-l)^k (u-x)^{n-k}}{(u-l)^n}, \qquad x \text{ clamped to } [l, u].

    Outside the interval the value is that of the nearer end point and the gradient in
    ``x`` is zero; at an end point it is the derivative from inside. NaN gives NaN. Every
    JAX transform applies, at every order, in ``x``, ``coeffs``, ``lower`` and ``upper``; the
    backward pass keeps ``x`` and ``coeffs`` only.

    Args:
      x: ``[..., W]``, floating point. Narrow types are computed in float32.
      coeffs: ``[W, n+1]``, one polynomial per neuron, or ``[n+1]``, one for all.
      lower: left end of the interval, a scalar or ``[W]``.
      upper: right end, a scalar or ``[W]``; must be greater than ``lower``.
      implementation: ``"xla"``, ``"pallas"``, ``"triton"``, or ``None`` for the best available.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      The coefficients of a straight line are equally spaced:

      >>> import jax, jax.numpy as jnp, jaxbern as jb
      >>> line = jnp.array([-3.0, -1.0, 1.0, 3.0])
      >>> jb.bernstein(jnp.array([-5.0, 0.0, 3.0]), line).tolist()
      [-3.0, 0.0, 3.0]
      >>> jax.grad(lambda x: jb.bernstein(x, line))(0.0).item()
      1.0

    Reference: H. Khedr and Y. Shoukry, *DeepBern-Nets*, 2024.
    """
    x, coeffs = _floating("x", x), _floating("coeffs", coeffs)
    _check_shapes(x, coeffs)
    wide = jnp.float64 in (x.dtype, coeffs.dtype)
    dtype = jnp.dtype(jnp.float64 if wide else jnp.float32)
    _check_degree(coeffs.shape[-1] - 1, dtype)
    lower, upper = _interval(lower, upper, x.shape, dtype)
    # [W, n+1] -> [n+1, 1, ..., W];  [n+1] -> [n+1, 1, ..., 1]
    by_degree = jnp.moveaxis(coeffs, -1, 0).astype(dtype)
    missing = range(1, 1 + x.ndim - (coeffs.ndim - 1))
    by_degree = jnp.expand_dims(by_degree, tuple(missing))
    return primitives.evaluate(
        x, by_degree, lower, upper, implementation=_dispatch.requested(implementation)
    )


def _floating(name: str, value: ArrayLike) -> jax.Array:
    array = jnp.asarray(value)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(
            f"{name} must be floating point, got {array.dtype}: "
            f"write {name}.astype(jnp.float32)"
        )
    return array


def _check_shapes(x: jax.Array, coeffs: jax.Array) -> None:
    if coeffs.ndim not in (1, 2) or coeffs.shape[-1] == 0:
        raise ValueError(
            "coeffs must have shape [W, n+1] or [n+1] with degree n >= 0, got "
            f"{list(coeffs.shape)}: the last axis holds the n+1 coefficients"
        )
    if coeffs.ndim == 2 and (x.ndim == 0 or x.shape[-1] != coeffs.shape[0]):
        raise ValueError(
            f"the last axis of x must have one entry per neuron: x is {list(x.shape)}, "
            f"coeffs {list(coeffs.shape)} has {coeffs.shape[0]} neurons; pass coeffs "
            "of shape [n+1] to use one polynomial for all"
        )


def _check_degree(degree: int, dtype) -> None:
    highest = _HIGHEST_DEGREE[dtype.name]
    if degree > highest:
        raise ValueError(
            f"degree {degree} is too high for {dtype} arithmetic, whose binomials hold "
            f"up to degree {highest}"
            + ("; float64 (jax_enable_x64) reaches 1000" if highest < 1000 else "")
        )


def _interval(lower: ArrayLike, upper: ArrayLike, shape: tuple[int, ...], dtype):
    """Both ends as ``[1, ..., 1 or W]`` of the rank of ``x``; checked unless traced."""
    neurons = shape[-1:]
    ends: list = []
    for name, end in (("lower", lower), ("upper", upper)):
        if np.shape(end) not in ((), neurons):
            raise ValueError(
                f"{name} must be a scalar or have one number per neuron, shape "
                f"{list(neurons)}, got shape {list(np.shape(end))}"
            )
        traced = isinstance(end, jax.core.Tracer)
        ends.append(end.astype(dtype) if traced else np.asarray(end, dtype))
    if not any(isinstance(end, jax.core.Tracer) for end in ends):
        low, high = ends
        if not np.all((-np.inf < low) & (low < high) & (high < np.inf)):
            raise ValueError(
                "lower must be less than upper and both finite, as in lower=-3.0, "
                f"upper=3.0; got lower={low.tolist()}, upper={high.tolist()}"
            )
    rank = len(shape)
    return [
        jnp.asarray(end).reshape((1,) * (rank - end.ndim) + end.shape) for end in ends
    ]
