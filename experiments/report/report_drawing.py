"""Style of all figures, and their files: PNG, SVG, and SVG for the page.

In the page, text and lines take the colours of the page's theme: each colour below is
replaced by the CSS variable of its name, the colour itself standing in for it elsewhere.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.report.grid_groups import activation_order

INK, FAINT = "#23272e", "#9aa1ab"
# Red tones for fixed activations, blue tones for DBN, dark to light and light to dark.
FIXED = {
    "relu": "#8f1414",
    "leaky_relu": "#d23c34",
    "selu": "#ee7d6b",
    "gelu": "#f6b9a8",
}
DBN = ("#b3d3f2", "#6fa9e0", "#2f77c2", "#123f7a")
MARKERS = {"relu": "s", "leaky_relu": "D", "selu": "^", "gelu": "v"}
STYLE = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 100,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.transparent": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "jaxbern",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def colour(activation: str) -> str:
    """Return a colour: red tones for fixed activations, blue tones for DBN."""
    if activation in FIXED:
        return FIXED[activation]
    degree = activation_order(activation)[1]
    return DBN[sum(degree > limit for limit in (3, 9, 15))]


def marker(activation: str) -> str:
    """Return a marker, since not every reader can tell the colours apart."""
    return MARKERS.get(activation, "o")


@contextlib.contextmanager
def figure(
    size: tuple[float, float],
    shape: tuple[int, int] = (1, 1),
    *,
    right: float = 1.35,
    bottom: float = 0.55,
    **gaps: float,
) -> Iterator[Any]:
    """Make a figure and its axes, a 2-d array of the ``shape``.

    Margins are given in inches; automatic ones would take half of the drawing time and put
    the axes of similar figures at different places. The right margin holds the legend.
    """
    import matplotlib
    from matplotlib.figure import Figure

    width, height = size
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=size)
        axes = drawn.subplots(*shape, squeeze=False)
        drawn.subplots_adjust(
            left=0.65 / width,
            right=1 - right / width,
            bottom=bottom / height,
            top=1 - 0.35 / height,
            **gaps,
        )
        yield drawn, axes


def logarithmic(axis: Any) -> None:
    """Make the x axis logarithmic, with labels such as 10k and 1M."""
    from matplotlib import ticker

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axis.tick_params(axis="x", which="both", length=3.5, pad=3.5)
    low, high = axis.get_xlim()
    if high / low < 30:  # at most one power of ten inside: label some in between
        axis.xaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
        axis.xaxis.set_minor_formatter(ticker.EngFormatter(sep=""))
    else:
        axis.xaxis.set_minor_formatter(ticker.NullFormatter())


def save(drawn: Any, path: Path) -> str:
    """Write ``path`` with the suffixes .png and .svg; return the SVG for the page."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        drawn.savefig(path.with_suffix(".png"), dpi=130)
        text = io.StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None})
    path.with_suffix(".svg").write_text(text.getvalue(), encoding="utf-8")
    return for_page(text.getvalue(), path.stem)


def for_page(svg: str, name: str) -> str:
    """Return the ``<svg>`` element with unique names and the colours of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", svg, count=1)
    # Letters as large in every figure, if there is room.
    wide = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    most = 1.55 * float(wide[1]) if wide else 800
    svg = svg.replace("<svg", f'<svg style="max-width: {most:.0f}px"', 1)
    # The white sheet behind everything is the page's own.
    svg = re.sub(r"fill: #ffffff", "fill: none", svg)
    for variable, value in variables().items():
        svg = svg.replace(value, f"var(--{variable}, {value})")
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def variables() -> dict[str, str]:
    """Return the CSS variables of the colours."""
    named = {"ink": INK, "faint": FAINT}
    named |= {f"act-{name.replace('_', '-')}": value for name, value in FIXED.items()}
    return named | {f"act-dbn-{i}": value for i, value in enumerate(DBN)}


def variable(activation: str) -> str:
    """Return the CSS variable of an activation's colour."""
    named = {value: name for name, value in variables().items()}
    return named[colour(activation)]
