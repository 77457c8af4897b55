"""What the nnx and the linen layer share: checks, parametrisations, the domain."""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from jaxbern import initializers
from jaxbern.op._interval import checked_interval
from jaxbern.op._operator_arguments import arithmetic

Domain = Literal["fixed", "learned", "batch"]
_DOMAINS = ("fixed", "learned", "batch")
# Increments of a monotone polynomial start at least this far above zero: at zero their
# parameter would be minus infinity.
_SMALLEST_INCREMENT = 1e-3


@dataclass(frozen=True)
class LayerConfig:
    """The options of ``BernsteinAct`` that do not depend on the Flax interface."""

    degree: int
    lower: ArrayLike = -3.0
    upper: ArrayLike = 3.0
    monotone: bool = False
    domain: Domain = "fixed"
    param_dtype: DTypeLike = "float32"

    def __post_init__(self):
        """Refuse what cannot work before any array is made."""
        if isinstance(self.degree, bool) or not isinstance(self.degree, int):
            raise TypeError(f"degree must be an int, got {self.degree!r}")
        if self.degree < 0:
            raise ValueError(f"degree must be at least 0, got {self.degree}")
        if self.domain not in _DOMAINS:
            raise ValueError(
                f"domain must be one of {', '.join(map(repr, _DOMAINS))}, "
                f"got {self.domain!r}"
            )
        # Rounded here, once: the numbers that are shown are those that are computed with.
        dtype = jax.dtypes.canonicalize_dtype(arithmetic(self.param_dtype))
        object.__setattr__(self, "param_dtype", jnp.dtype(self.param_dtype).name)
        ends = checked_interval(self.lower, self.upper, dtype)
        for name, end in zip(("lower", "upper"), ends, strict=True):
            # Floats or tuples, so that the configuration can be compared and hashed.
            plain = end.tolist()
            object.__setattr__(self, name, tuple(plain) if end.ndim else plain)

    def init_coeffs(
        self,
        init: str | initializers.Initializer,
        key: jax.Array,
        shape: tuple[int, ...],
        dtype: DTypeLike,
    ) -> jax.Array:
        """Draw the trainable numbers behind the coefficients."""
        draw = initializers.get(init, self.lower, self.upper)
        coeffs = jnp.asarray(draw(key, shape, dtype))
        if coeffs.shape != shape:
            raise ValueError(
                f"init must return coefficients of shape {list(shape)}, "
                f"got {list(coeffs.shape)}"
            )
        return monotone_parameters(coeffs) if self.monotone else coeffs

    def coefficients(self, parameters: jax.Array) -> jax.Array:
        """The Bernstein coefficients that the trainable numbers stand for."""
        return monotone_coefficients(parameters) if self.monotone else parameters

    def init_interval(
        self, features: int, dtype: DTypeLike
    ) -> tuple[jax.Array, jax.Array]:
        """Centre and half-width per neuron, for the learned domain."""
        lower, upper = (
            jnp.broadcast_to(jnp.asarray(end, dtype), (features,))
            for end in (self.lower, self.upper)
        )
        return (lower + upper) / 2, (upper - lower) / 2

    def interval_from_statistics(
        self, mean: jax.Array, var: jax.Array, epsilon: float
    ) -> tuple[jax.Array, jax.Array]:
        """The interval in units of the inputs' standard deviation around their mean."""
        deviation = jnp.sqrt(var + epsilon)
        lower, upper = (
            jnp.broadcast_to(jnp.asarray(end, mean.dtype), mean.shape)
            for end in (self.lower, self.upper)
        )
        return mean + lower * deviation, mean + upper * deviation


def learned_interval(
    center: jax.Array, half_width: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """``center -+ |half_width|``: the ends never cross, whatever the optimiser does."""
    half_width = jnp.maximum(jnp.abs(half_width), jnp.finfo(half_width.dtype).eps)
    return center - half_width, center + half_width


def batch_statistics(x: jax.Array, dtype: DTypeLike) -> tuple[jax.Array, jax.Array]:
    """Mean and variance per neuron; they place the interval and pass no gradient."""
    x = jax.lax.stop_gradient(x).astype(dtype)
    axes = tuple(range(x.ndim - 1))
    return jnp.mean(x, axis=axes), jnp.var(x, axis=axes)


def monotone_coefficients(parameters: jax.Array) -> jax.Array:
    """``c_0 = p_0``, ``c_k = c_{k-1} + softplus(p_k)``: increasing for any parameters."""
    steps = jax.nn.softplus(parameters[..., 1:])
    return jnp.cumsum(jnp.concatenate([parameters[..., :1], steps], axis=-1), axis=-1)


def monotone_parameters(coeffs: jax.Array) -> jax.Array:
    """The inverse of :func:`monotone_coefficients`, after sorting each polynomial."""
    coeffs = jnp.sort(coeffs, axis=-1)
    steps = jnp.maximum(coeffs[..., 1:] - coeffs[..., :-1], _SMALLEST_INCREMENT)
    inverse = steps + jnp.log(-jnp.expm1(-steps))
    return jnp.concatenate([coeffs[..., :1], inverse], axis=-1)
