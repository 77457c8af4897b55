"""A few numbers that say most."""

import dataclasses
import statistics
from collections.abc import Sequence

from experiments.core.tables import shape_name
from experiments.report.evidence import Evidence
from experiments.report.grid_groups import METRICS, activation_name
from experiments.sweep.cell_results import CellResult
from experiments.sweep.grid import FEATURES, paper


@dataclasses.dataclass(frozen=True)
class Fact:
    """A number, what it counts, and more about it."""

    number: str
    label: str
    detail: str = ""


def facts(results: Sequence[CellResult], evidence: Evidence) -> list[Fact]:
    """Of a store with at least one cell."""
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
    """Architectures that a DBN of no more parameters beats."""
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
    """DBN cells whose median loss ends below ReLU's."""
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
    """The cell of the highest mean AUC on each data set."""
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
