"""Runtime: seconds of a training, and memory where it is known.

The paper trained one seed at a time. Here all seeds of a cell train in one program, and
a seed that has stopped waits in it for the others. The seconds of a training are those
of its epochs divided by the number of seeds in the program; the table has their mean
over the seeds. Compilation is not in it. Seconds of two devices say little beside each
other, ratios to ReLU more.

Memory is not measured while cells train; ``python -m experiments plan --card`` compiles
them for a GPU and writes what they take there, all seeds together.
"""

import csv
import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.report.grid_groups import RELU, Group, degrees, shapes
from experiments.report.trained_models import models
from experiments.sweep.cell_results import CellResult
from experiments.sweep.grid import Cell

MEASURED = ("seconds", "epochs", "per_epoch")


@dataclasses.dataclass(frozen=True)
class Runtime:
    """Of a cell.

    Attributes:
      seconds: of a training, mean over the seeds.
      epochs: of a training, mean over the seeds.
    """

    seconds: float
    epochs: float

    @property
    def per_epoch(self) -> float:
        """Seconds of an epoch of one training."""
        return self.seconds / self.epochs


@dataclasses.dataclass(frozen=True)
class Row:
    """One architecture.

    Attributes:
      depth, width: of it.
      relu: None if it is not trained.
      dbn: for each degree; None if it is not trained.
      memory: bytes for each activation, where that is known.
    """

    depth: int
    width: int
    relu: Runtime | None
    dbn: dict[int, Runtime | None]
    memory: Mapping[str, int] = dataclasses.field(default_factory=dict)


def table(
    results: Sequence[CellResult], group: Group, memory: Mapping[str, int] | None = None
) -> list[Row]:
    """A row for each architecture of the paper, and for any other that was trained.

    Args:
      results: completed cells.
      group: which of them.
      memory: bytes for names of cells, trained or not, see :func:`read_memory`.
    """
    own = {
        result.cell: found
        for result in results
        if Group.of(result.cell) == group
        for found in [runtime(result)]
        if found is not None
    }
    cells = [*group.cells(), *own]

    wanted = {n: f"bernstein:{n}" for n in degrees(cells)}
    rows = []
    for shape in shapes(cells):
        same = {
            activation: Cell(group.dataset, group.residual, *shape, activation)
            for activation in (RELU, *wanted.values())
        }
        rows.append(
            Row(
                *shape,
                relu=own.get(same[RELU]),
                dbn={n: own.get(same[activation]) for n, activation in wanted.items()},
                memory={
                    activation: memory[cell.name]
                    for activation, cell in same.items()
                    if memory and cell.name in memory
                },
            )
        )
    return rows


def read_memory(path: Path) -> dict[str, int]:
    """Bytes for names of cells, from the file that ``plan --card`` writes.

    Raises:
      ValueError: it is another file.
    """
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    if not lines or not {"cell", "memory_bytes"} <= lines[0].keys():
        raise ValueError(
            f"{path} must have the columns cell and memory_bytes, as "
            "python -m experiments plan --card a30 writes them; it has "
            f"{', '.join(lines[0]) if lines else 'no line'}"
        )
    return {line["cell"]: int(float(line["memory_bytes"])) for line in lines}


def runtime(result: CellResult) -> Runtime | None:
    """Of one cell; None if no seed completed an epoch."""
    trained = models([result])
    if not trained:
        return None
    return Runtime(
        seconds=statistics.fmean(model.seconds for model in trained),
        epochs=statistics.fmean(model.epochs for model in trained),
    )
