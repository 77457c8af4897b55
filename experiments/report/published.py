"""The paper's own tables, as the rows that a store gives."""

import csv
import functools
from pathlib import Path

from experiments.report import convergence, efficiency, runtime
from experiments.report.grid_groups import Group, Metric
from experiments.sweep.grid import DEGREES, SEEDS

FOLDER = Path(__file__).parent / "paper"
Lines = list[dict[str, str]]


@functools.cache
def _lines(name: str) -> Lines:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def efficiency_table(group: Group, metric: Metric) -> list[efficiency.Row]:
    """Parameter efficiency; sections 4.2 and appendix D."""
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
    """Convergence; section 4.3 and appendix E."""
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
    """Runtime; appendix G. Epochs are the medians of the convergence tables."""
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
