"""Train every network with its own best learning rate.

Events are divided once: the last fifth is the test set, which no choice sees. On the rest
each network is trained with every learning rate; a seed holds out a fifth of these rows to
validate on. The rate of a network is the one of the highest mean validation AUC; what is
compared are the test AUCs of the networks that validation kept.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxbern as jb
from experiments.report.trained_models import Model, models
from experiments.sensitivity.sensitivity_study import Setting
from experiments.sensitivity.sensitivity_training import store, train
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events

PAPERS_RATE = 1e-3
TEST_SHARE = 0.2


def rate(learning_rate: float) -> Setting:
    """Make the setting of a learning rate.

    >>> rate(0.003).name
    'rate-0.003'
    """
    training = {"learning_rate": learning_rate}
    return Setting("rate", f"{learning_rate:g}", training=training)


@dataclasses.dataclass(frozen=True)
class RateStudy:
    """Which networks, with which learning rates.

    Attributes:
      depths: of residual networks.
      width: their width.
      activations: as a sweep names them.
      rates: the learning rates to choose from; the paper's must be among them.
      rows: maximum number of events, including test rows.
      training: options of ``TrainConfig`` for all of them.
    """

    depths: tuple[int, ...] = (5, 15, 50, 150)
    width: int = 16
    activations: tuple[str, ...] = ("relu", "gelu", "bernstein:3", "bernstein:9")
    rates: tuple[float, ...] = (3e-4, PAPERS_RATE, 3e-3, 1e-2, 3e-2, 1e-1)
    rows: int | None = None
    training: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {"epochs": 20, "batch_size": 1024}
    )

    def __post_init__(self):
        """Raise ValueError unless the paper's rate is included, for comparison."""
        if PAPERS_RATE not in self.rates:
            raise ValueError(
                f"rates must contain the paper's, {PAPERS_RATE}, got {self.rates}"
            )

    @property
    def every_setting(self) -> tuple[Setting, ...]:
        """The paper's rate first."""
        first = sorted(self.rates, key=lambda value: value != PAPERS_RATE)
        return tuple(map(rate, first))

    def cells(self, setting: Setting) -> list[Cell]:
        """Return the networks, the same for every rate."""
        return [
            Cell("higgs", True, depth, self.width, activation)
            for depth in self.depths
            for activation in self.activations
        ]

    def config(self, setting: Setting, cell: Cell) -> jb.train.TrainConfig:
        """Return the configuration of one training."""
        return jb.train.TrainConfig(cell.network, **self.training, **setting.training)


QUICK = RateStudy(
    depths=(2, 3),
    width=4,
    activations=("relu", "bernstein:2"),
    rates=(PAPERS_RATE, 1e-2),
    rows=700,
    training={"epochs": 2, "batch_size": 100, "seeds": (0, 1)},
)


@dataclasses.dataclass(frozen=True)
class Tuned:
    """One network at one learning rate.

    Attributes:
      result: its trainings.
      learning_rate: the rate.
      validation: the highest validation AUC of each seed.
      test: the test AUC of the network that validation kept, of each seed.
    """

    result: CellResult
    learning_rate: float
    validation: dict[int, float]
    test: dict[int, float]

    @property
    def cell(self) -> Cell:
        """The network."""
        return self.result.cell

    def scored(self) -> list[Model]:
        """Return its seeds as models whose AUC is that of the test rows."""
        return [
            dataclasses.replace(model, auc=self.test[model.seed])
            for model in models([self.result])
            if model.seed in self.test
        ]


def run(
    study: RateStudy,
    given: Events,
    out: Path,
    done: Callable[[str], None] = lambda what: None,
) -> list[Tuned]:
    """Train what is not trained yet; every network at every rate, scored on test rows."""
    development, test = divided(given)
    results = train(study, development, out, done)
    found = []
    for setting in study.every_setting:
        for result in results[setting.name]:
            folder = store(out, setting) / "cells" / result.cell.name
            found.append(
                Tuned(
                    result,
                    setting.training["learning_rate"],
                    _validation(result),
                    _test_auc(result, folder, development.data, test),
                )
            )
    return found


def divided(given: Events) -> tuple[Events, jb.data.Dataset]:
    """Divide events into rows to train and choose on, and the last fifth to score on."""
    data, keep = given.data, int(len(given.data) * (1 - TEST_SHARE))

    def part(name: str, rows: slice) -> jb.data.Dataset:
        x, y = np.asarray(data.x[rows]), np.asarray(data.y[rows])
        return jb.data.Dataset.from_arrays(name, x, y, data.columns)

    kept = part(data.name, slice(None, keep))
    return Events(given.source, kept), part(f"{data.name} test", slice(keep, None))


def _validation(result: CellResult) -> dict[int, float]:
    return {model.seed: model.auc for model in models([result])}


def _test_auc(
    result: CellResult,
    folder: Path,
    development: jb.data.Dataset,
    test: jb.data.Dataset,
) -> dict[int, float]:
    config = result.about["config"]
    seeds = config["seeds"]
    splits = jb.data.split(development, seeds, test_fraction=config["test_fraction"])
    found = {}
    for place, seed in enumerate(seeds):
        path = folder / f"best-{seed}.npz"
        if path.exists():  # not if the first epoch diverged
            model = jb.MLP.load(path)
            model.eval()
            logits = model(splits[place].scale(jnp.asarray(test.x)))
            margins = logits[:, 1] - logits[:, 0]
            found[seed] = float(jb.metrics.auc(margins, jnp.asarray(test.y)))
    return found


def chosen(tuned: Sequence[Tuned]) -> dict[Cell, Tuned]:
    """Choose the rate of the highest mean validation AUC for each network.

    A rate at which a seed diverged in its first epoch loses to one at which all seeds trained.
    """
    best: dict[Cell, Tuned] = {}
    for each in tuned:
        if each.test and (
            each.cell not in best or _score(each) > _score(best[each.cell])
        ):
            best[each.cell] = each
    return best


def at_papers_rate(tuned: Sequence[Tuned]) -> dict[Cell, Tuned]:
    """Return each network as the paper trains it."""
    return {
        each.cell: each
        for each in tuned
        if each.learning_rate == PAPERS_RATE and each.test
    }


def _score(each: Tuned) -> tuple[int, float]:
    return len(each.test), float(np.mean(list(each.validation.values())))
