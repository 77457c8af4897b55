"""Spread over seeds: means with 95% confidence intervals, and differences to ReLU.

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

from experiments.core.tables import (
    Column,
    Fields,
    Table,
    build,
    shape_name,
    shape_order,
)
from experiments.report.grid_groups import (
    RELU,
    Group,
    activation_name,
    activation_order,
)
from experiments.report.trained_models import Model, within
from experiments.sweep.grid import Cell

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean and half the width of its confidence interval, NaN for a single number."""

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
    """Compute the confidence interval of the mean of at least one number.

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
    """Make a row for each trained cell of the group."""
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


def view(group: Group, rows: Sequence[Row]) -> Table:
    """Make the table of every cell of one group over its seeds."""
    columns = [
        Column(
            "Architecture", "shape", lambda row: shape_name(row.cell),
            curves=lambda row: (row.cell.name,),
        ),
        Column("Activation", "activation_order",
               lambda row: activation_name(row.cell.activation)),
        Column("Parameters", "parameters", lambda row: f"{row.parameters:,}"),
        Column("Seeds", "seeds", lambda row: str(row.auc.count)),
        Column("AUC", "auc", lambda row: _interval(row.auc)),
        Column("Loss", "loss", lambda row: _interval(row.loss)),
        Column("Epochs", "epochs", lambda row: f"{row.epochs:g}"),
        Column(
            "AUC − ReLU’s", "auc_difference",
            lambda row: _interval(row.auc_difference, "+"),
            strong=lambda row: row.auc_difference.sign != 0,
        ),
        Column(
            "Loss − ReLU’s", "loss_difference",
            lambda row: _interval(row.loss_difference, "+"),
            strong=lambda row: row.loss_difference.sign != 0,
        ),
    ]  # fmt: skip
    return build(
        columns,
        _INTERVALS,
        rows,
        key=lambda row: row.cell,
        name=f"seeds-{group.name}",
        title=f"Over the seeds: {group.title}",
        caption=(
            "Means over the seeds with 95% confidence intervals (Student's t), and "
            "differences to ReLU of the same architecture, taken seed by seed. Bold: "
            "the interval does not hold zero. The paper gives no such numbers."
        ),
        group=group,
    )


def _of(name: str, part: str):
    def field(row: Row):
        found = getattr(row, name)
        return None if found is None else getattr(found, part)

    return field


_INTERVALS: Fields = {
    "depth": lambda row: row.cell.depth,
    "width": lambda row: row.cell.width,
    "shape": lambda row: shape_order(row.cell),
    "activation": lambda row: row.cell.activation,
    "activation_order": lambda row: sum(activation_order(row.cell.activation)),
    "parameters": lambda row: row.parameters,
    "seeds": lambda row: row.auc.count,
    "epochs": lambda row: row.epochs,
    **{
        name + suffix: _of(name, part)
        for name in ("auc", "loss", "auc_difference", "loss_difference")
        for suffix, part in (("", "mean"), ("_half_interval", "half"))
    },
}


def _interval(found: Interval, sign: str = "") -> str:
    half = f" ± {found.half:.4f}" if found.half == found.half else ""
    return f"{found.mean:{sign}.4f}{half}"
