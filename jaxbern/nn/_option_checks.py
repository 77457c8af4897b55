"""What layers and networks ask of their options, before any array is made."""

import math
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.op import check_degree


def whole(name: str, value: Any, least: int) -> int:
    """An integer of Python's or NumPy's."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be an int of at least {least}, got {value!r}")
    return int(value)


def checked_degree(value: Any) -> int:
    """A degree that the widest arithmetic at hand can compute with."""
    degree = whole("degree", value, 0)
    check_degree(degree, jnp.result_type(float))
    return degree


def flag(name: str, value: Any) -> bool:
    """True or False: every other object would count as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def number(name: str, value: Any) -> float:
    """One real number, as a float of Python's."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be one number, got {value!r}")
    return float(value)


def checked_momentum(value: Any) -> float:
    """How much of the running statistics stays, in Flax's sense."""
    momentum = number("momentum", value)
    if not 0 <= momentum < 1:  # NaN fails as well
        raise ValueError(f"momentum must be in [0, 1), got {momentum!r}")
    return momentum


def checked_epsilon(value: Any) -> float:
    """What is added to a variance."""
    epsilon = number("epsilon", value)
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}")
    return epsilon


def parameter_key(rngs: Any) -> jax.Array:
    """A key from the stream ``params`` of ``nnx.Rngs``."""
    stream = getattr(rngs, "params", None)
    if not callable(stream):
        raise TypeError(
            "rngs must be flax.nnx.Rngs with a stream params or default: write "
            f"rngs=nnx.Rngs(0), got {rngs!r}"
        )
    return stream()
