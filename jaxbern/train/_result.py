"""The result of a training: histories, why each seed stopped, trained networks."""

import dataclasses
import math
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxbern.data import Split
from jaxbern.nn import MLP, NetworkConfig
from jaxbern.train import _stopping
from jaxbern.train._config import TrainConfig
from jaxbern.train._learner import Metrics, Network, State
from jaxbern.train._stopping import Stopping

Record = dict[str, Any]  # one seed in one epoch
MEASURED = ("train_loss", "validation_loss", "auc", "learning_rate", "saturation")
COLUMNS = (*MEASURED, "seconds")


@dataclasses.dataclass
class History:
    """The measurements of all epochs so far, as plain numbers that JSON can represent."""

    columns: dict[int, dict[str, list[float]]]

    @classmethod
    def empty(cls, seeds: tuple[int, ...]) -> "History":
        """Start an empty history."""
        return cls({seed: {name: [] for name in COLUMNS} for seed in seeds})

    def append(self, metrics: Metrics, seconds: float) -> list[Record]:
        """Append an epoch of every seed that completed it; return the new records."""
        added = []
        for k, (seed, columns) in enumerate(self.columns.items()):
            if not metrics.completed[k]:
                continue
            numbers = {name: float(getattr(metrics, name)[k]) for name in MEASURED}
            if numbers["saturation"] < 0:  # this activation has no interval
                numbers["saturation"] = math.nan
            numbers["seconds"] = seconds
            added.append({"seed": seed, "epoch": len(columns["auc"]), **numbers})
            for name, number in numbers.items():
                columns[name].append(number)
        return added

    def records(self) -> list[Record]:
        """Return all records in the order they were appended."""
        found = [
            {"seed": seed, "epoch": epoch, **dict(zip(columns, numbers, strict=True))}
            for seed, columns in self.columns.items()
            for epoch, numbers in enumerate(zip(*columns.values(), strict=True))
        ]
        # Stable: seeds keep order.
        return sorted(found, key=lambda record: record["epoch"])

    def arrays(self) -> dict[int, dict[str, np.ndarray]]:
        """Return each column of each seed as an array over the epochs that it trained."""
        return {
            seed: {name: np.array(numbers) for name, numbers in columns.items()}
            for seed, columns in self.columns.items()
        }

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """Convert for ``json``, whose keys are strings.

        Returns copies, because a checkpoint is written while the next epoch is appended.
        """
        return {
            str(seed): {name: list(numbers) for name, numbers in columns.items()}
            for seed, columns in self.columns.items()
        }

    @classmethod
    def from_json(cls, columns: dict[str, dict[str, list[float]]]) -> "History":
        """Build a history from the result of :meth:`to_json`."""
        return cls({int(seed): of_seed for seed, of_seed in columns.items()})


class Training(NamedTuple):
    """The state of all seeds after some epochs."""

    epochs: int
    state: State
    history: History


@dataclasses.dataclass(frozen=True)
class Stop:
    """Why and when a seed stopped.

    Attributes:
      reason: ``"finished"`` (all epochs), ``"early"`` (no improvement), or ``"nonfinite"``
        (the loss or a gradient was not finite: the network is the one before that step).
      epoch: its last epoch, counted from 0.
      step: the step of that epoch, counted from 0, whose loss or gradient was not finite.
      last_loss: the last finite loss of a batch.
    """

    reason: Literal["finished", "early", "nonfinite"]
    epoch: int
    step: int | None
    last_loss: float

    def __str__(self) -> str:
        if self.reason == "finished":
            return f"finished after {self.epoch + 1} epochs"
        if self.reason == "early":
            return f"stopped early after {self.epoch + 1} epochs"
        return (
            f"loss or gradient not finite in epoch {self.epoch}, step {self.step}; "
            f"the last finite loss was {self.last_loss:.6g}"
        )


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """The result of a training.

    Attributes:
      config: the options of the training.
      split: the rows and feature ranges of each seed; ``split[k].scale(rows)`` gives the
        inputs for the network of the k-th seed.
      history: ``history[seed][name]`` is an array with one number per completed epoch of
        the seed. Names: ``train_loss`` (mean over the epoch, while it was
        learning), ``validation_loss``, ``auc``, ``learning_rate``, ``saturation`` (the
        fraction of activations' inputs outside the interval, in validation; NaN if
        there is no interval), ``seconds`` (of the epoch, for all seeds together).
      stops: ``stops[seed]`` says why and when it stopped.
      best_epoch: ``best_epoch[seed]`` is that of the highest AUC; -1 without any.
    """

    config: TrainConfig
    split: Split
    history: dict[int, dict[str, np.ndarray]]
    stops: dict[int, Stop]
    best_epoch: dict[int, int]
    best: Network  # of all seeds, with a leading axis
    final: Network

    def model(self, seed: int, which: Literal["best", "final"] = "best") -> MLP:
        """Return the network of a seed, in evaluation mode.

        ``"best"`` is that of the highest validation AUC, ``"final"`` that of the last step.
        """
        if seed not in self.config.seeds:
            raise KeyError(f"seed must be one of {self.config.seeds}, got {seed!r}")
        if which not in ("best", "final"):
            raise ValueError(f"which must be 'best' or 'final', got {which!r}")
        place = self.config.seeds.index(seed)
        stacked = self.best if which == "best" else self.final
        network = jax.tree.map(lambda a: jnp.array(a[place]), stacked)
        return _model(self.config.network, network)

    def summary(self) -> dict[str, Any]:
        """Summarise each seed for JSON: its best epoch and how it ended."""
        return {
            str(seed): {
                "best_auc": self._best_auc(seed),
                "best_epoch": self.best_epoch[seed],
                "epochs": len(self.history[seed]["auc"]),
                "stop": dataclasses.asdict(self.stops[seed]),
            }
            for seed in self.config.seeds
        }

    def _best_auc(self, seed: int) -> float | None:
        epoch = self.best_epoch[seed]
        return None if epoch < 0 else float(self.history[seed]["auc"][epoch])

    def __repr__(self) -> str:
        lines = [
            f"seed {seed}: AUC {best if best is None else format(best, '.4f')} in epoch "
            f"{self.best_epoch[seed]}; {self.stops[seed]}"
            for seed in self.config.seeds
            for best in [self._best_auc(seed)]
        ]
        return "\n".join(lines)


def _model(config: NetworkConfig, network: Network) -> MLP:
    # Shapes only: drawing parameters that are then replaced would need a compilation.
    model = nnx.eval_shape(lambda: MLP.from_config(config, rngs=nnx.Rngs(0)))
    params, (mean, var) = network
    for name in ("first", "hidden", "last"):
        part = getattr(model, name)
        part.kernel.set_value(params[name]["kernel"])
        part.bias.set_value(params[name]["bias"])
    if model.coeffs is not None:
        model.coeffs.set_value(params["coeffs"])
    model.mean.set_value(mean)
    model.var.set_value(var)
    model.eval()
    return model


def stops(config: TrainConfig, stopping: Stopping) -> dict[int, Stop]:
    """Say for each seed why it stopped, after the last epoch."""
    names: dict[int, Literal["finished", "early", "nonfinite"]] = {
        _stopping.RUNNING: "finished",
        _stopping.EARLY: "early",
        _stopping.NONFINITE: "nonfinite",
    }
    found = {}
    for k, seed in enumerate(config.seeds):
        reason, epoch, step, last_loss = (leaf[k].item() for leaf in stopping[:4])
        found[seed] = Stop(
            names[reason],
            config.epochs - 1 if reason == _stopping.RUNNING else epoch,
            step if reason == _stopping.NONFINITE else None,
            last_loss if last_loss >= 0 else math.nan,
        )
    return found
