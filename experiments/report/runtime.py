"""Runtime: seconds of a training, and memory where it is known.

The paper trained one seed at a time. Here all seeds of a cell train at the same time, and a
seed that has stopped waits for the others. The seconds of a training are its epochs times the
median epoch, divided by the number of seeds: an epoch that compiles, or during which the
machine slept, does not count. Compare ratios to ReLU between devices, not seconds.

Memory is not measured while cells train; ``python -m experiments plan --card`` compiles
them for a GPU and writes what they take there, all seeds together.
"""

import csv
import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.core.tables import Column, Fields, Table, build, shape_order
from experiments.report.grid_groups import (
    RELU,
    Group,
    degrees,
    shape_column,
    shapes,
)
from experiments.report.trained_models import models
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import DEGREES, Cell

MEASURED = ("seconds", "epochs", "per_epoch")


@dataclasses.dataclass(frozen=True)
class Runtime:
    """Time and epochs of a cell.

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
    """Make a row for each architecture of the paper, and for any other that was trained.

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
    """Read the bytes of each cell, by name, from the file that ``plan --card`` writes.

    Raises:
      ValueError: the file has another format.
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
    """Compute the runtime of one cell; None if no seed completed an epoch."""
    trained = models([result])
    if not trained:
        return None
    return Runtime(
        seconds=statistics.fmean(model.seconds for model in trained),
        epochs=statistics.fmean(model.epochs for model in trained),
    )


def view(group: Group, rows: Sequence[Row], paper: Sequence[Row]) -> Table:
    """Make the table of seconds of one group, with memory if it is known of any cell."""
    columns = [
        shape_column(group),
        Column("ReLU", "relu_seconds", lambda row: _seconds(row, row.relu)),
        *(
            Column(
                f"n={n}", f"n{n}_seconds", lambda row, n=n: _seconds(row, row.dbn[n])
            )
            for n in DEGREES
        ),
    ]
    if any(row.memory for row in rows):
        columns += [
            Column(
                f"{'ReLU' if name == 'relu' else name.replace('n', 'n=')} memory",
                f"{name}_memory",
                lambda row, a=activation: f"{row.memory[a] / 2**30:.2f} GiB",
                beside=False,
            )
            for name, activation in _ACTIVATIONS.items()
        ]
    return build(
        columns,
        _RUNTIME,
        rows,
        paper=paper,
        trained=lambda row: bool(row.memory or row.relu or any(row.dbn.values())),
        name=f"runtime-{group.name}",
        title=f"Runtime: {group.title}",
        caption=(
            "Seconds of one training, mean over the seeds, and in brackets how many "
            "times ReLU's. All seeds of a cell train at the same time; each counts its "
            "epochs times the median epoch, divided by the number of seeds, without "
            "compilation. Cells that trained side by side slowed each other, and a store "
            "may hold cells of several machines. "
            "The paper trained each seed alone on an A30: compare ratios, not seconds. "
            "Memory, if any, is that of a program for all seeds, compiled for a GPU."
        ),
        group=group,
    )


_ACTIVATIONS = {"relu": "relu", **{f"n{n}": f"bernstein:{n}" for n in DEGREES}}


def _run(find, name: str):
    def field(row: Row):
        run = find(row)
        return None if run is None else getattr(run, name)

    return field


_RUNTIME: Fields = {
    "depth": lambda row: row.depth,
    "width": lambda row: row.width,
    "shape": shape_order,
    **{f"relu_{x}": _run(lambda row: row.relu, x) for x in MEASURED},
    **{
        f"n{n}_{x}": _run(lambda row, n=n: row.dbn.get(n), x)
        for n in DEGREES
        for x in MEASURED
    },
    **{
        f"{name}_memory": lambda row, a=activation: row.memory.get(a)
        for name, activation in _ACTIVATIONS.items()
    },
}


def _seconds(row: Row, run: Runtime) -> str:
    seconds = f"{run.seconds:,.0f}" if run.seconds >= 100 else f"{run.seconds:.3g}"
    if row.relu is None or run is row.relu:
        return f"{seconds} s"
    return f"{seconds} s ({run.seconds / row.relu.seconds:.2f}×)"
