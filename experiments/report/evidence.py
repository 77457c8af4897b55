"""All tables at once: those of a store, or those that the paper prints."""

import csv
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.report import convergence, efficiency, intervals, runtime
from experiments.report.grid_groups import GROUPS, METRICS, Group, Metric
from experiments.report.trained_models import models
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import DEGREES, SEEDS

FOLDER = Path(__file__).parent / "paper"
Lines = list[dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The tables by which claims are judged.

    Attributes:
      efficiency: for each group and name of a metric.
      convergence: for each group.
      runtime: for each group.
      intervals: for each group; empty lists if only tables are known.
    """

    efficiency: dict[tuple[Group, str], list[efficiency.Row]]
    convergence: dict[Group, list[convergence.Row]]
    runtime: dict[Group, list[runtime.Row]]
    intervals: dict[Group, list[intervals.Row]]


def of_store(
    results: Sequence[CellResult], memory: Mapping[str, int] | None = None
) -> Evidence:
    """Make the tables of completed cells, with the memory of cells where it is known."""
    trained = models(results)
    return Evidence(
        efficiency={
            (group, name): efficiency.table(trained, group, metric)
            for group in GROUPS
            for name, metric in METRICS.items()
        },
        convergence={group: convergence.table(results, group) for group in GROUPS},
        runtime={group: runtime.table(results, group, memory) for group in GROUPS},
        intervals={group: intervals.table(trained, group) for group in GROUPS},
    )


def of_paper() -> Evidence:
    """Read the tables that the paper prints."""
    return Evidence(
        efficiency={
            (group, name): efficiency_table(group, metric)
            for group in GROUPS
            for name, metric in METRICS.items()
        },
        convergence={group: convergence_table(group) for group in GROUPS},
        runtime={group: runtime_table(group) for group in GROUPS},
        intervals={group: [] for group in GROUPS},
    )


@functools.cache
def _lines(name: str) -> Lines:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def efficiency_table(group: Group, metric: Metric) -> list[efficiency.Row]:
    """Read parameter efficiency; section 4.2 and appendix D."""
    return [
        efficiency.Row(
            depth=int(line["depth"]),
            width=int(line["width"]),
            relu_parameters=int(line["relu_params"]),
            relu_value=float(line[f"relu_{metric.name}"]),
            qualifying={n: int(line[f"qualifying_n{n}"]) for n in DEGREES},
            best=efficiency.Best(
                parameters=int(line["dbn_params"]),
                depth=int(line["dbn_depth"]),
                width=int(line["dbn_width"]),
                degree=int(line["dbn_degree"]),
                value=float(line[f"dbn_{metric.name}"]),
            ),
            compared=_dbn_models(group),
        )
        for line in _lines(f"efficiency_{group.dataset}_{group.kind}_{metric.name}")
    ]


def _dbn_models(group: Group) -> int:
    return len(SEEDS) * sum(cell.degree is not None for cell in group.cells())


def convergence_table(group: Group) -> list[convergence.Row]:
    """Read convergence; section 4.3 and appendix E."""
    rows: dict[tuple[int, int], convergence.Row] = {}
    for line in _lines(f"convergence_{group.dataset}_{group.kind}"):
        shape = int(line["depth"]), int(line["width"])
        row = rows.setdefault(
            shape, convergence.Row(*shape, float(line["relu_epochs"]), {})
        )
        crossover = line["crossover_epoch"]
        row.against[int(line["degree"])] = convergence.Against(
            crossover=int(crossover) if crossover else None,
            epochs=float(line["dbn_epochs"]),
            change=float(line["loss_change_percent"]),
        )
    return list(rows.values())


def runtime_table(group: Group) -> list[runtime.Row]:
    """Read runtime; appendix G. Epochs are the medians of the convergence tables."""
    epochs = {(row.depth, row.width): row for row in convergence_table(group)}
    return [
        _runtime_row(line, epochs[int(line["depth"]), int(line["width"])])
        for line in _lines(f"runtime_{group.dataset}_{group.kind}")
    ]


def _runtime_row(line: dict[str, str], trained: convergence.Row) -> runtime.Row:
    def of(column: str, epochs: float) -> runtime.Runtime:
        return runtime.Runtime(float(line[column]), epochs)

    assert trained.relu_epochs is not None
    return runtime.Row(
        depth=trained.depth,
        width=trained.width,
        relu=of("relu_seconds", trained.relu_epochs),
        dbn={
            n: of(f"n{n}_seconds", against.epochs)
            for n, against in trained.against.items()
            if against is not None
        },
    )
