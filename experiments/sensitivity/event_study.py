"""Train the same networks on more events: does the order of the degrees change?

With tens of thousands of events a low degree has the higher AUC; the paper, with millions,
finds the opposite. The events are simulated, so any number is available.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jaxbern as jb
from experiments.report import intervals
from experiments.report.grid_groups import Group
from experiments.report.trained_models import models
from experiments.sensitivity.sensitivity_study import DEFAULT, Setting
from experiments.sensitivity.sensitivity_training import train
from experiments.sweep import sweep_events
from experiments.sweep.grid import PUBLISHED_EVENTS, Cell
from experiments.sweep.presets import COLLIDER

GROUP = Group("higgs", True)
FEWEST_EPOCHS, MOST_EPOCHS = 10, 60
SEEN = 4_000_000  # events that a training sees, within these limits


@dataclasses.dataclass(frozen=True)
class EventStudy:
    """Which networks, on how many events.

    Attributes:
      sizes: numbers of events.
      shapes: depth and width of residual networks.
      activations: as a sweep names them.
      training: options of ``TrainConfig``; ``epochs`` follows the number of events.
      paper_shapes: networks that are trained on as many events as HIGGS has too, by the
        paper's rules.
      paper_epochs: their most epochs; None for as many as the paper allows.
    """

    sizes: tuple[int, ...] = (20_000, 80_000, 320_000, 1_300_000)
    shapes: tuple[tuple[int, int], ...] = ((5, 16), (15, 32))
    activations: tuple[str, ...] = (
        "relu",
        "bernstein:3",
        "bernstein:9",
        "bernstein:25",
    )
    training: tuple[tuple[str, Any], ...] = (("batch_size", 1000),)
    paper_shapes: tuple[tuple[int, int], ...] = ()
    paper_epochs: int | None = None

    def parts(self) -> list["Part"]:
        """Make a part for each number of events, the smallest first."""
        found = [
            Part(rows, self._cells(self.shapes), self._options(rows))
            for rows in sorted(self.sizes)
        ]
        if self.paper_shapes:
            whole = PUBLISHED_EVENTS[GROUP.dataset]
            limit = (
                () if self.paper_epochs is None else (("epochs", self.paper_epochs),)
            )
            found.append(Part(whole, self._cells(self.paper_shapes), limit))
        return found

    def _cells(self, shapes: Sequence[tuple[int, int]]) -> tuple[Cell, ...]:
        return tuple(
            Cell(GROUP.dataset, GROUP.residual, *shape, activation)
            for shape in shapes
            for activation in self.activations
        )

    def _options(self, rows: int) -> tuple[tuple[str, Any], ...]:
        epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, SEEN // rows))
        return (("epochs", epochs), *self.training)


QUICK = EventStudy(
    sizes=(300, 600),
    shapes=((2, 4),),
    activations=("relu", "bernstein:2"),
    training=(("batch_size", 100), ("seeds", (0, 1)), ("stop_patience", 1)),
)


@dataclasses.dataclass(frozen=True)
class Part:
    """The networks on one number of events."""

    rows: int
    networks: tuple[Cell, ...]
    options: tuple[tuple[str, Any], ...]

    @property
    def every_setting(self) -> tuple[Setting, ...]:
        """One: nothing but the number of events differs."""
        return (DEFAULT,)

    def cells(self, setting: Setting) -> list[Cell]:
        """Return the networks."""
        return list(self.networks)

    def config(self, setting: Setting, cell: Cell) -> jb.train.TrainConfig:
        """Return the configuration of one training."""
        return jb.train.TrainConfig(cell.network, **dict(self.options))


@dataclasses.dataclass(frozen=True)
class Trained:
    """A network on a number of events, over its seeds, with the AUC of each."""

    rows: int
    row: intervals.Row
    aucs: Mapping[int, float]

    @property
    def cell(self) -> Cell:
        """The network."""
        return self.row.cell


def run(
    study: EventStudy, out: Path, done: Callable[[str], None] = lambda what: None
) -> list[Trained]:
    """Train what is not trained yet, in a store for each number of events."""
    found = []
    for part in study.parts():
        given = sweep_events.load(GROUP.dataset, COLLIDER, part.rows)
        results = train(part, given, out / str(part.rows), done)[DEFAULT.name]
        seeds = models(results)
        found += [
            Trained(
                part.rows,
                row,
                {model.seed: model.auc for model in seeds if model.cell == row.cell},
            )
            for row in intervals.table(seeds, GROUP)
            if row.cell in part.networks
        ]
    return found
