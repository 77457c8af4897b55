"""The contents of a report, before they are written in any format."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.core.tables import Table, shape_name
from experiments.report import (
    convergence,
    depth_figures,
    efficiency,
    intervals,
    provenance,
    runtime,
)
from experiments.report import report_figures as figures
from experiments.report.evidence import Evidence, of_paper, of_store
from experiments.report.grid_groups import GROUPS, METRICS, activation_name
from experiments.report.paper_claims import Verdict, verdicts
from experiments.report.report_figures import Figure
from experiments.report.trained_models import Model, models, within
from experiments.sweep.cell_record import CellResult
from experiments.sweep.cell_store import Reading
from experiments.sweep.grid import FEATURES, Cell, paper


@dataclasses.dataclass(frozen=True)
class Fact:
    """A number, what it counts, and a detail."""

    number: str
    label: str
    detail: str = ""


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
    """Compute the report of a store and draw its figures into a folder."""
    results = reading.results
    ours, theirs = of_store(results, memory), of_paper()
    return Contents(
        reading=reading,
        evidence=ours,
        caveats=provenance.caveats(results),
        verdicts=judged(results, memory),
        facts=facts(results, ours),
        tables=tables(ours, theirs),
        figures=draw(models(results), ours, theirs, folder),
    )


def judged(
    results: Sequence[CellResult], memory: Mapping[str, int] | None = None
) -> list[Verdict]:
    """Judge the paper's claims by the cells of its grid; other cells are left out."""
    grid = set(paper())
    own = [result for result in results if result.cell in grid]
    seeds = sorted({seed for result in own for seed in result.history})
    one_seed_less = [
        of_store([_without(result, seed) for result in own], memory) for seed in seeds
    ]
    return verdicts(
        of_store(own, memory), of_paper(), one_seed_less if len(seeds) > 1 else ()
    )


def _without(result: CellResult, seed: int) -> CellResult:
    """Return a cell without one of its seeds."""
    kept = {key: value for key, value in result.history.items() if key != seed}
    return dataclasses.replace(result, history=kept)


def tables(ours: Evidence, paper: Evidence) -> list[Table]:
    """Make all tables in the order of the paper."""
    return [
        *(
            efficiency.view(group, METRICS[name], rows, paper.efficiency[group, name])
            for (group, name), rows in ours.efficiency.items()
        ),
        *(
            convergence.view(g, rows, paper.convergence[g])
            for g, rows in ours.convergence.items()
        ),
        *(runtime.view(g, rows, paper.runtime[g]) for g, rows in ours.runtime.items()),
        *(intervals.view(g, rows) for g, rows in ours.intervals.items()),
    ]


def draw(
    trained: Sequence[Model], ours: Evidence, paper: Evidence, folder: Path
) -> list[Figure]:
    """Draw every figure for which there are models."""
    found = [figures.savings(ours.efficiency, paper.efficiency, folder)]
    operations = _operations(trained)
    for group in GROUPS:
        own = within(trained, group)
        if not own:
            continue
        rows = ours.intervals[group]
        by_depth = depth_figures.depth(rows, group, paper.efficiency, folder)
        if by_depth is not None:
            found.append(by_depth)
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
    """Return the mean FLOPs over the seeds of each cell, where they are known."""
    known: dict[Cell, list[float]] = {}
    for model in trained:
        if model.flops is not None:
            known.setdefault(model.cell, []).append(model.flops)
    return {cell: statistics.fmean(values) for cell, values in known.items()}


def facts(results: Sequence[CellResult], evidence: Evidence) -> list[Fact]:
    """Return the facts of a store with at least one cell."""
    trainings = sum(len(result.history) for result in results)
    total = len(paper())
    return [
        Fact(
            f"{len(results)} of {total}",
            "cells of the paper's grid are trained",
            f"{trainings} trainings",
        ),
        *_no_larger(evidence),
        *_lower_loss(evidence),
        *_best(evidence),
    ]


def _no_larger(evidence: Evidence) -> list[Fact]:
    """Count the architectures that a DBN of no more parameters beats."""
    counts = {}
    for metric in METRICS:
        known = [
            row
            for (_, name), rows in evidence.efficiency.items()
            for row in rows
            if name == metric and row.relu_value is not None
        ]
        saving = [r for r in known if r.efficiency is not None and r.efficiency >= 0]
        counts[metric] = len(saving), len(known)
    if not counts["auc"][1]:
        return []
    return [
        Fact(
            "{} of {}".format(*counts["auc"]),
            "ReLU architectures are beaten in AUC by a DBN with no more parameters",
            "{} of {} in training loss".format(*counts["loss"]),
        )
    ]


def _lower_loss(evidence: Evidence) -> list[Fact]:
    """Count the DBN cells whose median loss ends below ReLU's."""
    pairs = [
        (row, against)
        for rows in evidence.convergence.values()
        for row in rows
        for against in row.against.values()
        if against is not None
    ]
    if not pairs:
        return []
    lower = sum(against.change < 0 for _, against in pairs)
    crossed = [
        against.crossover / row.relu_epochs
        for row, against in pairs
        if against.crossover is not None and row.relu_epochs
    ]
    detail = f"{len(crossed)} cross over"
    if crossed:
        detail += f", in {statistics.median(crossed):.0%} of ReLU's epochs (median)"
    return [
        Fact(
            f"{lower} of {len(pairs)}",
            "DBN cells end with a lower median loss than ReLU of their size",
            detail,
        )
    ]


def _best(evidence: Evidence) -> list[Fact]:
    """Return the cell of the highest mean AUC on each data set."""
    found = []
    for dataset in FEATURES:
        rows = [
            row
            for group, own in evidence.intervals.items()
            if group.dataset == dataset
            for row in own
        ]
        if rows:
            best = max(rows, key=lambda row: row.auc.mean)
            cell = best.cell
            found.append(
                Fact(
                    f"{best.auc.mean:.4f}",
                    f"highest mean AUC on {dataset.upper()}",
                    f"{activation_name(cell.activation)}, {cell.kind} "
                    f"{shape_name(cell)}, {best.parameters:,} parameters",
                )
            )
    return found
