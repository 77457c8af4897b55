"""PyTorch's rule for cutting a learning rate, as a function from state to state."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels.array_types import Array, ArrayLike, Bool, Float, Int, Shaped


class PlateauState(NamedTuple):
    """The state of `reduce_on_plateau`: scalars, or one entry per seed."""

    learning_rate: Float[Array, "*seeds"]  # float32, or float64 under jax_enable_x64
    best: Float[Array, "*seeds"]  # best metric so far, of the same dtype
    bad_epochs: Int[
        Array, "*seeds"
    ]  # int32, consecutive, not counted during a cooldown
    cooldown: Int[Array, "*seeds"]  # int32, remaining cooldown epochs
    epoch: Int[Array, "*seeds"]  # int32, number of metrics seen


@dataclasses.dataclass(frozen=True)
class PlateauRule:
    """The arguments of `reduce_on_plateau`, checked, and the update rule."""

    mode: str
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    min_lr: float
    eps: float
    start_epoch: int

    def __post_init__(self) -> None:
        for name, choices in (
            ("mode", ["min", "max"]),
            ("threshold_mode", ["rel", "abs"]),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {value!r}")
        for name in ("patience", "cooldown", "start_epoch"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(
                    f"{name} must be an integer of at least 0, got {value!r}"
                )
        for name in ("factor", "min_lr", "eps"):
            check_not_negative(name, getattr(self, name))
        if self.factor >= 1:
            raise ValueError(f"factor must be below 1, got {self.factor}; 0.5 halves")
        if not math.isfinite(self.threshold):
            raise ValueError(f"threshold must be finite, got {self.threshold}")

    @property
    def worst(self) -> float:
        """Initial value of ``best``, which every metric beats.

        It is finite, even when multiplied by ``1 + threshold``.

        Infinity would stop programs under ``jax_debug_infs``.
        """
        most = float(np.finfo(np.float32).max) / 4
        return -most if self.mode == "max" else most

    def is_better(
        self, metric: Float[Array, "*seeds"], best: Float[Array, "*seeds"]
    ) -> Bool[Array, "*seeds"]:
        """Return whether a metric beats the best by more than the threshold."""
        margin = self.threshold if self.mode == "max" else -self.threshold
        bar = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return metric > bar if self.mode == "max" else metric < bar

    def after(
        self, state: PlateauState, metric: Shaped[ArrayLike, "..."]
    ) -> PlateauState:
        """Return the state after one more epoch with this metric."""
        metric = jnp.asarray(metric, state.best.dtype)
        if metric.shape != state.best.shape:
            raise ValueError(
                f"metric must have the shape of the state, {list(state.best.shape)} "
                f"(a scalar, or one entry per seed), got {list(metric.shape)}"
            )
        better = self.is_better(metric, state.best)
        counted = ~better & (state.cooldown == 0)
        bad_epochs = jnp.where(counted, state.bad_epochs + 1, 0)
        cut = bad_epochs > self.patience
        lower = jnp.maximum(state.learning_rate * self.factor, self.min_lr)
        lowers = cut & (state.learning_rate - lower > self.eps)
        cooler = jnp.maximum(state.cooldown - 1, 0)
        after = PlateauState(
            learning_rate=jnp.where(lowers, lower, state.learning_rate),
            best=jnp.where(better, metric, state.best),
            bad_epochs=jnp.where(cut, 0, bad_epochs),
            cooldown=jnp.where(cut, self.cooldown, cooler),
            epoch=state.epoch,
        )
        active = state.epoch >= self.start_epoch
        after = jax.tree.map(lambda new, old: jnp.where(active, new, old), after, state)
        return after._replace(epoch=state.epoch + 1)


def find_plateau(state: Any) -> tuple[PlateauState, Callable[[PlateauState], Any]]:
    """Find the one `PlateauState` in a tree; also return a function that replaces it."""
    leaves, tree = jax.tree.flatten(
        state, is_leaf=lambda node: isinstance(node, PlateauState)
    )
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, PlateauState)]
    if len(places) != 1:
        raise ValueError(
            f"state must hold one PlateauState, found {len(places)}; give the state of an "
            "optimiser with one reduce_on_plateau, or a PlateauState itself"
        )
    at = places[0]
    return leaves[at], lambda new: tree.unflatten(
        [*leaves[:at], new, *leaves[at + 1 :]]
    )


def check_not_negative(name: str, value: float) -> None:
    """Raise unless the value is finite and at least 0; NaN is refused too."""
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be finite and at least 0, got {value}")
