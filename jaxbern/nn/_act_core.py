"""Shared by the nnx and the linen layer: checks, parametrisations, the domain."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern import initializers
from jaxbern.kernels.array_types import Ends
from jaxbern.nn._option_checks import checked_degree, flag, whole
from jaxbern.op import arithmetic, check_outside, checked_interval, widths

Domain = Literal["fixed", "learned", "batch"]
_DOMAINS = ("fixed", "learned", "batch")
# Defaults of both layers: a start that trains without normalisation, as silu does, and
# tails that do not cut a signal off. The operator and jb.MLP keep the paper's.
DEGREE, LOWER, UPPER, OUTSIDE, INIT = 9, -4.0, 4.0, "linear", "silu"
# Increments of a monotone polynomial start at least this far above zero: at zero their
# parameter would be minus infinity.
_SMALLEST_INCREMENT = 1e-3


@dataclass(frozen=True)
class LayerConfig:
    """The options of ``BernsteinAct`` that do not depend on the Flax interface."""

    degree: int
    lower: Ends
    upper: Ends
    monotone: bool = False
    domain: Domain = "fixed"
    outside: str = "clamp"
    shared: bool = False
    param_dtype: DTypeLike = "float32"

    def __post_init__(self):
        """Refuse what cannot work before any array is made."""
        object.__setattr__(self, "degree", checked_degree(self.degree))
        object.__setattr__(self, "monotone", flag("monotone", self.monotone))
        object.__setattr__(self, "shared", flag("shared", self.shared))
        if self.domain not in _DOMAINS:
            raise ValueError(
                f"domain must be one of {', '.join(map(repr, _DOMAINS))}, "
                f"got {self.domain!r}"
            )
        check_outside(self.outside)
        for name in ("lower", "upper"):
            if isinstance(getattr(self, name), jax.core.Tracer):
                raise TypeError(
                    f"{name} must be a number that is known when the layer is made, got "
                    "a traced value; write it as a Python float, or pass traced ends to "
                    'jb.bernstein, or train them with domain="learned"'
                )
        # Rounded here, once: the numbers that are shown are those that are computed with.
        dtype = jax.dtypes.canonicalize_dtype(arithmetic(self.param_dtype))
        object.__setattr__(self, "param_dtype", jnp.dtype(self.param_dtype).name)
        ends = checked_interval(self.lower, self.upper, dtype)
        for name, end in zip(("lower", "upper"), ends, strict=True):
            # Floats or tuples, so that the configuration can be compared and hashed.
            plain = end.tolist()
            object.__setattr__(self, name, tuple(plain) if end.ndim else plain)
        if self.domain == "learned":
            _check_learnable(*ends)
        if self.shared and any(end.ndim for end in ends):
            raise ValueError(
                "shared=True is one polynomial on one interval: lower and upper must be "
                f"numbers, got lower={self.lower}, upper={self.upper}"
            )

    def shape(self, features: int | None) -> tuple[int, ...]:
        """Shape of what each polynomial has once: ``[features]``, or nothing if shared."""
        return () if self.shared or features is None else (features,)

    def init_coeffs(
        self,
        init: str | Callable,
        key: jax.Array,
        shape: tuple[int, ...],
        dtype: DTypeLike,
    ) -> jax.Array:
        """Draw the trainable numbers behind the coefficients."""
        draw = initializers.get(init, self.lower, self.upper, self.outside)
        coeffs = jnp.asarray(draw(key, shape, dtype))
        if coeffs.shape != shape:
            raise ValueError(
                f"init must return coefficients of shape {list(shape)}, "
                f"got {list(coeffs.shape)}"
            )
        return monotone_parameters(coeffs) if self.monotone else coeffs

    def coefficients(self, parameters: jax.Array) -> jax.Array:
        """Compute the Bernstein coefficients from the parameters."""
        return monotone_coefficients(parameters) if self.monotone else parameters

    def init_interval(
        self, features: int | None, dtype: DTypeLike
    ) -> tuple[jax.Array, jax.Array]:
        """Centre and half-width per polynomial, for the learned domain."""
        lower, upper = (
            jnp.broadcast_to(jnp.asarray(end, dtype), self.shape(features))
            for end in (self.lower, self.upper)
        )
        return (lower + upper) / 2, (upper - lower) / 2

    def interval_from_statistics(
        self, mean: jax.Array, var: jax.Array, epsilon: float
    ) -> tuple[jax.Array, jax.Array]:
        """Scale the interval by the standard deviation of the inputs, around their mean.

        Inputs that are constant and far from zero would give an interval without width:
        its ends stay a few roundings of their size apart.
        """
        wide = arithmetic(mean.dtype)
        mean, deviation = mean.astype(wide), jnp.sqrt(var.astype(wide) + epsilon)
        lower, upper = (
            mean + jnp.broadcast_to(jnp.asarray(end, wide), mean.shape) * deviation
            for end in (self.lower, self.upper)
        )
        centre = 0.5 * lower + 0.5 * upper
        half = jnp.maximum(_narrowest_half(centre), widths(wide)[0])
        collapsed = upper - lower < 2 * half
        return (
            jnp.where(collapsed, centre - half, lower),
            jnp.where(collapsed, centre + half, upper),
        )


def checked_features(features: int | None, *, shared: bool) -> int | None:
    """Check a width; a shared polynomial needs none."""
    return None if features is None and shared else whole("features", features, 1)


def check_input(x: jax.Array, features: int | None) -> None:
    """Say it in the words of the layer before the operator speaks of coefficients."""
    if x.ndim == 0 or x.shape[-1] != features:
        raise ValueError(
            f"this BernsteinAct has features={features}, so the last axis of x must have "
            f"{features} entries, got x of shape {list(x.shape)}; write "
            f"features={x.shape[-1] if x.ndim else 1}, or shared=True to use one "
            "polynomial for any width"
        )


def learned_interval(
    center: jax.Array, half_width: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return ``center -+ |half_width|``: the ends cannot cross during training.

    A half-width stays above a few roundings of the centre and of one, both below what the
    arithmetic can carry.
    """
    wide = arithmetic(center.dtype)
    farthest = widths(wide)[1] / 4
    center = jnp.clip(center.astype(wide), -farthest, farthest)
    least = jnp.maximum(_narrowest_half(center), _narrowest_half(jnp.ones((), wide)))
    half_width = jnp.clip(jnp.abs(half_width.astype(wide)), least, farthest)
    return center - half_width, center + half_width


def _narrowest_half(centre: jax.Array) -> jax.Array:
    """Half of an interval's width in which float arithmetic has some places left."""
    return 4 * float(jnp.finfo(centre.dtype).eps) * jnp.abs(centre)


def _check_learnable(lower: np.ndarray, upper: np.ndarray) -> None:
    """Raise ValueError for an interval narrower than a learned one can represent."""
    centre = lower / 2 + upper / 2
    least = 8 * np.finfo(lower.dtype).eps * np.maximum(np.abs(centre), 1)
    widest = widths(lower.dtype)[1] / 4
    fits = (upper - lower >= least) & (np.maximum(-lower, upper) <= widest)
    if not fits.all():
        raise ValueError(
            'domain="learned" needs an interval that is wider than 8 roundings of its '
            f"centre and of 1, with ends below {widest:.2g}; got lower={lower.tolist()}, "
            f'upper={upper.tolist()}. Scale the input, or use domain="fixed"'
        )


def batch_statistics(
    x: jax.Array, dtype: DTypeLike, *, shared: bool
) -> tuple[jax.Array, jax.Array]:
    """Mean and variance per polynomial; they place the interval and pass no gradient."""
    axes = tuple(range(x.ndim if shared else x.ndim - 1))
    if math.prod(x.shape[:-1]) < 2:
        raise ValueError(
            'domain="batch" places the interval by the spread of a batch, and one row has '
            f"none: x must have at least two rows, got {list(x.shape)}. Call the layer on "
            "the whole batch instead of under vmap, or in evaluation mode"
        )
    x = jax.lax.stop_gradient(x).astype(dtype)
    return jnp.mean(x, axis=axes), jnp.var(x, axis=axes)


def monotone_coefficients(parameters: jax.Array) -> jax.Array:
    """Compute ``c_0 = p_0``, ``c_k = c_{k-1} + softplus(p_k)``, which increase."""
    steps = jax.nn.softplus(parameters[..., 1:])
    return jnp.cumsum(jnp.concatenate([parameters[..., :1], steps], axis=-1), axis=-1)


def monotone_parameters(coeffs: jax.Array) -> jax.Array:
    """Invert :func:`monotone_coefficients`, after sorting each polynomial."""
    coeffs = jnp.sort(coeffs, axis=-1)
    steps = jnp.maximum(coeffs[..., 1:] - coeffs[..., :-1], _SMALLEST_INCREMENT)
    inverse = steps + jnp.log(-jnp.expm1(-steps))
    return jnp.concatenate([coeffs[..., :1], inverse], axis=-1)
