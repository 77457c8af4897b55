"""The figure: how far each method is from the best fixed activation."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

COLOURS = {
    "bernstein": "#0072B2",
    "shared": "#009E73",
    "paper": "#D55E00",
    "tanh": "#999999",
}
MARKS = {"bernstein": "o", "shared": "s", "paper": "^", "tanh": "v"}
FARTHEST = 60.0  # percent; what is farther is drawn at the edge


def draw(differences: dict[tuple[str, str], Any], tasks: list[str], path: Path) -> None:
    """Draw differences in percent of the rival's score, with 95% intervals."""
    figure = Figure(figsize=(7.0, 1.2 + 0.55 * len(tasks)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(0, color="black", linewidth=0.8)
    methods = [name for name in COLOURS if any(name == m for _, m in differences)]
    for k, method in enumerate(methods):
        shift = 0.16 * (k - (len(methods) - 1) / 2)
        label = method
        for row, task in enumerate(tasks):
            found = differences.get((task, method))
            if found is None:
                continue
            scale = 100 / abs(found.scale)
            places = (found.mean, found.mean - found.half, found.mean + found.half)
            middle, low, high = (
                max(-FARTHEST, min(FARTHEST, place * scale)) for place in places
            )
            axis.errorbar(
                middle, row + shift, xerr=[[middle - low], [high - middle]],
                fmt=MARKS[method], color=COLOURS[method], markersize=5, capsize=2,
                linewidth=1.2, label=label,
            )  # fmt: skip
            label = None
    axis.set_xlim(-1.05 * FARTHEST, 1.05 * FARTHEST)
    axis.set_xscale("symlog", linthresh=1.0)
    axis.set_yticks(range(len(tasks)), tasks)
    axis.invert_yaxis()
    axis.set_xlabel("better than the best of relu, gelu, silu by (% of its score) ->")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(fontsize=8, frameon=False, loc="outside upper center", ncols=4)
    figure.savefig(path, dpi=150)
