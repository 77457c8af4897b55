"""The options of the paper's ``L x W`` network, and its activations."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.nn import _act_core
from jaxbern.nn._option_checks import (
    checked_epsilon,
    checked_momentum,
    flag,
    number,
    whole,
)

BERNSTEIN = "bernstein"
FIXED: dict[str, Callable] = {
    "relu": jax.nn.relu,
    "leaky_relu": functools.partial(jax.nn.leaky_relu, negative_slope=0.1),
    "selu": jax.nn.selu,
    "gelu": functools.partial(jax.nn.gelu, approximate=False),  # as in PyTorch
}
ACTIVATIONS = (*FIXED, BERNSTEIN)


@dataclass(frozen=True)
class NetworkConfig:
    """All options of :class:`jaxbern.MLP`, as plain values that JSON can represent."""

    in_features: int
    depth: int
    width: int
    activation: str = BERNSTEIN
    degree: int = 9
    residual: bool = True
    out_features: int = 2
    lower: float = -3.0
    upper: float = 3.0
    outside: str = "clamp"
    init: str = "smooth"
    monotone: bool = False
    momentum: float = 0.9
    epsilon: float = 1e-5
    lean: bool = True
    remat: bool = False
    dtype: str | None = None
    param_dtype: str = "float32"
    implementation: str | None = None

    def __post_init__(self):
        """Validate the options before any array is created."""
        for name in ("in_features", "depth", "width", "out_features"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1))
        for name in ("residual", "lean", "remat"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(map(repr, ACTIVATIONS))}, "
                f"got {self.activation!r}"
            )
        for name in ("lower", "upper"):  # NumPy scalars are not JSON
            object.__setattr__(self, name, number(name, getattr(self, name)))
        object.__setattr__(self, "momentum", checked_momentum(self.momentum))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        for name in ("dtype", "param_dtype"):
            value = getattr(self, name)
            if value is None:
                continue
            if not jnp.issubdtype(value, jnp.floating):
                raise ValueError(f"{name} must be floating point, got {value!r}")
            object.__setattr__(self, name, jnp.dtype(value).name)
        layer = self.layer  # checks degree and interval, and rounds its ends
        for name in ("degree", "lower", "upper", "monotone"):
            object.__setattr__(self, name, getattr(layer, name))

    @property
    def layer(self) -> _act_core.LayerConfig:
        """The activation's own options."""
        return _act_core.LayerConfig(
            self.degree,
            self.lower,
            self.upper,
            self.monotone,
            outside=self.outside,
            param_dtype=self.param_dtype,
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert for JSON; ``NetworkConfig(**config.to_dict()) == config``."""
        options = dataclasses.asdict(self)
        # Omitted, as in files of versions without this option.
        if self.outside == "clamp":
            del options["outside"]
        return options

    @property
    def parameter_count(self) -> int:
        """Number of parameters, by the paper's formula.

        >>> NetworkConfig(28, 5, 16, activation="relu").parameter_count
        1586
        >>> NetworkConfig(28, 5, 16, degree=3).parameter_count
        1906
        """
        width, hidden = self.width, self.depth - 1
        count = (self.in_features + 1) * width + hidden * (width + 1) * width
        count += (width + 1) * self.out_features
        if self.activation == BERNSTEIN:
            count += self.depth * width * (self.degree + 1)
        return count
