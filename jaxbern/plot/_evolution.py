"""``plot.activation_evolution``: activations over the course of a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flax import nnx

from jaxbern.nn import Layer, layers
from jaxbern.plot import _canvas
from jaxbern.plot._activations import curve, spread


def activation_evolution(
    history: Mapping[float, Any] | Sequence[Any],
    *,
    lower: float = -3.0,
    upper: float = 3.0,
    neurons: int = 6,
    rows: int = 6,
    label: str = "step",
) -> Any:
    """Plot activations over the course of a training, first (dark) to last (light).

    >>> import numpy as np
    >>> history = {step: np.outer(step, [[0.0, 1.0, -1.0]]) for step in (0, 10, 20)}
    >>> figure = activation_evolution(history)

    Args:
      history: the network at several moments, by step or epoch, such as
        ``{step: nnx.clone(model)}``, or as a sequence. A moment is a ``flax.nnx`` network,
        or coefficients ``[W, n+1]``.
      lower: left end of the interval, for coefficients; networks know theirs.
      upper: right end.
      neurons: maximum number of neurons per layer, evenly spaced.
      rows: maximum number of layers, evenly spaced.
      label: what the keys of ``history`` count.

    Returns:
      The ``matplotlib`` figure.
    """
    moments = _moments(history, lower, upper)
    _check(moments)
    chosen = spread(len(moments[0][1]), rows)
    last = moments[-1][1]
    columns = max(len(spread(len(last[k].coeffs), neurons)) for k in chosen)
    figure = _canvas.figure(max(2.3 * columns, 3.4) + 0.9, 0.4 + 2.0 * len(chosen))
    axes = figure.subplots(len(chosen), columns, squeeze=False)
    times = [time for time, _ in moments]
    colours = _canvas.matplotlib("cm").ScalarMappable(
        _canvas.matplotlib("colors").Normalize(min(times), max(times)), _canvas.TIME
    )
    for row, k in zip(axes, chosen, strict=True):
        neurons_shown = spread(len(last[k].coeffs), neurons)
        for axis in row[len(neurons_shown) :]:
            axis.axis("off")
        for axis, neuron in zip(row, neurons_shown, strict=False):
            _panel(axis, [(time, found[k]) for time, found in moments], neuron, colours)
    figure.colorbar(colours, ax=axes, label=label, pad=0.02)
    return figure


def _panel(axis, moments: list[tuple[float, Layer]], neuron: int, colours) -> None:
    for time, layer in moments:
        lower, upper = float(layer.lower[neuron]), float(layer.upper[neuron])
        x = np.linspace(lower, upper, 101)
        y = curve(layer.coeffs[neuron], lower, upper, x)
        axis.plot(x, y, color=colours.to_rgba(time), linewidth=1.2)
    _, layer = moments[-1]
    axis.plot(x, y, color="black", linewidth=1.6)
    control = np.linspace(lower, upper, layer.coeffs.shape[1])
    axis.plot(control, layer.coeffs[neuron], "o", color=_canvas.CONTROL, markersize=4)
    axis.set_title(f"{layer.name}, neuron {neuron}", fontsize=8, pad=3)
    _canvas.bare(axis)


def _moments(history, lower, upper) -> list[tuple[float, list[Layer]]]:
    items = history.items() if isinstance(history, Mapping) else enumerate(history)
    return [(float(time), _layers(moment, lower, upper)) for time, moment in items]


def _layers(moment: Any, lower: float, upper: float) -> list[Layer]:
    if isinstance(moment, nnx.Module):
        return layers(moment)
    coeffs = np.asarray(moment, np.float64)
    if coeffs.ndim != 2:
        raise ValueError(
            "a moment of history must be a flax.nnx network or coefficients [W, n+1], "
            f"got shape {list(coeffs.shape)}"
        )
    low, up = (np.full(len(coeffs), end) for end in (lower, upper))
    return [Layer("activation", coeffs, low, up, "clamp")]


def _check(moments: list[tuple[float, list[Layer]]]) -> None:
    if not moments:
        raise ValueError("history must have at least one moment, got none")
    shapes = [[layer.coeffs.shape for layer in found] for _, found in moments]
    for (time, _), here in zip(moments, shapes, strict=True):
        if here != shapes[0]:
            raise ValueError(
                "every moment of history must be of one network: coefficients are "
                f"{shapes[0]} at {moments[0][0]:g} and {here} at {time:g}"
            )
