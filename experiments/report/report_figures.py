"""Figures: the paper's distributions, Pareto fronts, seeds and savings."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.report import efficiency, intervals, report_drawing
from experiments.report.grid_groups import (
    GROUPS,
    METRICS,
    Group,
    Metric,
    activation_name,
    activation_order,
)
from experiments.report.trained_models import Model

BINS = 24


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure: its file without suffix, title and caption, and the SVG for the page."""

    name: str
    title: str
    caption: str
    svg: str
    section: str
    group: Group | None = None
    metric: str | None = None


def histogram(
    models: Sequence[Model], metric: Metric
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Compute the edges of bins and, for each activation, the count of models in each bin."""
    values = {
        activation: [
            getattr(m, metric.name) for m in models if m.cell.activation == activation
        ]
        for activation in _activations(models)
    }
    every = np.concatenate([np.asarray(x, float) for x in values.values()])
    every = every[np.isfinite(every)]
    edges = np.histogram_bin_edges(every, BINS)
    return edges, {
        name: np.histogram(np.asarray(x, float), edges)[0] for name, x in values.items()
    }


def distribution(
    models: Sequence[Model], group: Group, metric: Metric, folder: Path
) -> Figure:
    """Draw a stacked histogram of all models of a group."""
    name = f"distribution-{group.name}-{metric.name}"
    edges, counts = histogram(models, metric)
    with report_drawing.figure((7, 3.6)) as (drawn, axes):
        axis, bottom = axes[0, 0], np.zeros(BINS)
        for activation, count in counts.items():
            axis.stairs(
                bottom + count, edges, baseline=bottom, fill=True, linewidth=0,
                color=report_drawing.colour(activation), label=activation_name(activation),
            )  # fmt: skip
            bottom = bottom + count
        axis.set_xlabel(
            f"{metric.title} ({'higher' if metric.higher else 'lower'} is better)"
        )
        axis.set_ylabel("models")
        axis.yaxis.get_major_locator().set_params(integer=True)
        axis.set_title(f"{group.title}: {len(models)} models")
        _legend(drawn, axis)
        svg = report_drawing.save(drawn, folder / name)
    return Figure(
        name,
        f"Distribution: {group.title}, {metric.title}",
        f"All {len(models)} models of the group, one per seed: red tones are fixed "
        "activations, blue tones DBN.",
        svg,
        "distributions",
        group,
        metric.name,
    )


def pareto(
    rows: Sequence[intervals.Row],
    group: Group,
    folder: Path,
    *,
    cost: str,
    title: str,
    costs: Callable[[intervals.Row], float | None],
) -> Figure | None:
    """Draw the AUC of every cell against a cost, with Pareto fronts of both kinds."""
    points = [(row, value) for row in rows for value in [costs(row)] if value]
    if not points:
        return None
    name = f"pareto-{group.name}-{cost}"
    with report_drawing.figure((7, 3.9), right=1.95) as (drawn, axes):
        axis = axes[0, 0]
        for label, colour, dbn in (
            ("front of fixed activations", report_drawing.FIXED["relu"], False),
            ("front of DBN", report_drawing.DBN[2], True),
        ):
            own = [
                (v, r.auc.mean) for r, v in points if (r.cell.degree is not None) == dbn
            ]
            if own:
                front = frontier(own)
                axis.step(*front, where="post", color=colour, linewidth=1, alpha=0.7,
                          label=label, zorder=1)  # fmt: skip
        labelled = set()
        for row, value in sorted(
            points, key=lambda p: activation_order(p[0].cell.activation)
        ):
            activation = row.cell.activation
            axis.plot(
                [value], [row.auc.mean], report_drawing.marker(activation), markersize=5.5,
                color=report_drawing.colour(activation), markeredgecolor=report_drawing.INK,
                markeredgewidth=0.4, gid=f"point--{row.cell.name}",
                label=None if activation in labelled else activation_name(activation),
            )  # fmt: skip
            labelled.add(activation)
        report_drawing.logarithmic(axis)
        axis.set_xlabel(title)
        axis.set_ylabel("validation AUC, mean over seeds")
        axis.set_title(group.title)
        _legend(drawn, axis)
        svg = report_drawing.save(drawn, folder / name)
    return Figure(
        name,
        f"AUC against {title}: {group.title}",
        "A point is a cell; up and to the left is better. Lines are Pareto fronts: the "
        "highest AUC up to each number.",
        svg,
        "pareto",
        group,
    )


def frontier(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Return the points that no cheaper point equals or beats, by rising cost.

    >>> frontier([(3, 0.9), (1, 0.7), (2, 0.6), (4, 0.8)])
    ([1, 3], [0.7, 0.9])
    """
    costs, values = [], []
    for cost, value in sorted(points, key=lambda p: (p[0], -p[1])):
        if not values or value > values[-1]:
            costs.append(cost)
            values.append(value)
    return costs, values


def seeds(rows: Sequence[intervals.Row], group: Group, folder: Path) -> Figure:
    """Draw the mean AUC and its interval for every architecture and activation."""
    name = f"intervals-{group.name}"
    shapes = sorted({(row.cell.depth, row.cell.width) for row in rows})
    names = sorted({row.cell.activation for row in rows}, key=activation_order)
    crowded = len(shapes) > 10
    width = min(14.0, max(7.0, 0.75 * len(shapes)))
    with report_drawing.figure((width, 3.9), bottom=0.75 if crowded else 0.45) as (
        drawn,
        axes,
    ):
        axis = axes[0, 0]
        for k, activation in enumerate(names):
            own = [row for row in rows if row.cell.activation == activation]
            places = [
                shapes.index((row.cell.depth, row.cell.width))
                + 0.09 * (k - len(names) / 2)
                for row in own
            ]
            axis.errorbar(
                places, [row.auc.mean for row in own],
                [np.nan_to_num(row.auc.half) for row in own],
                fmt=report_drawing.marker(activation), color=report_drawing.colour(activation),
                markersize=4.5, linewidth=1.2, label=activation_name(activation),
            )  # fmt: skip
        labels = [f"{depth}×{width}" for depth, width in shapes]
        axis.set_xticks(range(len(shapes)), labels, rotation=60 if crowded else 0)
        axis.set_xlim(-0.6, len(shapes) - 0.4)
        axis.set_ylabel("validation AUC")
        axis.set_title(f"{group.title}: means over seeds, 95% intervals")
        _legend(drawn, axis)
        svg = report_drawing.save(drawn, folder / name)
    return Figure(
        name,
        f"Seeds: {group.title}",
        "Mean validation AUC over the seeds with 95% confidence intervals.",
        svg,
        "seeds",
        group,
    )


def savings(
    ours: dict[tuple[Group, str], list[efficiency.Row]],
    paper: dict[tuple[Group, str], list[efficiency.Row]],
    folder: Path,
) -> Figure:
    """Draw the parameters saved against the size of the ReLU network, ours and the paper's."""
    with report_drawing.figure(
        (8, 5.6), (2, 2), right=0.15, bottom=0.95, wspace=0.2, hspace=0.5
    ) as (drawn, axes):
        for axis, group in zip(axes.flat, GROUPS, strict=True):
            _savings_panel(axis, group, ours, paper)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="lower center", ncols=4, fontsize=8)
        svg = report_drawing.save(drawn, folder / "savings")
    return Figure(
        "savings",
        "Parameters saved",
        "How many parameters the smallest DBN saves that beats the best ReLU network "
        "of a size: filled marks are ours, hollow ones the paper's. What is below -30% is "
        "drawn there.",
        svg,
        "overview",
    )


def _savings_panel(axis: Any, group: Group, ours, paper) -> None:
    low = -30.0
    for metric, shape, colour in (
        ("auc", "o", report_drawing.DBN[3]),
        ("loss", "s", report_drawing.DBN[1]),
    ):
        for rows, whose, filled in (
            (paper[group, metric], "paper", False),
            (ours[group, metric], "ours", True),
        ):
            known = [
                (r.relu_parameters, r.efficiency)
                for r in rows
                if r.efficiency is not None
            ]
            axis.plot(
                [x for x, _ in known], [max(y, low) for _, y in known], shape,
                markersize=(7.5 if metric == "auc" else 5) if filled else 4.5,
                markerfacecolor=colour if filled else "none",
                markeredgecolor=colour, markeredgewidth=0.9, alpha=1 if filled else 0.65,
                label=f"{METRICS[metric].title}, {whose}",
            )  # fmt: skip
    axis.axhline(0, color=report_drawing.FAINT, linewidth=0.8)
    axis.set_xlim(1e3, 1.5e7)
    report_drawing.logarithmic(axis)
    axis.set_ylim(low - 5, 105)
    axis.set_title(group.title)
    axis.set_xlabel("parameters of the ReLU network")
    axis.set_ylabel("parameters saved, %")


def _activations(models: Sequence[Model]) -> list[str]:
    return sorted({model.cell.activation for model in models}, key=activation_order)


def _legend(drawn: Any, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="upper right", fontsize=8, handlelength=1.4)
