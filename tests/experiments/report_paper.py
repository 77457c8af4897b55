"""A store with the paper's own numbers, on which the analysis must give its answers.

The paper prints four digits, and in some rows the same four for the ReLU baseline and
for a DBN model that is, or is not, strictly better. Within those digits the numbers here
are chosen so that both are true; nothing else of the answers goes into the store.
"""

import csv
from collections.abc import Iterator

from experiments.report.evidence import FOLDER
from experiments.report.grid_groups import GROUPS, METRICS, Group, Metric
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell
from tests.experiments import report_stores

HALF_DIGIT = 0.5e-4
STEP = 1e-6  # difference between models that are printed alike
HOPELESS = {"auc": 0.5, "loss": 0.9}
EXCELLENT = {"auc": 0.999, "loss": 0.001}

Line = dict[str, str]


def lines(name: str) -> list[Line]:
    """Read the lines of a file of the paper's tables."""
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def efficiency_lines(group: Group, metric: Metric) -> list[Line]:
    """Read the lines of an efficiency table."""
    return lines(f"efficiency_{group.dataset}_{group.kind}_{metric.name}")


def dbn_cell(group: Group, line: Line) -> Cell:
    """Return the cell of the best DBN of a line."""
    shape = int(line["dbn_depth"]), int(line["dbn_width"])
    return Cell(
        group.dataset, group.residual, *shape, f"bernstein:{line['dbn_degree']}"
    )


def values(group: Group, metric: Metric) -> dict[Cell, float]:
    """Return the metric of every cell in a table: ReLU baselines and best DBN models."""
    sign = 1 if metric.higher else -1
    rows = efficiency_lines(group, metric)
    printed = {
        dbn_cell(group, row): sign * float(row[f"dbn_{metric.name}"]) for row in rows
    }
    by_size = sorted(printed, key=lambda cell: cell.parameters)
    good = {cell: printed[cell] + k * STEP for k, cell in enumerate(by_size)}
    for row in rows:
        shape = int(row["depth"]), int(row["width"])
        relu = Cell(group.dataset, group.residual, *shape, "relu")
        best = dbn_cell(group, row)
        smaller = [good[c] for c in by_size if c.parameters < best.parameters]
        baseline = sign * float(row[f"relu_{metric.name}"])
        shown = baseline
        baseline = max([baseline, *smaller])
        baseline = min(baseline, good[best] - STEP / 2)
        assert abs(baseline - shown) <= HALF_DIGIT, "no number has both properties"
        good[relu] = baseline
    return {cell: sign * value for cell, value in good.items()}


def results() -> list[CellResult]:
    """Return cells with the numbers of the tables, and decoys that must not be chosen."""
    return [cell for group in GROUPS for cell in _results(group)]


def _results(group: Group) -> Iterator[CellResult]:
    known = {name: values(group, metric) for name, metric in METRICS.items()}
    for cell in known["auc"].keys() | known["loss"].keys():
        auc = known["auc"].get(cell, HOPELESS["auc"])
        loss = known["loss"].get(cell, HOPELESS["loss"])
        # The best AUC and the best loss may come from different seeds.
        yield report_stores.trained(
            cell,
            [HOPELESS["auc"], auc, HOPELESS["auc"]],
            [loss, HOPELESS["loss"], HOPELESS["loss"]],
        )
    depth = 150 if group.residual else 15
    for shape, activation in (
        ((depth, 256), "bernstein:25"),  # better than all, and larger
        ((5, 16), "gelu"),  # better than all, and no DBN
    ):
        cell = Cell(group.dataset, group.residual, *shape, activation)
        yield report_stores.trained(
            cell, [EXCELLENT["auc"]] * 3, [EXCELLENT["loss"]] * 3
        )


def convergence_results(group: Group) -> Iterator[CellResult]:
    """Return cells with the crossovers, epochs and changes of a convergence table.

    The seeds stop at different epochs; the middle one is the median in every epoch.
    """
    final = 0.5
    for row in lines(f"convergence_{group.dataset}_{group.kind}"):
        shape = int(row["depth"]), int(row["width"])
        end = final * (1 + float(row["loss_change_percent"]) / 100)
        epochs = int(row["dbn_epochs"])
        crossover = int(row["crossover_epoch"] or epochs)
        middle = [final + 0.1] * (crossover - 1) + [end] * (epochs - crossover + 1)
        cell = Cell(group.dataset, group.residual, *shape, f"bernstein:{row['degree']}")
        yield report_stores.result(
            cell, [[0.1] * (epochs - 1), middle, [0.9] * (epochs + 2)]
        )
        if row["degree"] == "3":
            epochs = int(row["relu_epochs"])
            relu = Cell(group.dataset, group.residual, *shape, "relu")
            falling = [0.69] * (epochs - 1) + [final]
            yield report_stores.result(
                relu, [[0.9] * (epochs + 5), falling, [0.1] * (epochs - 3)]
            )
