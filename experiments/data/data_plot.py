"""``python -m experiments data plot``: plot the distribution of every feature.

Each column has a panel with signal and background, of published events and of the toy
collider; one figure for HIGGS and one for SUSY. Published events are taken from a given
path, or where ``jb.data`` finds them; without them only the toy is drawn.
"""

import argparse
from pathlib import Path

import numpy as np

import jaxbern as jb
from experiments.core import options
from jaxbern.data import Dataset

# Okabe and Ito's palette, distinguishable with any colour vision. Label: name, colour.
CLASSES = {1: ("signal", "#0072B2"), 0: ("background", "#D55E00")}
BINS = 40
TAILS = 0.5  # percent of events beyond each end of an axis
STEEP = 0.35  # fraction of events in one bin above which the axis is logarithmic
COLUMNS = 4
# Columns of the data in the order of their panels: one row per particle.
PANELS = {
    "higgs": [*range(4), *range(5, 21), 4, *range(21, 28)],
    "susy": [0, 1, 2, 6, 3, 4, 5, 7, *range(8, 18)],
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options: which events to plot, and where to write."""
    parser.add_argument("--higgs", metavar="FILE", help="published HIGGS events")
    parser.add_argument("--susy", metavar="FILE", help="published SUSY events")
    parser.add_argument(
        "--rows",
        type=int,
        default=200_000,
        help="maximum number of events (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the toy collider")
    options.add_out(parser, "results/data")


def run(args: argparse.Namespace) -> None:
    """Plot both data sets; print which files were written."""
    args.out.mkdir(parents=True, exist_ok=True)
    for name in PANELS:
        published = find(name, getattr(args, name), args.rows)
        simulated = jb.data.load(f"collider:{name}", rows=args.rows, seed=args.seed)
        if published is None:
            print(f"{name}: no published events found, the toy is drawn alone")
        else:
            report(name, published, simulated)
        path = args.out / f"features_{name}"
        draw(name, published, simulated, path)
        print(f"wrote {path}.png and .svg")


def find(name: str, path: str | None, rows: int) -> Dataset | None:
    """Return published events; None if they are not found and no path was given."""
    load = {"higgs": jb.data.higgs, "susy": jb.data.susy}[name]
    if path is not None:
        return load(path, rows=rows)
    try:
        return load(rows=rows, download=False)
    except jb.data.DataError:
        return None


def edges(name: str, values: np.ndarray) -> np.ndarray:
    """Return the bin edges of a column: one bin per b-tag, otherwise of equal width."""
    if name.endswith("b-tag"):
        step = values.max() / 2
        return step * np.array([-0.5, 0.5, 1.5, 2.5])
    if name.endswith(("eta", "phi")):  # bounded ranges
        return np.linspace(values.min(), values.max(), BINS + 1)
    low, high = np.percentile(values, [TAILS, 100 - TAILS])
    if 0 <= low < 0.15 * high:
        low = 0.0
    return np.linspace(low, high, BINS + 1)


def shares(data: Dataset, column: int, label: int, bins: np.ndarray) -> np.ndarray:
    """Return the fraction of a class in each bin."""
    values = data.x[:, column][data.y == label]
    return np.histogram(values, bins)[0] / len(values)


def report(name: str, published: Dataset, simulated: Dataset, most: int = 5) -> None:
    """Print the columns where the toy differs most, by the fraction in other bins."""
    moved = {}
    for j, column in enumerate(published.columns):
        bins = edges(column, published.x[:, j])
        for label, (kind, _) in CLASSES.items():
            real, toy = (shares(d, j, label, bins) for d in (published, simulated))
            moved[f"{column} ({kind})"] = np.abs(real - toy).sum() / 2
    order = sorted(moved, key=lambda column: -moved[column])
    worst = ", ".join(f"{column} {moved[column]:.0%}" for column in order[:most])
    median = np.median(list(moved.values()))
    print(f"{name}: the toy differs by {median:.0%} (median column), most in {worst}")


def draw(name: str, published: Dataset | None, simulated: Dataset, path: Path) -> None:
    """Write ``path`` with the suffixes ``.png`` and ``.svg``."""
    from matplotlib.figure import Figure

    rows = -(-len(PANELS[name]) // COLUMNS)
    figure = Figure(figsize=(11, 1.75 * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, COLUMNS)
    for axis in axes.flat[len(PANELS[name]) :]:
        axis.axis("off")
    for axis, j in zip(axes.flat, PANELS[name], strict=False):
        panel(axis, j, published, simulated)
    title = f"{len(simulated):,} events of the toy collider"
    if published is not None:
        title = f"{len(published):,} published events beside {title}"
    figure.suptitle(f"{name.upper()}: {title}")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False
    )
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=130)


def panel(axis, j: int, published: Dataset | None, simulated: Dataset) -> None:
    """Draw the distributions of one column."""
    column = simulated.columns[j]
    bins = edges(column, (published or simulated).x[:, j])
    most = 0.0
    for label, (kind, colour) in CLASSES.items():
        toy = shares(simulated, j, label, bins)
        if published is not None:
            axis.stairs(
                shares(published, j, label, bins), bins, fill=True, color=colour,
                alpha=0.35, linewidth=0, label=f"{kind}, published",
            )  # fmt: skip
        axis.stairs(toy, bins, color=colour, linewidth=1.3, label=f"{kind}, toy")
        most = max(most, toy.max())
    title = column
    if column.endswith("b-tag"):
        middles = (bins[1:] + bins[:-1]) / 2
        axis.set_xticks(middles, [f"{middle:.2f}" for middle in middles])
    elif most > STEEP:
        axis.set_yscale("log")
        title += " (logarithmic)"
    axis.set_title(title, fontsize=9, pad=3)
    axis.set_ylim(bottom=1e-4 if axis.get_yscale() == "log" else 0)
    axis.set_xlim(bins[0], bins[-1])
    axis.set_yticks([], minor=False)
    axis.set_yticks([], minor=True)
    axis.tick_params(labelsize=7)
    axis.spines[["left", "right", "top"]].set_visible(False)
