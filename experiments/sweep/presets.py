"""Sweeps that have a name: which cells, on which events, by which rules."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from experiments.sweep import grid
from experiments.sweep.grid import ACTIVATIONS, FEATURES, Cell

COLLIDER, PUBLISHED = "collider", "published"


@dataclasses.dataclass(frozen=True)
class Preset:
    """A sweep.

    Attributes:
      about: in a line.
      cells: makes the list of them.
      source: where events come from, see :func:`experiments.sweep.sweep_events.load`.
      rows: how many; all that there are, if None.
      training: options of :class:`jb.train.TrainConfig`, but for the network.
      jobs: cells at a time in one process, if it computes on the processor.
    """

    about: str
    cells: Callable[[], list[Cell]]
    source: str
    rows: int | None
    training: Mapping[str, Any]
    jobs: int


def _cells(*shapes: tuple[bool, int, int]) -> list[Cell]:
    return [
        Cell(dataset, *shape, activation)
        for dataset, shape, activation in itertools.product(
            FEATURES, shapes, ACTIVATIONS
        )
    ]


def _demo() -> list[Cell]:
    return _cells((True, 5, 16), (True, 5, 32), (False, 5, 16))


def _small() -> list[Cell]:
    return _cells(*itertools.product((True,), (5, 15), (16, 32)))


PRESETS = {
    "demo": Preset(
        "every kind of cell in minutes on 2 cores, on simulated events",
        _demo,
        COLLIDER,
        rows=20_000,
        # 16 whole batches: a last one of another size would be a program of its own.
        training={"epochs": 12, "batch_size": 1000, "learning_rate": 3e-3},
        jobs=2,
    ),
    "small": Preset(
        "64 cells in about an hour on 2 cores, on HIGGS and SUSY rows that are at hand",
        _small,
        PUBLISHED,
        rows=None,
        training={"epochs": 25, "batch_size": 1024},
        jobs=2,
    ),
    "paper": Preset(
        "the whole grid by the paper's rules, on all of HIGGS and SUSY",
        grid.paper,
        PUBLISHED,
        rows=None,
        training={},
        jobs=1,
    ),
}
