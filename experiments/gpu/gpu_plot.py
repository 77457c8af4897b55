"""The roofline as a picture: one column of panels for each GPU."""

from pathlib import Path

import numpy as np

from experiments.gpu import gpu_targets
from experiments.gpu.gpu_measure import Row

# Okabe and Ito's palette: told apart with any colour vision, and in grey by marker.
STYLES = {
    "relu": ("#000000", "s", 6),
    "xla": ("#D55E00", "o", 6),
    "pallas": ("#0072B2", "^", 10),  # large: it lies under triton's
    "mosaic": ("#CC79A7", "v", 7),
    "triton": ("#009E73", "D", 4),
}
_TICKS = (1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16, 24)
_LINES = {"forward": "-", "gradient": "--"}


def write(rows: list[Row], path: Path) -> None:
    """Write ``path`` with the suffixes ``.png`` and ``.svg``."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row.target for row in rows))
    figure, axes = plt.subplots(
        2, len(names), figsize=(1.2 + 4.2 * len(names), 7.6), squeeze=False,
        sharey="row", layout="constrained",
    )  # fmt: skip
    for column, name in enumerate(names):
        own = [row for row in rows if row.target == name]
        _roofline(axes[0, column], gpu_targets.get(name), own)
        _ratios(axes[1, column], own)
    axes[0, 0].set_ylabel("FP32 instructions per second")
    axes[1, 0].set_ylabel("roofline time / ReLU's")
    most = max(row.ratio for row in rows)
    axes[1, 0].set_ylim(0.9, max(2.1, 1.15 * most))
    handles, labels = axes[1, 0].get_legend_handles_labels()
    columns = min(2 * len(names), 4)  # no wider than the figure
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False
    )
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    plt.close(figure)


def _roofline(axis, target: gpu_targets.Target, rows: list[Row]) -> None:
    """Throughput against intensity; the roof is bandwidth, then the FP32 pipe."""
    peak = target.per_second(target.fp32_lanes)
    intensity = np.geomspace(0.08, 90, 400)
    axis.loglog(
        intensity, np.minimum(peak, intensity * target.bandwidth), color="#888888"
    )
    ridge = peak / target.bandwidth
    axis.axvline(ridge, color="#BBBBBB", linewidth=0.8, linestyle=":")
    foot = axis.get_xaxis_transform()  # x as data, y as a share of the axis
    axis.text(ridge * 1.05, 0.03, f"{ridge:.1f}", transform=foot, fontsize=8)
    ends = _degrees(rows)[:1] + _degrees(rows)[-1:]
    for row in rows:
        colour, marker, points = STYLES[_family(row)]
        forward = row.which == "forward"
        x = row.fp32_per_element / row.bytes_per_element
        y = row.fp32_per_element * row.rows * row.width / (row.time_us * 1e-6)
        fill = colour if forward else "white"
        axis.plot(x, y, marker, color=colour, markerfacecolor=fill, markersize=points)
        labelled = row.degree in ends and forward and row.implementation == "xla"
        if row.degree is None or labelled:
            axis.annotate(
                "ReLU" if row.degree is None else f"n={row.degree}",
                (x, y),
                # Forward above the roof, gradient below: not on one another.
                xytext=(-3, 7) if forward else (3, -12),
                textcoords="offset points",
                ha="right" if forward else "left",
                fontsize=7,
                color=colour,
            )
    axis.set_title(f"{target.description}: {target.bandwidth / 1e9:,.0f} GB/s")
    axis.set_xlabel("FP32 instructions per byte")
    axis.margins(y=0.15)
    axis.grid(which="major", color="#EEEEEE")
    axis.set_axisbelow(True)


def _ratios(axis, rows: list[Row]) -> None:
    """Time against degree; 1 is as fast as ReLU can be."""
    axis.axhline(1, color="#000000", linewidth=0.8, label="ReLU")
    for family, (colour, marker, points) in STYLES.items():
        for which, line in _LINES.items():
            chosen = [r for r in rows if r.which == which and _family(r) == family]
            if family == "relu" or not chosen:
                continue
            axis.plot(
                [row.degree for row in chosen],
                [row.ratio for row in chosen],
                line + marker,
                color=colour,
                markerfacecolor=colour if which == "forward" else "white",
                markersize=points,
                label=f"{family} {which}",
            )
    axis.set_xticks(_degrees(rows))
    axis.set_xlabel("degree")
    axis.set_yscale("log")
    axis.set_yticks(_TICKS, [str(tick) for tick in _TICKS], minor=False)
    axis.minorticks_off()
    axis.grid(color="#EEEEEE")
    axis.set_axisbelow(True)


def _degrees(rows: list[Row]) -> list[int]:
    return sorted({row.degree for row in rows if row.degree is not None})


def _family(row: Row) -> str:
    return "relu" if row.degree is None else row.implementation
