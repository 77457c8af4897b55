"""Early stopping and stopping on non-finite losses: the state and its update."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels.array_types import Array, Bool, Float, Int

RUNNING, EARLY, NONFINITE = range(3)


class Stopping(NamedTuple):
    """The stopping state: scalars, or one entry per seed."""

    reason: Int[Array, "*seeds"]  # int32: RUNNING, EARLY or NONFINITE
    epoch: Int[Array, "*seeds"]  # int32: where it stopped, from 0; -1 while it runs
    step: Int[
        Array, "*seeds"
    ]  # int32: the step whose loss was not finite, from 0; else -1
    last_loss: Float[
        Array, "*seeds"
    ]  # float32: the last finite loss of a batch; -1 before one
    best_auc: Float[Array, "*seeds"]  # float32: the highest
    best_epoch: Int[Array, "*seeds"]  # int32: where that was; -1 before the first epoch
    reference: Float[Array, "*seeds"]  # float32: the AUC of the last improvement
    waited: Int[Array, "*seeds"]  # int32: epochs since then

    @property
    def running(self) -> Bool[Array | np.ndarray, "*seeds"]:
        """Whether the seed is still training."""
        return self.reason == RUNNING


def start() -> Stopping:
    """Return the state before the first epoch; every array is a separate buffer."""

    def integer(value):
        return jnp.full((), value, jnp.int32)

    def number(value):
        return jnp.full((), value, jnp.float32)

    # Finite, because jax_debug_nans and jax_debug_infs would raise otherwise.
    worst = jnp.finfo(jnp.float32).min
    return Stopping(
        reason=integer(RUNNING),
        epoch=integer(-1),
        step=integer(-1),
        last_loss=number(-1),
        best_auc=number(worst),
        best_epoch=integer(-1),
        reference=number(worst),
        waited=integer(0),
    )


def after(
    before: Stopping,
    auc: Float[Array, ""],
    *,
    completed: Bool[Array, ""],
    epoch: Int[Array, ""],
    step: Int[Array, ""],
    last_loss: Float[Array, ""],
    patience: int,
    improvement: float,
) -> Stopping:
    """Update after an epoch that the seed ``completed`` or not; stopped seeds do not change.

    A NaN is not an improvement.
    """
    improved = auc > before.reference + improvement
    waited = jnp.where(improved, 0, before.waited + 1)
    early = waited >= patience
    higher = auc > before.best_auc
    trained = Stopping(
        reason=jnp.where(early, EARLY, RUNNING),
        epoch=jnp.where(early, epoch, before.epoch),
        step=before.step,
        last_loss=last_loss,
        best_auc=jnp.where(higher, auc, before.best_auc),
        best_epoch=jnp.where(higher, epoch, before.best_epoch),
        reference=jnp.where(improved, auc, before.reference),
        waited=waited,
    )
    failed = before._replace(
        reason=jnp.full_like(before.reason, NONFINITE),
        epoch=epoch,
        step=step,
        last_loss=last_loss,
    )
    return jax.tree.map(
        lambda t, f, b: jnp.where(completed, t, jnp.where(before.running, f, b)),
        trained,
        failed,
        before,
    )
