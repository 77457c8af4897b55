"""The four groups of the grid that the paper tabulates, and the metrics it compares."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from experiments.core.tables import Column, shape_name
from experiments.sweep.grid import DEGREES, FEATURES, FIXED, Cell, paper

RELU = "relu"
NAMES = {
    "relu": "ReLU",
    "leaky_relu": "Leaky ReLU",
    "selu": "SELU",
    "gelu": "GeLU",
    **{f"bernstein:{degree}": f"DBN n={degree}" for degree in DEGREES},
}


@dataclasses.dataclass(frozen=True, order=True)
class Group:
    """Networks of one data set, all with skips or all without: the rows of one table.

    >>> Group("higgs", True).name, Group("susy", False).title
    ('higgs-residual', 'SUSY, plain')
    """

    dataset: str
    residual: bool

    @classmethod
    def of(cls, cell: Cell) -> "Group":
        """Return the group of a cell."""
        return cls(cell.dataset, cell.residual)

    @property
    def kind(self) -> str:
        """``"residual"`` or ``"plain"``."""
        return "residual" if self.residual else "plain"

    @property
    def name(self) -> str:
        """Name for files and anchors."""
        return f"{self.dataset}-{self.kind}"

    @property
    def title(self) -> str:
        """Display title."""
        return f"{self.dataset.upper()}, {self.kind}"

    def cells(self) -> list[Cell]:
        """Return its cells in the paper's grid."""
        return [cell for cell in paper() if Group.of(cell) == self]


GROUPS = [
    Group(dataset, residual) for dataset in FEATURES for residual in (True, False)
]


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by which models are compared.

    >>> METRICS["auc"].better(0.9, 0.8), METRICS["loss"].better(0.9, 0.8)
    (True, False)
    """

    name: str
    title: str
    higher: bool

    def better(self, value: float, than: float) -> bool:
        """Return whether one value is strictly better; False if either is NaN."""
        return value > than if self.higher else value < than

    def best(self, values: Iterable[float]) -> float:
        """Return the highest or the lowest value."""
        return max(values) if self.higher else min(values)


METRICS = {
    "auc": Metric("auc", "validation AUC", higher=True),
    "loss": Metric("loss", "training loss", higher=False),
}


def shapes(cells: Iterable[Cell]) -> list[tuple[int, int]]:
    """Return the architectures (depth, width) of cells, in the paper's order."""
    return sorted({(cell.depth, cell.width) for cell in cells})


def degrees(cells: Iterable[Cell]) -> list[int]:
    """Return the paper's degrees and any other of the cells."""
    found = {cell.degree for cell in cells if cell.degree is not None}
    return sorted(found.union(DEGREES))


def activation_name(activation: str) -> str:
    """Name an activation for readers.

    >>> activation_name("bernstein:9"), activation_name("gelu")
    ('DBN n=9', 'GeLU')
    """
    return NAMES.get(activation, activation.replace("bernstein:", "DBN n="))


def activation_order(activation: str) -> tuple[int, int]:
    """Return a sort key for the paper's order: the fixed ones, then by degree."""
    if activation in FIXED:
        return FIXED.index(activation), 0
    return len(FIXED), int(activation.partition(":")[2])


def shape_column(group: Group) -> Column:
    """Make the column of architectures, which links to the loss curves of their networks."""
    activations = (RELU, *(f"bernstein:{n}" for n in DEGREES))
    return Column(
        "Architecture",
        "shape",
        shape_name,
        beside=False,
        curves=lambda row: tuple(cell_name(group, row, name) for name in activations),
    )


def cell_name(group: Group, row: Any, activation: str) -> str:
    """Return the name of the cell of a row's architecture with an activation."""
    return Cell(group.dataset, group.residual, row.depth, row.width, activation).name
