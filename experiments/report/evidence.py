"""All tables at once: those of a store, or those that the paper prints."""

import dataclasses
from collections.abc import Mapping, Sequence

from experiments.report import (
    convergence,
    efficiency,
    intervals,
    published,
    runtime,
)
from experiments.report.grid_groups import GROUPS, METRICS, Group
from experiments.report.trained_models import models
from experiments.sweep.cell_results import CellResult


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What claims are judged by.

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
    """The tables of completed cells, with the memory of cells where that is known."""
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
    """The tables that the paper prints."""
    return Evidence(
        efficiency={
            (group, name): published.efficiency_table(group, metric)
            for group in GROUPS
            for name, metric in METRICS.items()
        },
        convergence={group: published.convergence_table(group) for group in GROUPS},
        runtime={group: published.runtime_table(group) for group in GROUPS},
        intervals={group: [] for group in GROUPS},
    )
