"""``jaxbern.inspect``: whether a network's signal reaches its activations."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from flax import nnx

from jaxbern.nn._inside import Layer, layers
from jaxbern.nn._telemetry import SPREAD
from jaxbern.op import bernstein

# Thresholds of the verdicts. In networks that failed to learn, inputs used less than 1% of
# the interval from the second or third layer on; in those that learned, more than 5%.
DEAD, EXPLODED, OFTEN, WEAK = 0.01, 100.0, 0.5, 0.01
# A deep network without normalisation shrinks its signal with any activation, as slopes
# near zero are about one half. The activations are blamed if gelu would leave this much more.
BEHIND = 10.0


@dataclass(frozen=True)
class LayerUse:
    """How one layer of activations is used.

    Attributes:
      name: its path in the network.
      outside: the fraction of inputs outside the interval.
      spread: four standard deviations of the inputs over the length of the interval.
      gain: standard deviation of the outputs over that of the inputs.
      verdict: ``"fine"``, or what is wrong and what to try.
    """

    name: str
    outside: float
    spread: float
    gain: float
    verdict: str


@dataclass(frozen=True)
class Inspection:
    """Layers in call order; ``print`` shows a table."""

    layers: tuple[LayerUse, ...]

    @property
    def fine(self) -> bool:
        """Whether every layer is fine."""
        return all(layer.verdict == "fine" for layer in self.layers)

    def __str__(self) -> str:
        """Format a table with one row per layer."""
        width = max(len("layer"), *(len(layer.name) for layer in self.layers))
        lines = [
            f"{'layer':<{width}} {'outside':>8} {'spread':>8} {'gain':>8}  verdict"
        ]
        lines += [
            f"{each.name:<{width}} {_percent(each.outside):>8} {_percent(each.spread):>8} "
            f"{each.gain:>8.2g}  {each.verdict}"
            for each in self.layers
        ]
        return "\n".join(lines)


def inspect(model: nnx.Module, x: Any) -> Inspection:
    """Measure how inputs ``x`` use the activations of a network, with a verdict for each.

    For every ``jb.BernsteinAct`` and every layer of a ``jb.MLP`` it reports the fraction of
    inputs outside the interval; their spread, four standard deviations over its length
    (50% for standard normal inputs on [-4, 4]); and the gain, the factor by which the layer
    multiplies the standard deviation. A vanishing signal shows in the spread: the
    polynomials then see a single point, and gradients vanish too. Deep networks without
    normalisation shrink their signal with any activation; where gelu would leave as
    little, the verdict says so.

    >>> import jax, jaxbern as jb
    >>> from flax import nnx
    >>> rngs = nnx.Rngs(0)
    >>> model = nnx.Sequential(
    ...     nnx.Linear(4, 64, rngs=rngs),
    ...     jb.BernsteinAct(64, rngs=rngs),
    ...     nnx.Linear(64, 64, rngs=rngs),
    ...     jb.BernsteinAct(64, rngs=rngs),
    ... )
    >>> print(jb.inspect(model, jax.random.normal(jax.random.key(0), (256, 4))))
    layer     outside   spread     gain  verdict
    layers.1     0.1%      53%     0.57  fine
    layers.3    0.02%      30%     0.54  fine

    Args:
      model: a ``flax.nnx`` network. It is not changed: a copy in evaluation mode is run.
      x: a batch of inputs; a tuple if the network takes several arguments.
    """
    found = [layer for layer in layers(model, x) if layer.inputs is not None]
    if not found:
        raise ValueError("the network called none of its Bernstein activations")
    return Inspection(tuple(_uses(found)))


def _uses(found: list[Layer]) -> Iterator[LayerUse]:
    dead = None
    more = 1.0  # how much larger the signal would be with gelu in all layers so far
    for index, layer in enumerate(found):
        outside, spread, gain, ordinary = _measured(layer)
        if index == 0 and spread > 0:
            # Inputs that are too small before the first layer count as a fault as well.
            more = max(1.0, DEAD / spread)
        dies = spread < DEAD and (dead is not None or not more < BEHIND)
        if dies and dead is None:
            verdict = _dies(layer.name, spread)
            dead = layer.name
        elif dies:
            verdict = f"dead since {dead}"
        else:
            verdict = _verdict(layer, outside, spread, gain)
        yield LayerUse(layer.name, outside, spread, gain, verdict)
        more *= ordinary / gain if gain > 0 else math.inf


def _measured(layer: Layer) -> tuple[float, float, float, float]:
    """Return fraction outside, spread, gain, and gain of gelu, over a layer's neurons."""
    x = np.asarray(layer.inputs, np.float32)
    if len(x) < 2:
        raise ValueError(
            f"x must be a batch: {layer.name} saw one row, which has no spread"
        )
    coeffs = np.asarray(layer.coeffs, np.float32)
    ends = {"lower": layer.lower, "upper": layer.upper, "outside": layer.outside}
    y = np.asarray(bernstein(jax.numpy.asarray(x), coeffs, **ends), np.float64)
    gelu = np.asarray(jax.nn.gelu(jax.numpy.asarray(x)), np.float64)
    x = x.astype(np.float64)
    inner, outer = x.var(axis=0), y.var(axis=0)
    length = layer.upper - layer.lower
    outside = np.mean(~((x >= layer.lower) & (x <= layer.upper)))  # NaN is outside
    spread = SPREAD * math.sqrt(np.mean(inner / length**2))
    gain, ordinary = (
        math.sqrt(after.mean() / inner.mean()) if inner.mean() > 0 else 0.0
        for after in (outer, gelu.var(axis=0))
    )
    return float(outside), spread, gain, ordinary


def _dies(name: str, spread: float) -> str:
    return (
        f"signal dies in {name}: inputs use {_percent(spread)} of the interval; "
        "start as silu, or normalise before"
    )


def _verdict(layer: Layer, outside: float, spread: float, gain: float) -> str:
    """Return the verdict on a layer whose signal has not vanished."""
    if not math.isfinite(spread):
        return "inputs are not finite"
    if spread < DEAD:
        return (
            f"as small as with gelu: inputs use {_percent(spread)} of the interval; "
            "normalise before, or larger weights"
        )
    if spread > EXPLODED:
        return f"signal explodes in {layer.name}: normalise before, or smaller weights"
    if outside > OFTEN and layer.outside == "clamp":
        return (
            f"{_percent(outside)} of inputs are clamped and pass no gradient: "
            'outside="linear", a wider interval, or normalise before'
        )
    if outside > OFTEN:
        return (
            f"{_percent(outside)} of inputs are on the straight lines outside: a wider "
            "interval, or normalise before"
        )
    if gain < WEAK:
        return f"outputs hardly move: their spread is {_percent(gain)} of the inputs'"
    return "fine"


def _percent(fraction: float) -> str:
    """Format with two significant digits, with an exponent only for tiny fractions."""
    value = 100 * fraction
    if not math.isfinite(value):
        return str(value)
    if value >= 10:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if value >= 0.1 or value == 0 else f"{value:.1g}%"
