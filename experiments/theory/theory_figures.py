"""Draw errors and slopes with their bounds."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.theory.theory_fitting import TARGETS
from experiments.theory.theory_rate import Row
from experiments.theory.theory_stability import Row as Neuron

# Okabe and Ito's palette, distinguishable with any colour vision, and by marker in grey.
COLOURS = ("#E69F00", "#009E73", "#0072B2", "#CC79A7")
MARKERS = ("o", "s", "D", "v")
RELU = "#D55E00"


def draw_rate(rows: list[Row]) -> Any:
    """Draw error against depth: measured lines, dashed bounds, dotted best polynomials."""
    figure = Figure(figsize=(11, 4.9), layout="constrained")
    axes = figure.subplots(1, len(TARGETS))
    for axis, target in zip(axes, TARGETS, strict=True):
        own = [row for row in rows if row.target == target.name]
        _rates(axis, own)
        axis.set_title(f"{target.name}: f(x) = {target.formula}", fontsize=11)
        axis.set_xlabel("hidden layers L")
    axes[0].set_ylabel("max |network - f| on [-1, 1], best of the seeds")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _rates(axis: Any, rows: list[Row]) -> None:
    degrees = sorted({row.degree for row in rows if row.degree is not None})
    styles: dict[int | None, tuple[str, str, str]] = {None: ("ReLU", RELU, "^")}
    for degree, colour, marker in zip(degrees, COLOURS, MARKERS, strict=False):
        styles[degree] = (f"DBN n={degree}", colour, marker)
    for degree, (name, colour, marker) in styles.items():
        own = [row for row in rows if row.degree == degree]
        depths = [row.depth for row in own]
        formula = r"\omega_f((WL)^{-2})" if degree is None else r"\omega_f(n^{-L})"
        axis.semilogy(
            depths, [row.best for row in own], marker + "-", color=colour, label=name
        )
        axis.semilogy(
            depths, [row.bound for row in own], "--", color=colour, linewidth=1,
            label=f"bound ${formula}$, {name}",
        )  # fmt: skip
        if degree is not None:
            axis.semilogy(
                depths, [row.polynomial for row in own], ":", color=colour, linewidth=1.4,
                label=f"best polynomial, degree ${degree}^L$",
            )  # fmt: skip
    axis.set_xticks(sorted({row.depth for row in rows}))
    axis.grid(which="major", color="#EEEEEE")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def draw_stability(neurons: list[Neuron]) -> Any:
    """Draw the steepest slope of every neuron against its bounds, which hold below the line."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axis = figure.subplots()
    measured = np.array([row.measured for row in neurons])
    kinds = (
        ("n max|c_{k+1} - c_k| / (u - l)", "sharp", COLOURS[2], "o"),
        ("2 n max|c_k| / (u - l)", "scaled", COLOURS[1], "s"),
        ("2 n max|c_k|, as in the paper", "paper", RELU, "^"),
    )
    for label, name, colour, marker in kinds:
        bound = np.array([getattr(row, name) for row in neurons])
        axis.loglog(
            bound, measured, marker, color=colour, markersize=4, alpha=0.7, label=label
        )
    ends = np.array([measured.min(), max(row.paper for row in neurons)])
    axis.loglog(ends, ends, color="black", linewidth=1, label="measured = bound")
    axis.set(xlabel="bound", ylabel=r"measured max $|\sigma'|$")
    axis.set_title(f"{len(neurons)} neurons of trained networks", fontsize=11)
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
