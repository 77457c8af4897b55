"""Convergence: when a DBN's training loss falls below the final one of ReLU.

The rules are the paper's, which does not define the median after one of the seeds has
stopped. Here **a seed that has stopped keeps its last loss**, as its network no longer
changes. The median curve then has an entry for every epoch of the longest seed and ends at
the median of the seeds' final losses. Without stopped seeds it would jump whenever one stops.

Epochs are counted from 1. Total epochs are the median over the seeds.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from experiments.core.tables import Column, Fields, Table, build, shape_order
from experiments.report.grid_groups import (
    RELU,
    Group,
    cell_name,
    degrees,
    shape_column,
    shapes,
)
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import DEGREES, Cell

NEVER = "--"


@dataclasses.dataclass(frozen=True)
class Against:
    """A DBN of one degree against ReLU of the same architecture.

    Attributes:
      crossover: the first epoch, from 1, whose median loss is below ReLU's final one;
        None if there is none.
      epochs: median over the seeds.
      change: of the final median loss from ReLU's to the DBN's, in percent of ReLU's.
    """

    crossover: int | None
    epochs: float
    change: float


@dataclasses.dataclass(frozen=True)
class Row:
    """One architecture.

    Attributes:
      depth, width: of ReLU and of the DBNs.
      relu_epochs: median over the seeds; None if ReLU is not trained.
      against: for each degree; None where either is not trained.
    """

    depth: int
    width: int
    relu_epochs: float | None
    against: dict[int, Against | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """Training loss over the epochs, a number for each epoch of the longest seed."""

    median: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    epochs: float

    @property
    def final(self) -> float:
        """The median of the seeds' last losses."""
        return float(self.median[-1])


def curve(result: CellResult) -> Curve | None:
    """Compute the loss curve of the seeds that completed an epoch; None if none did."""
    losses = [np.asarray(of["train_loss"], float) for of in result.history.values()]
    losses = [loss for loss in losses if loss.size]
    if not losses:
        return None
    longest = max(map(len, losses))
    held = np.stack([np.pad(x, (0, longest - len(x)), mode="edge") for x in losses])
    return Curve(
        median=np.median(held, axis=0),
        lowest=held.min(axis=0),
        highest=held.max(axis=0),
        epochs=float(np.median([len(loss) for loss in losses])),
    )


def curves(results: Iterable[CellResult]) -> dict[Cell, Curve]:
    """Compute the loss curve of every cell that has one."""
    found = {result.cell: curve(result) for result in results}
    return {cell: own for cell, own in found.items() if own is not None}


def table(results: Sequence[CellResult], group: Group) -> list[Row]:
    """Make a row for each architecture of the paper, and for any other that was trained."""
    own = curves(result for result in results if Group.of(result.cell) == group)
    cells = [*group.cells(), *own]
    return [_row(group, *shape, own, degrees(cells)) for shape in shapes(cells)]


def _row(
    group: Group, depth: int, width: int, own: dict[Cell, Curve], wanted: Sequence[int]
) -> Row:
    def find(activation: str) -> Curve | None:
        return own.get(Cell(group.dataset, group.residual, depth, width, activation))

    relu = find(RELU)
    return Row(
        depth=depth,
        width=width,
        relu_epochs=None if relu is None else relu.epochs,
        against={
            degree: against(relu, find(f"bernstein:{degree}")) for degree in wanted
        },
    )


def against(relu: Curve | None, dbn: Curve | None) -> Against | None:
    """Compare two curves; return None if one is missing."""
    if relu is None or dbn is None:
        return None
    below = np.flatnonzero(dbn.median < relu.final)
    return Against(
        crossover=int(below[0]) + 1 if below.size else None,
        epochs=dbn.epochs,
        change=100 * (dbn.final - relu.final) / relu.final,
    )


def view(group: Group, rows: Sequence[Row], paper: Sequence[Row]) -> Table:
    """Make the table of crossovers of one group."""

    def pair(row: Row, degree: int) -> tuple[str, ...]:
        return cell_name(group, row, RELU), cell_name(group, row, f"bernstein:{degree}")

    columns = [
        shape_column(group),
        Column("ReLU epochs", "relu_epochs", lambda row: f"{row.relu_epochs:g}"),
        *(
            Column(
                f"n={n}", f"n{n}_loss_change_percent",
                lambda row, n=n: _crossover(row.against[n]),
                curves=lambda row, n=n: pair(row, n),
                strong=lambda row, n=n: row.against[n].change < 0,
            )
            for n in DEGREES
        ),
    ]  # fmt: skip
    return build(
        columns,
        _CONVERGENCE,
        rows,
        paper=paper,
        trained=lambda row: row.relu_epochs is not None,
        name=f"convergence-{group.name}",
        title=f"Convergence: {group.title}",
        caption=(
            "Each DBN: the epoch whose median training loss first falls below ReLU's "
            f"final one ({NEVER} if none does) / its epochs, and by how much its final "
            "median loss differs from ReLU's, which is what sorting goes by. A seed "
            "that has stopped keeps its last loss."
        ),
        group=group,
    )


def _against(degree: int, name: str):
    def field(row: Row):
        found = row.against.get(degree)
        return None if found is None else getattr(found, name)

    return field


_CONVERGENCE: Fields = {
    "depth": lambda row: row.depth,
    "width": lambda row: row.width,
    "shape": shape_order,
    "relu_epochs": lambda row: row.relu_epochs,
    **{
        f"n{n}_{title}": _against(n, name)
        for n in DEGREES
        for title, name in (
            ("crossover_epoch", "crossover"),
            ("epochs", "epochs"),
            ("loss_change_percent", "change"),
        )
    },
}


def _crossover(against: Against) -> str:
    """Print a crossover as the paper does."""
    epoch = NEVER if against.crossover is None else str(against.crossover)
    arrow = "↓" if against.change < 0 else "↑"
    return f"{epoch}/{against.epochs:g} ({arrow}{abs(against.change):.1f}%)"
