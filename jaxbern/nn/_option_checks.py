"""Checks of the options of layers and networks, before any array is created."""

import math
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.op import check_degree


def whole(name: str, value: Any, least: int) -> int:
    """Return the value as an int; raise unless it is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be an int of at least {least}, got {value!r}")
    return int(value)


def checked_degree(value: Any) -> int:
    """Return the degree; raise if the widest enabled dtype cannot compute with it."""
    degree = whole("degree", value, 0)
    check_degree(degree, jnp.result_type(float))
    return degree


def flag(name: str, value: Any) -> bool:
    """Return the value; raise unless it is True or False, not merely truthy."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def number(name: str, value: Any) -> float:
    """Return the value as a Python float; raise unless it is one real number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be one number, got {value!r}")
    return float(value)


def checked_momentum(value: Any) -> float:
    """Return the momentum of running statistics, in Flax's sense, if it is in [0, 1)."""
    momentum = number("momentum", value)
    if not 0 <= momentum < 1:  # NaN fails as well
        raise ValueError(f"momentum must be in [0, 1), got {momentum!r}")
    return momentum


def checked_epsilon(value: Any) -> float:
    """Return the number added to a variance; raise unless it is positive and finite."""
    epsilon = number("epsilon", value)
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}")
    return epsilon


def parameter_key(rngs: Any) -> jax.Array:
    """Draw a key from the stream ``params`` of ``nnx.Rngs``."""
    stream = getattr(rngs, "params", None)
    if not callable(stream):
        raise TypeError(
            "rngs must be flax.nnx.Rngs with a stream params or default: write "
            f"rngs=nnx.Rngs(0), got {rngs!r}"
        )
    return stream()
