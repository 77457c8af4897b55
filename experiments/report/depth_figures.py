"""AUC and loss against depth, as a figure and in words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.report import efficiency, intervals, report_drawing
from experiments.report.grid_groups import METRICS, RELU, Group, activation_name
from experiments.report.report_figures import Figure
from experiments.sweep.grid import WIDTHS

SHOWN = (RELU, "gelu", "bernstein:3", "bernstein:9", "bernstein:25")
PaperRows = dict[tuple[Group, str], list[efficiency.Row]]


def depth(
    rows: Sequence[intervals.Row], group: Group, paper: PaperRows, folder: Path
) -> Figure | None:
    """Draw a panel for each width and metric; return None without two depths of ReLU.

    Lines go through means over seeds with their 95% intervals. The paper prints ReLU's
    best seed of each architecture: that is the dashed line.
    """
    widths = [
        width
        for width in WIDTHS
        if len({r.cell.depth for r in rows if _is(r, RELU, width)}) > 1
    ]
    if not widths:
        return None
    name = f"depth-{group.name}"
    size = (2.9 * len(widths) + 1.9, 5.2)
    with report_drawing.figure(
        size, (len(METRICS), len(widths)), wspace=0.3, hspace=0.35
    ) as (drawn, axes):
        for line, metric in zip(axes, METRICS, strict=True):
            for axis, width in zip(line, widths, strict=True):
                for activation in SHOWN:
                    _line(axis, rows, activation, width, metric)
                _paper_line(axis, paper[group, metric], width)
                report_drawing.logarithmic(axis)
                axis.set_title(f"{group.title}, width {width}")
                axis.set_xlabel("hidden layers")
                axis.set_ylabel(METRICS[metric].title)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper right", fontsize=8, handlelength=1.6)
        svg = report_drawing.save(drawn, folder / name)
    return Figure(
        name,
        f"Depth: {group.title}",
        "Mean over seeds with its 95% interval. Dashed: the best ReLU seed that the paper "
        "prints, trained on the full data set.",
        svg,
        "depth",
        group,
    )


def _is(row: intervals.Row, activation: str, width: int) -> bool:
    return row.cell.activation == activation and row.cell.width == width


def _line(axis: Any, rows, activation: str, width: int, metric: str) -> None:
    own = sorted(
        (r for r in rows if _is(r, activation, width)), key=lambda r: r.cell.depth
    )
    if own:
        found = [getattr(row, metric) for row in own]
        colour = report_drawing.colour(activation)
        axis.errorbar(
            [row.cell.depth for row in own], [each.mean for each in found],
            yerr=[each.half for each in found], color=colour, ecolor=colour,
            marker=report_drawing.marker(activation), markersize=4, linewidth=1.4,
            elinewidth=0.7, capsize=2, label=activation_name(activation),
        )  # fmt: skip


def _paper_line(axis: Any, rows: Sequence[efficiency.Row], width: int) -> None:
    own = [row for row in rows if row.width == width]
    axis.plot(
        [row.depth for row in own], [row.relu_value for row in own],
        color=report_drawing.colour(RELU), linestyle="--", linewidth=1, marker="s",
        markersize=3, markerfacecolor="none", label="ReLU, the paper",
    )  # fmt: skip


def lines(rows: Sequence[intervals.Row], group: Group) -> list[str]:
    """Describe what depth does to ReLU and to DBN n=3; no lines without two depths."""
    width = min((row.cell.width for row in rows), default=0)
    means = {
        name: {r.cell.depth: r.auc.mean for r in rows if _is(r, name, width)}
        for name in (RELU, "bernstein:3")
    }
    relu, dbn = means.values()
    depths = sorted(relu.keys() & dbn.keys())
    if len(depths) < 2:
        return []
    head = "".join(f"{depth:>8}" for depth in depths)
    found = [f"{group.title}, width {width}: mean AUC at {len(depths)} depths"]
    found.append(f"  {'layers':10}{head}")
    for name, own in means.items():
        numbers = "".join(f"{own[depth]:8.3f}" for depth in depths)
        found.append(f"  {activation_name(name):10}{numbers}")
    first, last = depths[0], depths[-1]
    changes = {name: own[last] - own[first] for name, own in means.items()}
    ahead = dbn[last] - relu[last]
    found.append(
        f"  From {first} to {last} layers ReLU changes by {changes[RELU]:+.3f}, "
        f"{activation_name('bernstein:3')} by {changes['bernstein:3']:+.3f}; at {last} the DBN "
        f"is {abs(ahead):.3f} {'better' if ahead > 0 else 'worse'}."
    )
    return found
