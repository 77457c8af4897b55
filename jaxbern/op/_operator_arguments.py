"""Check the operator's arguments and bring them to the layout of the kernels."""

import math
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern.kernels import algebra
from jaxbern.kernels.array_types import Array, ArrayLike, Ends, Float

# C(n, n/2) times a coefficient must stay finite in the dtype of the arithmetic.
_HIGHEST_DEGREE = {"float32": 100, "float64": 1000}


def arithmetic(*dtypes) -> np.dtype:
    """Return the dtype to compute in: float64 if any dtype is, otherwise float32."""
    wide = any(jnp.dtype(dtype) == jnp.float64 for dtype in dtypes)
    return jnp.dtype(jnp.float64 if wide else jnp.float32)


def by_degree(
    x: Float[Array, "*batch"], coeffs: ArrayLike
) -> Float[Array, "terms *#batch"]:
    """Reshape coefficients so that they broadcast against ``x``, the degree first.

    ``[W, n+1]`` becomes ``[n+1, 1, ..., W]`` and ``[n+1]`` becomes ``[n+1, 1, ..., 1]``, in
    the dtype of the arithmetic.
    """
    coeffs = floating("coeffs", coeffs)
    _check_shapes(x, coeffs)
    dtype = arithmetic(x.dtype, coeffs.dtype)
    check_degree(coeffs.shape[-1] - 1, dtype)
    leading = jnp.moveaxis(coeffs, -1, 0).astype(dtype)
    missing = range(1, 1 + x.ndim - (coeffs.ndim - 1))
    return jnp.expand_dims(leading, tuple(missing))


def per_neuron(
    name: str, value: ArrayLike, x: Float[Array, "*batch"], dtype: DTypeLike
) -> Float[Array, "*#batch"]:
    """Reshape ``[W]`` to ``[1, ..., W]`` or a scalar to ``[1, ..., 1]``, rank of ``x``."""
    array = floating(name, value)
    if array.shape not in ((), x.shape[-1:]):
        raise ValueError(
            f"{name} must be a scalar or have one number per neuron, shape "
            f"{list(x.shape[-1:])} for an input of shape {list(x.shape)}, got "
            f"{list(array.shape)}"
        )
    return array.astype(dtype).reshape((1,) * (x.ndim - array.ndim) + array.shape)


def like(
    x: Float[Array, "*batch"], name: str, value: ArrayLike
) -> Float[Array, "*batch"]:
    """Return ``value`` as an array; raise unless its shape and dtype are those of ``x``."""
    array = floating(name, value)
    if (array.shape, array.dtype) != (x.shape, x.dtype):
        raise ValueError(
            f"{name} must have the shape and dtype of the input, {x.dtype}"
            f"{list(x.shape)}, got {array.dtype}{list(array.shape)}"
        )
    return array


def floating(name: str, value: ArrayLike) -> Float[Array, "..."]:
    """Return ``value`` as an array; raise unless it is floating point."""
    array = jnp.asarray(value)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(
            f"{name} must be floating point, got {array.dtype}: "
            f"write {name}.astype(jnp.float32)"
        )
    return array


def _check_shapes(x: Float[Array, "..."], coeffs: Float[Array, "..."]) -> None:
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


def check_degree(degree: int, dtype) -> None:
    """Refuse a degree whose binomials the arithmetic cannot hold."""
    highest = _HIGHEST_DEGREE[dtype.name]
    if degree > highest:
        raise ValueError(
            f"degree {degree} is too high for {dtype} arithmetic, whose binomials hold "
            f"up to degree {highest}"
            + ("; float64 (jax_enable_x64) reaches 1000" if highest < 1000 else "")
        )


def check_outside(outside: str) -> None:
    """Raise unless ``outside`` is ``"clamp"`` or ``"linear"``."""
    if outside not in (algebra.CLAMP, algebra.LINEAR):
        raise ValueError(
            'outside must be "clamp" (constant beyond the interval) or "linear" (the '
            f"tangents at its ends), got {outside!r}"
        )


def check_epsilon(eps: float) -> None:
    """Raise unless ``eps`` is one finite number of at least 0."""
    number = isinstance(eps, numbers.Real | np.number) and not isinstance(eps, bool)
    if not number or not 0 <= eps < math.inf:
        raise ValueError(f"eps must be one number, finite and at least 0, got {eps!r}")


def interval(
    lower: Ends, upper: Ends, shape: tuple[int, ...], dtype: DTypeLike
) -> Float[Array, "2 ..."]:
    """Stack both ends as ``[2, 1, ..., 1 or W]``: a leading axis, then the rank of ``x``.

    The ends are checked unless they are traced.
    """
    neurons = shape[-1:]
    for name, end in (("lower", lower), ("upper", upper)):
        if np.shape(end) not in ((), neurons):
            raise ValueError(
                f"{name} must be a scalar or have one number per neuron, shape "
                f"{list(neurons)}, got shape {list(np.shape(end))}"
            )
    if any(isinstance(end, jax.core.Tracer) for end in (lower, upper)):
        ends = jnp.broadcast_arrays(*(jnp.asarray(e, dtype) for e in (lower, upper)))
        both = jnp.stack(ends)
    else:
        ends = checked_interval(lower, upper, dtype)
        both = np.stack(np.broadcast_arrays(*ends))
    rank = [1] * (len(shape) - both.ndim + 1)
    return jnp.asarray(both.reshape(2, *rank, *both.shape[1:]))


def checked_interval(
    lower: Ends, upper: Ends, dtype: DTypeLike = np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """Round both ends to ``dtype``; raise if its arithmetic cannot represent the interval.

    ``t = (x - lower) / (upper - lower)`` must have an error of a few ``eps``. So the width
    and its reciprocal must be finite and normal, and the width must be far enough above
    the smallest normal number that flushing denormals to zero does no harm: from 2**-100
    to 2**126 for float32.

    >>> [end.item() for end in checked_interval(-3, 0.5)]
    [-3.0, 0.5]
    """
    low, high = ends = rounded("lower", lower, dtype), rounded("upper", upper, dtype)
    if not all(np.isfinite(end).all() for end in ends) or not np.all(low < high):
        raise ValueError(
            "lower must be less than upper and both finite, as in lower=-3.0, "
            f"upper=3.0; got lower={_shown(lower)}, upper={_shown(upper)}"
            + (
                f", which are equal in {jnp.dtype(dtype)}"
                if np.all(low == high)
                else ""
            )
        )
    narrowest, widest = widths(dtype)
    with np.errstate(over="ignore", under="ignore"):
        width = high - low
    if not np.all((narrowest <= width) & (width <= widest)):
        raise ValueError(
            f"upper - lower must be from {narrowest:.2g} to {widest:.2g}: {jnp.dtype(dtype)}"
            " arithmetic cannot represent other widths or their reciprocals; got "
            f"lower={_shown(lower)}, upper={_shown(upper)}. Scale the input instead"
        )
    return ends


def widths(dtype: DTypeLike) -> tuple[float, float]:
    """Return the smallest and the largest allowed interval width, both powers of two."""
    numbers = jnp.finfo(dtype)
    return 8 * float(numbers.tiny) / float(numbers.eps), 1 / float(numbers.tiny)


def rounded(name: str, end: Ends, dtype: DTypeLike) -> np.ndarray:
    """Round an end to ``dtype``; raise for anything that is not a number."""
    array = np.asarray(end)
    number = jnp.issubdtype(array.dtype, jnp.floating) or array.dtype.kind in "iu"
    if not number:
        raise TypeError(
            f"{name} must be a number, or one number for each neuron, as in "
            f"{name}=3.0; got {end!r}"
        )
    with np.errstate(over="ignore", under="ignore"):
        return array.astype(dtype)


def _shown(end: Ends) -> Any:
    return np.asarray(end, float).tolist()
