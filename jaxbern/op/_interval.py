"""Which intervals an activation may have: one rule wherever an interval is taken."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike


def checked_interval(
    lower: ArrayLike, upper: ArrayLike, dtype: DTypeLike = np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends rounded to ``dtype``, if arithmetic in it can carry the interval.

    ``t = (x - lower) / (upper - lower)`` must have an error of a few ``eps``. So the width
    and its reciprocal must be finite and normal, and the width so far above the smallest
    normal number that a processor may take anything below that for zero: from 2**-100 to
    2**126 for float32.

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
            " arithmetic cannot carry another width or its reciprocal; got "
            f"lower={_shown(lower)}, upper={_shown(upper)}. Scale the input instead"
        )
    return ends


def widths(dtype: DTypeLike) -> tuple[float, float]:
    """The smallest and the largest width of an interval, both powers of two."""
    numbers = jnp.finfo(dtype)
    return 8 * float(numbers.tiny) / float(numbers.eps), 1 / float(numbers.tiny)


def rounded(name: str, end: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """An end as an array; what is not a number is refused, not converted."""
    array = np.asarray(end)
    number = jnp.issubdtype(array.dtype, jnp.floating) or array.dtype.kind in "iu"
    if not number:
        raise TypeError(
            f"{name} must be a number, or one number for each neuron, as in "
            f"{name}=3.0; got {end!r}"
        )
    with np.errstate(over="ignore", under="ignore"):
        return array.astype(dtype)


def _shown(end: ArrayLike) -> Any:
    return np.asarray(end, float).tolist()
