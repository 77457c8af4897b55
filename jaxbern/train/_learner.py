"""One seed: its state, a training step, an evaluation, and the end of an epoch.

These are pure functions of one seed, to be mapped over all seeds. They do not depend on
whether the rows are on the device or streamed from the host.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxbern import metrics, nn, optim
from jaxbern.kernels.array_types import Array, Bool, Float, Int, Shaped
from jaxbern.nn import NetworkConfig, Statistics
from jaxbern.train import _stopping
from jaxbern.train._config import TrainConfig
from jaxbern.train._schedule import COSINE, factor
from jaxbern.train._stopping import Stopping


@dataclasses.dataclass(frozen=True)
class Rules:
    """The part of a `TrainConfig` that is static in the compiled program.

    Seeds, learning rate and weight decays are arguments of the program: cells of a sweep
    that differ only in these share one compilation.
    """

    network: NetworkConfig
    batch_size: int
    eval_rows: int
    plateau_factor: float
    plateau_patience: int
    plateau_threshold: float
    plateau_start: int
    schedule: str
    warmup_epochs: int
    schedule_epochs: int  # 0 if the schedule does not depend on the number of epochs
    stop_patience: int
    stop_improvement: float
    on_cpu: bool  # choose the layout and loop order that are fast on CPUs

    @classmethod
    def of(cls, config: TrainConfig, platform: str) -> "Rules":
        """Extract the rules of a configuration, for devices of a platform."""
        derived = {
            "schedule_epochs": config.epochs if config.schedule == COSINE else 0,
            "on_cpu": platform == "cpu",
        }
        own = {field.name for field in dataclasses.fields(cls)} - derived.keys()
        return cls(**{name: getattr(config, name) for name in own}, **derived)

    def rate_factor(self, epoch: Int[Array, ""]) -> Float[Array, ""]:
        """Return the schedule's factor on the learning rate in an epoch."""
        if self.schedule != COSINE:
            return jnp.float32(1)
        return factor(epoch, epochs=self.schedule_epochs, warmup=self.warmup_epochs)

    def optimizer(self, learning_rate, weight_decay):
        """Build AdamW with the rule for its learning rate; all numbers may be traced."""
        plateau = optim.reduce_on_plateau(
            learning_rate,
            mode="max",
            factor=self.plateau_factor,
            patience=self.plateau_patience,
            threshold=self.plateau_threshold,
            start_epoch=self.plateau_start,
        )
        return optim.adamw(plateau, weight_decay=weight_decay), plateau


class Network(NamedTuple):
    """Parameters and running statistics: the inputs of a forward pass."""

    params: Any  # as nn.init makes them
    statistics: Statistics


class State(NamedTuple):
    """The state that a seed carries from one epoch to the next."""

    network: Network
    optimizer: Any  # of optax
    weight_decay: Any  # float32: one number, or one per part of the parameters
    best: Network  # that of the highest AUC
    stopping: Stopping


class Running(NamedTuple):
    """Counters and sums of the current epoch."""

    active: Bool[Array, "*seeds"]  # bool: False once the seed has stopped
    step: Int[Array, "*seeds"]  # int32, index of the next step
    rows: Int[Array, "*seeds"]  # int32, trained on so far
    loss: Float[Array, "*seeds"]  # float32, sum over rows
    last_loss: Float[
        Array, "*seeds"
    ]  # float32, the last finite one, mean over its batch


class Scores(NamedTuple):
    """Results of the network on some validation rows."""

    margins: Float[
        Array, "*seeds rows"
    ]  # float32: logit of signal minus that of background
    loss: Float[Array, "*seeds"]  # float32, sum over rows
    saturation: Float[Array, "*seeds"]  # float32, sum over rows of a mean over neurons


class Metrics(NamedTuple):
    """Measurements that are sent to the host after an epoch."""

    train_loss: Float[Array, "*seeds"]
    validation_loss: Float[Array, "*seeds"]
    auc: Float[Array, "*seeds"]
    learning_rate: Float[Array, "*seeds"]  # that of this epoch
    saturation: Float[Array, "*seeds"]  # -1 for activations without an interval
    completed: Bool[
        Array, "*seeds"
    ]  # bool: whether the seed trained through this epoch
    stopping: Stopping


def init(
    rules: Rules,
    key: Shaped[Array, ""],
    learning_rate: Float[Array, ""],
    weight_decay: Float[Array, ""],
    coeff_decay: Float[Array, ""] | None = None,
) -> State:
    """Create the state of a seed before its first epoch."""
    params = nn.init(rules.network, key)
    network = Network(params, nn.init_statistics(rules.network))
    decay: Any = weight_decay
    if coeff_decay is not None and "coeffs" in params:
        parts = {name: jnp.copy(weight_decay) for name in params}  # buffers, as below
        decay = parts | {"coeffs": coeff_decay}
    first = learning_rate * rules.rate_factor(jnp.int32(0))
    optimizer, _ = rules.optimizer(first, decay)
    return State(
        network,
        optimizer.init(params),
        decay,
        jax.tree.map(jnp.copy, network),  # its own buffers: the state is donated
        _stopping.start(),
    )


def begin(state: State) -> tuple[State, Running]:
    """Start the counters of an epoch."""
    last = state.stopping.last_loss
    zero = jnp.int32(0)
    active = jnp.asarray(state.stopping.running)
    return state, Running(active, zero, zero, jnp.zeros_like(last), last)


def step(
    rules: Rules,
    state: State,
    running: Running,
    x: Float[Array, "batch features"],
    y: Shaped[Array, " batch"],
) -> tuple[State, Running]:
    """Take a step on scaled rows ``x [batch, d]`` with labels ``y [batch]``.

    If the loss or a gradient is not finite, this step and all later ones are skipped.
    """
    network, rows = state.network, len(y)

    def mean_loss(params):
        out = nn.forward(rules.network, params, x, None, columns=rules.on_cpu)
        return jnp.mean(cross_entropy(margins(out.logits), y)), out.statistics

    (loss, batch), gradients = jax.value_and_grad(mean_loss, has_aux=True)(
        network.params
    )
    optimizer, _ = rules.optimizer(0.0, state.weight_decay)
    updates, moments = optimizer.update(gradients, state.optimizer, network.params)
    params = optax.apply_updates(network.params, updates)
    statistics = nn.update_running(rules.network, network.statistics, batch, rows)
    active = running.active & jnp.isfinite(loss) & _all_finite(gradients)
    new = Network(params, statistics), moments
    old = network, state.optimizer
    network, moments = jax.tree.map(lambda a, b: jnp.where(active, a, b), new, old)
    return state._replace(network=network, optimizer=moments), Running(
        active,
        running.step + active.astype(jnp.int32),
        running.rows + rows * active.astype(jnp.int32),
        jnp.where(active, running.loss + loss * rows, running.loss),
        jnp.where(active, loss, running.last_loss),
    )


def evaluate(
    rules: Rules,
    network: Network,
    x: Float[Array, "rows features"],
    y: Shaped[Array, " rows"],
) -> Scores:
    """Evaluate the network with its running statistics on scaled rows."""
    out = nn.forward(
        rules.network,
        network.params,
        x,
        network.statistics,
        with_saturation=True,
        columns=rules.on_cpu,
    )
    scores = margins(out.logits)
    if out.saturation is None:
        # Negative means "no interval": NaN would be an error under jax_debug_nans.
        saturation = jnp.full((), -len(y), scores.dtype)
    else:
        saturation = jnp.mean(out.saturation) * len(y)
    return Scores(scores, jnp.sum(cross_entropy(scores, y)), saturation)


def end(
    rules: Rules,
    state: State,
    running: Running,
    scores: Scores,
    labels: Shaped[Array, " rows"],
    *,
    epoch: Int[Array, ""],
) -> tuple[State, Metrics]:
    """End an epoch: update the learning rate, early stopping and the best network."""
    auc = metrics.auc(scores.margins, labels)
    completed = running.active
    learning_rate = optim.learning_rate(state.optimizer)
    _, plateau = rules.optimizer(0.0, 0.0)
    if rules.schedule == COSINE:
        change = rules.rate_factor(epoch + 1) / rules.rate_factor(epoch)
        following = learning_rate * change.astype(learning_rate.dtype)
        moments = optim.set_learning_rate(state.optimizer, following)
    else:
        moments = plateau.step(state.optimizer, auc)
    moments = jax.tree.map(
        lambda new, old: jnp.where(completed, new, old), moments, state.optimizer
    )
    improves = completed & (auc > state.stopping.best_auc)
    best = jax.tree.map(
        lambda new, old: jnp.where(improves, new, old), state.network, state.best
    )
    stopping = _stopping.after(
        state.stopping,
        auc,
        completed=completed,
        epoch=epoch,
        step=running.step,
        last_loss=running.last_loss,
        patience=rules.stop_patience,
        improvement=rules.stop_improvement,
    )
    state = state._replace(optimizer=moments, best=best, stopping=stopping)
    return state, Metrics(
        running.loss / running.rows.astype(running.loss.dtype),
        scores.loss / len(labels),
        auc,
        learning_rate,
        scores.saturation / len(labels),
        completed,
        stopping,
    )


def margins(logits: Float[Array, "batch 2"]) -> Float[Array, " batch"]:
    """Return the logit of signal minus that of background, in float32 or wider."""
    wide = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    return wide[:, 1] - wide[:, 0]


def cross_entropy(
    margins: Float[Array, " batch"], y: Shaped[Array, " batch"]
) -> Float[Array, " batch"]:
    """Compute ``-log softmax(logits)[y]`` of two logits from their difference, row by row.

    Equal to picking one of two log probabilities, whose gradient would be a scatter.
    """
    return jax.nn.softplus(jnp.where(y == 1, -margins, margins))


def total(parts: list[Float[Array, "*seeds"]]) -> Float[Array, "*seeds"]:
    """Sum from left to right."""
    return functools.reduce(jnp.add, parts)


def _all_finite(tree) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(tree)]))
