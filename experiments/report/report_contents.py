"""All that a report says, before it is written in any format."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.core.tables import Table
from experiments.report import evidence, more_views, provenance, summary, views
from experiments.report import report_figures as figures
from experiments.report.evidence import Evidence
from experiments.report.grid_groups import GROUPS, METRICS
from experiments.report.paper_claims import Verdict, verdicts
from experiments.report.report_figures import Figure
from experiments.report.summary import Fact
from experiments.report.trained_models import Model, models, within
from experiments.sweep.cell_results import CellResult
from experiments.sweep.cell_store import Reading
from experiments.sweep.grid import Cell, paper


@dataclasses.dataclass(frozen=True)
class Contents:
    """A report."""

    reading: Reading
    evidence: Evidence
    caveats: list[str]
    verdicts: list[Verdict]
    facts: list[Fact]
    tables: list[Table]
    figures: list[Figure]


def contents(
    reading: Reading, folder: Path, memory: Mapping[str, int] | None = None
) -> Contents:
    """The report of a store; its figures are drawn into the folder."""
    results = reading.results
    ours, theirs = evidence.of_store(results, memory), evidence.of_paper()
    return Contents(
        reading=reading,
        evidence=ours,
        caveats=provenance.caveats(results),
        verdicts=judged(results, memory),
        facts=summary.facts(results, ours),
        tables=tables(ours, theirs),
        figures=draw(models(results), ours, theirs, folder),
    )


def judged(
    results: Sequence[CellResult], memory: Mapping[str, int] | None = None
) -> list[Verdict]:
    """The paper's claims, which are about its grid and no other cells."""
    grid = set(paper())
    own = [result for result in results if result.cell in grid]
    return verdicts(evidence.of_store(own, memory), evidence.of_paper())


def tables(ours: Evidence, paper: Evidence) -> list[Table]:
    """In the order of the paper."""
    return [
        *(
            views.efficiency_view(
                group, METRICS[name], rows, paper.efficiency[group, name]
            )
            for (group, name), rows in ours.efficiency.items()
        ),
        *(
            views.convergence_view(g, rows, paper.convergence[g])
            for g, rows in ours.convergence.items()
        ),
        *(
            more_views.runtime_view(g, rows, paper.runtime[g])
            for g, rows in ours.runtime.items()
        ),
        *(more_views.intervals_view(g, rows) for g, rows in ours.intervals.items()),
    ]


def draw(
    trained: Sequence[Model], ours: Evidence, paper: Evidence, folder: Path
) -> list[Figure]:
    """Every figure that there are models for."""
    found = [figures.savings(ours.efficiency, paper.efficiency, folder)]
    operations = _operations(trained)
    for group in GROUPS:
        own = within(trained, group)
        if not own:
            continue
        rows = ours.intervals[group]
        found += [figures.distribution(own, group, m, folder) for m in METRICS.values()]
        found.append(figures.seeds(rows, group, folder))
        for cost, title, costs in (
            ("parameters", "parameters", lambda row: row.parameters),
            ("flops", "training FLOPs", lambda row: operations.get(row.cell)),
        ):
            drawn = figures.pareto(
                rows, group, folder, cost=cost, title=title, costs=costs
            )
            if drawn is not None:
                found.append(drawn)
    return found


def _operations(trained: Sequence[Model]) -> dict[Cell, float]:
    """Mean FLOPs over the seeds of each cell that has them."""
    known: dict[Cell, list[float]] = {}
    for model in trained:
        if model.flops is not None:
            known.setdefault(model.cell, []).append(model.flops)
    return {cell: statistics.fmean(values) for cell, values in known.items()}
