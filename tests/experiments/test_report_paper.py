"""The analysis of a store with the paper's numbers gives the paper's tables."""

import pytest

from experiments.report import convergence, efficiency, evidence
from experiments.report.grid_groups import GROUPS, METRICS
from experiments.report.trained_models import models
from tests.experiments import report_paper


@pytest.fixture(scope="module")
def trained():
    return models(report_paper.results())


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_efficiency_to_the_printed_digit(trained, group, metric):
    printed = report_paper.efficiency_lines(group, metric)
    rows = efficiency.table(trained, group, metric)
    assert len(rows) == len(printed) == (20 if group.residual else 8)
    for row, line in zip(rows, printed, strict=True):
        best = row.best
        assert best is not None
        found = {
            "depth": str(row.depth),
            "width": str(row.width),
            "relu_params": str(row.relu_parameters),
            f"relu_{metric.name}": f"{row.relu_value:.4f}",
            "dbn_params": str(best.parameters),
            "dbn_depth": str(best.depth),
            "dbn_width": str(best.width),
            "dbn_degree": str(best.degree),
            f"dbn_{metric.name}": f"{best.value:.4f}",
            "param_efficiency_percent": f"{row.efficiency:.1f}",
        }
        assert found == {name: line[name] for name in found}


def test_few_numbers_had_to_be_chosen_within_their_digits():
    """The store is the printed one but for a handful of ties."""
    moved = total = 0
    for group in GROUPS:
        for metric in METRICS.values():
            values = report_paper.values(group, metric)
            for line in report_paper.efficiency_lines(group, metric):
                relu = next(
                    cell
                    for cell in values
                    if cell.activation == "relu"
                    and (cell.depth, cell.width)
                    == (int(line["depth"]), int(line["width"]))
                )
                total += 1
                moved += values[relu] != float(line[f"relu_{metric.name}"])
    assert total == 112
    assert moved <= 12


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_convergence_to_the_printed_digit(group):
    rows = convergence.table(list(report_paper.convergence_results(group)), group)
    by_shape = {(row.depth, row.width): row for row in rows}
    for line in report_paper.lines(f"convergence_{group.dataset}_{group.kind}"):
        row = by_shape[int(line["depth"]), int(line["width"])]
        against = row.against[int(line["degree"])]
        assert against is not None
        assert f"{row.relu_epochs:g}" == line["relu_epochs"]
        assert str(against.crossover or "") == line["crossover_epoch"]
        assert f"{against.epochs:g}" == line["dbn_epochs"]
        assert f"{against.change:.1f}" == line["loss_change_percent"]


def test_the_paper_as_rows_prints_its_own_efficiency():
    for (group, name), rows in evidence.of_paper().efficiency.items():
        printed = report_paper.efficiency_lines(group, METRICS[name])
        for row, line in zip(rows, printed, strict=True):
            assert f"{row.efficiency:.1f}" == line["param_efficiency_percent"]
            assert row.total == int(line["qualifying_total"])
            assert row.compared == (240 if group.residual else 96)


def test_the_paper_as_rows_has_its_runtimes():
    rows = evidence.runtime_table(GROUPS[0])
    last = rows[-1]
    assert (last.depth, last.width) == (150, 256)
    assert last.relu is not None
    assert last.dbn[9] is not None
    assert (last.relu.seconds, last.dbn[9].seconds) == (7723, 6359)
    assert (last.relu.epochs, last.dbn[9].epochs) == (55, 25)
