"""How much seeds differ: means with 95% confidence intervals, and differences to ReLU.

Intervals are Student's t over the seeds: with three of them, 4.30 standard errors to each
side. A seed decides split, initial parameters and order of the rows, alike for every
network; so differences to ReLU are taken seed by seed, which leaves out what the
splits have in common.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from experiments.report.grid_groups import RELU, Group, activation_order
from experiments.report.trained_models import Model, within
from experiments.sweep.grid import Cell

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean and half the width of its confidence interval; NaN of a single number."""

    mean: float
    half: float
    count: int

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval is on that side of zero, else 0."""
        if not self.half < abs(self.mean):
            return 0
        return int(math.copysign(1, self.mean))


@dataclasses.dataclass(frozen=True)
class Row:
    """A cell over its seeds; differences are to ReLU of the same architecture."""

    cell: Cell
    parameters: int
    auc: Interval
    loss: Interval
    epochs: float
    auc_difference: Interval | None
    loss_difference: Interval | None


def interval(values: Iterable[float]) -> Interval:
    """Of at least one number.

    >>> found = interval([1.0, 2.0, 3.0])
    >>> found.mean, round(found.half, 3), found.count
    (2.0, 2.484, 3)
    """
    numbers = np.asarray(list(values), float)
    count = len(numbers)
    if count < 2:
        return Interval(float(numbers.mean()), math.nan, count)
    error = numbers.std(ddof=1) / math.sqrt(count)
    quantile = special.stdtrit(count - 1, (1 + LEVEL) / 2)
    return Interval(float(numbers.mean()), float(quantile * error), count)


def table(models: Sequence[Model], group: Group) -> list[Row]:
    """A row for each cell of the group that was trained."""
    by_cell: dict[Cell, dict[int, Model]] = {}
    for model in within(models, group):
        by_cell.setdefault(model.cell, {})[model.seed] = model
    cells = sorted(
        by_cell,
        key=lambda c: (c.depth, c.width, activation_order(c.activation)),
    )
    return [_row(cell, by_cell) for cell in cells]


def _row(cell: Cell, by_cell: dict[Cell, dict[int, Model]]) -> Row:
    own = by_cell[cell]
    relu = by_cell.get(dataclasses.replace(cell, activation=RELU), {})
    seeds = sorted(own.keys() & relu.keys()) if cell.activation != RELU else []

    def difference(name: str) -> Interval | None:
        pairs = [(getattr(own[s], name), getattr(relu[s], name)) for s in seeds]
        return interval(a - b for a, b in pairs) if pairs else None

    first = next(iter(own.values()))
    return Row(
        cell=cell,
        parameters=first.parameters,
        auc=interval(model.auc for model in own.values()),
        loss=interval(model.loss for model in own.values()),
        epochs=float(np.median([model.epochs for model in own.values()])),
        auc_difference=difference("auc"),
        loss_difference=difference("loss"),
    )
