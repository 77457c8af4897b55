"""One figure: the distance of each network to ReLU under every setting."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.report import report_drawing
from experiments.report.grid_groups import RELU
from experiments.sensitivity.sensitivity_analysis import Change, Compared
from experiments.sensitivity.sensitivity_study import CHOICES, DEFAULT, DEFAULT_LABELS
from experiments.sensitivity.sensitivity_tables import METRICS

_LABELS = {"auc": "AUC − ReLU's median", "loss": "ReLU's median − loss"}
_DEPTHS = ("o", "s", "^", "D")  # one mark for each shape


def draw(compared: Sequence[Compared], path: Path) -> None:
    """Write ``path`` as PNG and SVG: a column for each choice, a row for each metric."""
    questions = list(dict.fromkeys(e.setting.question for e in compared))[1:]
    networks = list(dict.fromkeys(e.cell for e in compared))
    networks.sort(key=lambda c: (c.depth, c.width, c.degree or 0))
    size = (1.4 + 2.7 * len(questions), 6.0)
    with report_drawing.figure(
        size, (2, len(questions)), bottom=0.75, wspace=0.12, hspace=0.12
    ) as (drawn, axes):
        drawn.subplots_adjust(left=0.8 / size[0])  # longer labels than elsewhere
        for row, metric in enumerate(METRICS):
            ends = _ends(compared, metric)
            for axis, question in zip(axes[row], questions, strict=True):
                _panel(axis, question, metric, compared, networks)
                axis.set_ylim(*ends)
                if row == 0:
                    axis.set_title(CHOICES[question])
                    axis.tick_params(labelbottom=False)
            for axis in axes[row, 1:]:
                axis.tick_params(labelleft=False)
            axes[row, 0].set_ylabel(_LABELS[metric])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper right", fontsize=8, handlelength=1.4)
        report_drawing.save(drawn, path)


def _panel(axis: Any, question: str, metric: str, compared, networks) -> None:
    """Draw one choice: its settings side by side, including the default."""
    own = [e for e in compared if e.setting.question == question]
    default = [e for e in compared if e.setting == DEFAULT]
    labels = list(dict.fromkeys(e.setting.label for e in own))
    labels.insert(_place(question, labels), DEFAULT_LABELS[question])
    shapes = list(dict.fromkeys((c.depth, c.width) for c in networks))
    shaded = labels.index(DEFAULT_LABELS[question])
    axis.axvspan(
        shaded - 0.45, shaded + 0.45, color=report_drawing.FAINT, alpha=0.12, lw=0
    )
    axis.axhline(0, color=report_drawing.FIXED[RELU], linewidth=1, label="ReLU")
    for k, cell in enumerate(networks):
        offset = 0.12 * (k - (len(networks) - 1) / 2)
        for each in (*own, *default):
            label = each.setting.label if each in own else DEFAULT_LABELS[question]
            if each.cell != cell:
                continue
            low, mid, high = _margins(getattr(each, metric))
            place = labels.index(label) + offset
            axis.plot(
                [place, place], [low, high], color=report_drawing.colour(cell.activation),
                linewidth=1.4,
            )  # fmt: skip
            axis.plot(
                [place], [mid], _DEPTHS[shapes.index((cell.depth, cell.width)) % 4],
                color=report_drawing.colour(cell.activation), markersize=5,
                markeredgecolor=report_drawing.INK, markeredgewidth=0.4,
                label=each.network if each.setting == DEFAULT else None,
            )  # fmt: skip
    axis.set_xticks(range(len(labels)), labels, rotation=30 if len(labels) > 4 else 0)
    axis.set_xlim(-0.6, len(labels) - 0.4)


def _place(question: str, labels: Sequence[str]) -> int:
    """Return the place of the default: in the order of numbers, else first."""
    numbers = [*labels, DEFAULT_LABELS[question]]
    try:
        ordered = sorted(float(text.lstrip("±")) for text in numbers)
    except ValueError:
        return 0
    return ordered.index(float(DEFAULT_LABELS[question].lstrip("±")))


def _margins(change: Change) -> tuple[float, float, float]:
    """Return lowest seed, median and highest; above zero is better than ReLU's median."""
    sign = 1 if change.metric == "auc" else -1
    relu = change.median - change.margin
    ends = sorted(sign * (value - relu) for value in change.values.values())
    return ends[0], sign * change.margin, ends[-1]


def _ends(compared: Sequence[Compared], metric: str) -> tuple[float, float]:
    margins = [m for e in compared for m in _margins(getattr(e, metric))]
    low, high = min(*margins, 0.0), max(*margins, 0.0)
    gap = 0.05 * (high - low)
    return low - gap, high + gap
