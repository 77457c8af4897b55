"""Runtime: seconds of a training, and what is known of memory.

The paper trained one seed at a time. Here all seeds of a cell train in one program, and
a seed that has stopped waits in it for the others. The seconds of a training are those
of its epochs divided by the number of seeds in the program; the table has their mean
over the seeds. Compilation is not in it. Seconds of two devices say little beside each
other, ratios to ReLU more.
"""

import dataclasses
import statistics
from collections.abc import Sequence

from experiments.report.groups import RELU, Group, degrees, shapes
from experiments.report.models import models
from experiments.sweep.grid import Cell
from experiments.sweep.results import CellResult

MEASURED = ("seconds", "epochs", "per_epoch", "memory")


@dataclasses.dataclass(frozen=True)
class Runtime:
    """Of a cell.

    Attributes:
      seconds: of a training, mean over the seeds.
      epochs: of a training, mean over the seeds.
      memory: bytes at the peak, if the cell says so.
    """

    seconds: float
    epochs: float
    memory: int | None = None

    @property
    def per_epoch(self) -> float:
        """Seconds of an epoch of one training."""
        return self.seconds / self.epochs


@dataclasses.dataclass(frozen=True)
class Row:
    """One architecture; None stands for what is not trained."""

    depth: int
    width: int
    relu: Runtime | None
    dbn: dict[int, Runtime | None]


def table(results: Sequence[CellResult], group: Group) -> list[Row]:
    """A row for each architecture of the paper, and for any other that was trained."""
    own = {
        result.cell: found
        for result in results
        if Group.of(result.cell) == group
        for found in [runtime(result)]
        if found is not None
    }
    cells = [*group.cells(), *own]

    def find(depth: int, width: int, activation: str) -> Runtime | None:
        return own.get(Cell(group.dataset, group.residual, depth, width, activation))

    return [
        Row(
            *shape,
            relu=find(*shape, RELU),
            dbn={n: find(*shape, f"bernstein:{n}") for n in degrees(cells)},
        )
        for shape in shapes(cells)
    ]


def runtime(result: CellResult) -> Runtime | None:
    """Of one cell; None if no seed completed an epoch."""
    trained = models([result])
    if not trained:
        return None
    return Runtime(
        seconds=statistics.fmean(model.seconds for model in trained),
        epochs=statistics.fmean(model.epochs for model in trained),
        memory=result.about.get("memory_bytes"),
    )
