"""``plot.inspection``: fraction outside, spread and gain of every layer."""

from typing import Any

import numpy as np
from flax import nnx

from jaxbern.nn import Inspection, inspect
from jaxbern.plot import _canvas


def inspection(model: nnx.Module | Inspection, x: Any = None) -> Any:
    """Plot the result of :func:`jaxbern.inspect` for every layer.

    Layers go from left to right. The upper panel has the spread of the inputs, as a
    fraction of the interval, and the fraction outside it; the lower panel has the gain, on
    a logarithmic scale. Layers with another verdict than "fine" are marked.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> model = jb.MLP(2, depth=2, width=3, degree=5, rngs=nnx.Rngs(0))
    >>> figure = jb.plot.inspection(model, jnp.arange(8.0).reshape(4, 2))

    Args:
      model: a ``flax.nnx`` network, or an inspection that was made before.
      x: a batch of inputs to the network.

    Returns:
      The ``matplotlib`` figure.
    """
    found = model if isinstance(model, Inspection) else inspect(model, x)
    names = [layer.name for layer in found.layers]
    figure = _canvas.figure(max(4.0, 1.2 + 0.5 * len(names)), 4.2)
    upper, lower = figure.subplots(2, 1, sharex=True)
    at = np.arange(len(names))
    smallest = 1e-12  # a logarithmic axis has no zero
    for values, colour, label in (
        ([layer.spread for layer in found.layers], _canvas.CURVE, "spread of inputs"),
        ([layer.outside for layer in found.layers], _canvas.OUTSIDE, "outside"),
    ):
        upper.plot(at, values, "o-", color=colour, label=label)
    upper.set_ylabel("fraction of\nthe interval / of inputs", fontsize=8)
    upper.legend(fontsize=8, frameon=False)
    gains = np.maximum([layer.gain for layer in found.layers], smallest)
    lower.semilogy(at, gains, "o-", color=_canvas.CONTROL)
    lower.axhline(1, color=_canvas.INPUTS, linewidth=0.8)
    lower.set_ylabel("gain", fontsize=8)
    for k, layer in enumerate(found.layers):
        if layer.verdict != "fine":
            for axis in (upper, lower):
                axis.axvspan(k - 0.5, k + 0.5, color=_canvas.OUTSIDE, alpha=0.14)
    lower.set_xticks(at, names, rotation=45, ha="right", fontsize=7)
    _canvas.bare(upper)
    _canvas.bare(lower)
    return figure
