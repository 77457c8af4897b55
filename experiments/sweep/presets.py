"""Named sweeps: their cells, events and training options."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from experiments.sweep import grid
from experiments.sweep.grid import ACTIVATIONS, FEATURES, RESIDUAL_DEPTHS, Cell

COLLIDER, PUBLISHED = "collider", "published"


@dataclasses.dataclass(frozen=True)
class Preset:
    """A named sweep.

    Attributes:
      about: one-line description.
      cells: function that returns the cells.
      source: source of the events, see :func:`experiments.sweep.sweep_events.load`.
      rows: number of events; None for all.
      training: options of :class:`jb.train.TrainConfig` except the network.
      jobs: cells trained at a time on CPUs, each in a process of its own.
      in_order: train the cells in the order of the list, not cheap architectures first.
    """

    about: str
    cells: Callable[[], list[Cell]]
    source: str
    rows: int | None
    training: Mapping[str, Any]
    jobs: int
    in_order: bool = False


Shape = tuple[bool, int, int]  # residual, depth, width


def _cells(
    shapes: Iterable[Shape], activations: Iterable[str] = ACTIVATIONS
) -> list[Cell]:
    return [
        Cell(dataset, *shape, activation)
        for dataset, shape, activation in itertools.product(
            FEATURES, shapes, activations
        )
    ]


def _demo() -> list[Cell]:
    depths = [(True, depth, 16) for depth in (5, 15, 50, 150)]
    cells = [
        *_cells(depths, ("relu", "bernstein:3")),
        *_cells([(True, 5, 16)], ("gelu", "bernstein:9", "bernstein:25")),
        *_cells([(False, 5, 16)], ("relu", "bernstein:3")),
    ]
    return list(dict.fromkeys(cells))


def _small() -> list[Cell]:
    shapes = [(True, depth, 16) for depth in RESIDUAL_DEPTHS]
    return _cells(shapes, ("relu", "gelu", "bernstein:3", "bernstein:9"))


def _half() -> list[Cell]:
    return [cell for cell in grid.paper() if cell.width in (16, 32)]


PRESETS = {
    "demo": Preset(
        "ReLU against n=3 from 5 to 150 layers, then other degrees and networks without "
        "skips, on simulated events; minutes on 2 cores",
        _demo,
        COLLIDER,
        rows=20_000,
        # 16 whole batches: a last one of another size would be a program of its own.
        training={"epochs": 12, "batch_size": 1000, "learning_rate": 3e-3},
        jobs=2,
        in_order=True,
    ),
    "small": Preset(
        "all five depths at width 16, 40 cells, on HIGGS and SUSY rows that are at hand; "
        "10 to 20 minutes on 2 cores",
        _small,
        PUBLISHED,
        rows=None,
        training={"epochs": 25, "batch_size": 1024},
        jobs=2,
    ),
    "half": Preset(
        "widths 16 and 32 of the grid, 224 cells, on HIGGS and SUSY rows that are at "
        "hand; one to three hours on 2 cores",
        _half,
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
