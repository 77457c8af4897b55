"""``plot.activation`` and ``plot.activations``: learned curves and their inputs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flax import nnx

from jaxbern.kernels.array_types import ArrayLike, Float, Shaped
from jaxbern.nn import Layer, layers
from jaxbern.plot import _canvas

_BEYOND = 0.12  # margin shown beyond the interval, as a fraction of its length
_FARTHEST = 0.5  # largest such margin, where inputs are outside
_BINS = 40


def activations(
    module: nnx.Module,
    inputs: Any = None,
    *,
    neurons: int = 6,
    rows: int = 6,
) -> Any:
    """Plot the learned activations of a network, one row of panels per layer.

    Finds ``jb.BernsteinAct`` layers anywhere in the network, and those of ``jb.MLP``. A
    panel has the curve over its interval and its control points ``c_k``. With ``inputs`` to
    the network, a histogram of the neuron's inputs is drawn under the curve; inputs
    outside the interval, where the neuron is constant or linear, are shaded and counted.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> model = jb.MLP(2, depth=2, width=3, degree=5, rngs=nnx.Rngs(0))
    >>> figure = jb.plot.activations(model, jnp.ones((8, 2)))
    >>> len(figure.axes) >= 6
    True

    Args:
      module: a ``flax.nnx`` network. It is not changed: a copy in evaluation mode is used.
      inputs: what to call it with, a tuple if it takes more than one argument.
      neurons: maximum number of neurons per layer, evenly spaced.
      rows: maximum number of layers, evenly spaced.

    Returns:
      The ``matplotlib`` figure.
    """
    found = layers(module, inputs)
    chosen = spread(len(found), rows)
    columns = spread(max(len(found[k].coeffs) for k in chosen), neurons)
    figure = _canvas.figure(max(2.3 * len(columns), 3.4), 0.3 + 2.0 * len(chosen))
    axes = figure.subplots(len(chosen), len(columns), squeeze=False)
    for row, k in zip(axes, chosen, strict=True):
        _fill(row, found[k], neurons)
    if len(chosen) < len(found):
        figure.suptitle(f"{len(chosen)} of {len(found)} layers", fontsize=10)
    return figure


def activation(
    coeffs: Float[ArrayLike, " terms"] | Sequence[float],
    *,
    lower: float = -3.0,
    upper: float = 3.0,
    outside: str = "clamp",
    inputs: Shaped[ArrayLike, "..."] | Sequence[float] | None = None,
    ax: Any = None,
) -> Any:
    """Plot one activation: the curve, its control points, a histogram of its inputs.

    >>> figure = activation([0.0, 2.0, -1.0, 1.0])

    Args:
      coeffs: the ``n + 1`` Bernstein coefficients.
      lower: left end of the interval.
      upper: right end.
      outside: ``"clamp"`` or ``"linear"``, as for :func:`jaxbern.bernstein`.
      inputs: inputs of the neuron, of any shape.
      ax: a ``matplotlib`` axis to draw into; a new figure if not given.

    Returns:
      The figure.
    """
    coeffs = np.asarray(coeffs, np.float64)
    if coeffs.ndim != 1 or not coeffs.size:
        raise ValueError(
            "coeffs must be the n+1 coefficients of one neuron, got shape "
            f"{list(coeffs.shape)}; write coeffs[0] for the first, or use "
            "jb.plot.activations(module) for all of a network"
        )
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, got {lower} and {upper}")
    if ax is None:
        ax = _canvas.figure(4.0, 3.0).subplots()
        ax.set_ylabel(r"$\sigma(x)$")
    seen = None if inputs is None else np.ravel(np.asarray(inputs, np.float64))
    start, stop = reach(lower, upper, seen)
    _beyond(ax, lower, upper, start, stop, shaded=seen is not None)
    x = np.linspace(lower, upper, 201)
    y = curve(coeffs, lower, upper, x, outside)
    control = np.linspace(lower, upper, len(coeffs))
    ax.plot(control, coeffs, "--", color=_canvas.CONTROL, linewidth=0.8, alpha=0.6)
    for tail in ([start, lower], [upper, stop]):
        beyond = curve(coeffs, lower, upper, np.array(tail), outside)
        ax.plot(tail, beyond, ":", color=_canvas.CURVE)
    ax.plot(x, y, color=_canvas.CURVE, linewidth=2.2)
    ax.plot(
        control, coeffs, "o", color=_canvas.CONTROL, markersize=5,
        markeredgecolor="white", markeredgewidth=0.7,
    )  # fmt: skip
    ax.set_xlim(start, stop)
    _canvas.bare(ax)
    if seen is not None:
        _histogram(ax, seen, lower, upper, start, stop)
    return ax.figure


def curve(
    coeffs: Float[np.ndarray, " terms"],
    lower: float,
    upper: float,
    x: Float[np.ndarray, " points"],
    outside: str = "clamp",
) -> Float[np.ndarray, " points"]:
    """Evaluate the activation at ``x [points]`` in double precision."""
    degree = len(coeffs) - 1
    place = (x - lower) / (upper - lower)
    t = np.clip(place, 0, 1)
    terms = [
        c * math.comb(degree, k) * t**k * (1 - t) ** (degree - k)
        for k, c in enumerate(coeffs)
    ]
    y = np.sum(terms, axis=0)
    if outside == "linear" and degree:
        y += degree * (coeffs[1] - coeffs[0]) * np.minimum(place, 0)
        y += degree * (coeffs[-1] - coeffs[-2]) * np.maximum(place - 1, 0)
    return y


def spread(count: int, most: int) -> list[int]:
    """Choose at most ``most`` of ``range(count)``, the first and the last among them.

    >>> spread(4, 6), spread(150, 4)
    ([0, 1, 2, 3], [0, 50, 99, 149])
    """
    if most < 1:
        raise ValueError(f"rows and neurons to draw must be at least 1, got {most}")
    return np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()


def reach(
    lower: float, upper: float, seen: Float[np.ndarray, " inputs"] | None
) -> tuple[float, float]:
    """Return the range to show: the interval and a margin, wider if inputs are outside."""
    length = upper - lower
    ends = np.array([lower - _BEYOND * length, upper + _BEYOND * length])
    finite = seen[np.isfinite(seen)] if seen is not None else np.array([])
    if finite.size:
        low, high = np.percentile(finite, [0.5, 99.5])
        most = lower - _FARTHEST * length, upper + _FARTHEST * length
        ends = np.array(
            [max(most[0], min(ends[0], low)), min(most[1], max(ends[1], high))]
        )
    return float(ends[0]), float(ends[1])


def _fill(row: Any, layer: Layer, neurons: int) -> None:
    """Draw one layer; panels without a neuron stay empty."""
    chosen = spread(len(layer.coeffs), neurons)
    for axis in row[len(chosen) :]:
        axis.axis("off")
    for axis, k in zip(row, chosen, strict=False):
        seen = None if layer.inputs is None else layer.inputs[:, k]
        activation(
            layer.coeffs[k],
            lower=float(layer.lower[k]),
            upper=float(layer.upper[k]),
            outside=layer.outside,
            inputs=seen,
            ax=axis,
        )
        axis.set_title(f"{layer.name}, neuron {k}", fontsize=8, pad=3)


def _beyond(ax, lower, upper, start, stop, *, shaded: bool) -> None:
    colour = _canvas.OUTSIDE if shaded else _canvas.INPUTS
    for left, right in ((start, lower), (upper, stop)):
        ax.axvspan(left, right, color=colour, alpha=0.14, linewidth=0)


def _histogram(ax, seen, lower, upper, start, stop) -> None:
    """Draw inputs in the lowest quarter of the panel, on a separate axis."""
    below = ax.twinx()
    below.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)  # transparent, so that the histogram shows
    inside = (seen >= lower) & (seen <= upper)  # NaN is outside
    shown = np.clip(seen[~np.isnan(seen)], start, stop)
    counts, edges = np.histogram(shown, _BINS, (start, stop))
    middles = (edges[1:] + edges[:-1]) / 2
    within = (middles >= lower) & (middles <= upper)
    for part, colour in ((within, _canvas.INPUTS), (~within, _canvas.OUTSIDE)):
        below.bar(
            middles[part], counts[part], width=np.diff(edges)[0], color=colour,
            alpha=0.65, linewidth=0,
        )  # fmt: skip
    below.set_ylim(0, 4 * max(counts.max(initial=0), 1))
    below.axis("off")
    share = 1 - inside.mean() if seen.size else 0.0
    colour = "#8A3F68" if share else "#666666"
    ax.set_xlabel(f"{share:.1%} of inputs outside", fontsize=7, color=colour)
