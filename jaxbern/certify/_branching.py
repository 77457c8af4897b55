"""Branch and bound: proofs part by part, where one bound for all inputs is too wide.

A *part* is a box of inputs together with limits on what goes into each activation; at first
one part holds all inputs of a row. A part whose margins are not all proved is cut in two,
along the input or along the activation that makes the bounds loose, and the halves are
bounded again. The halves cover the part, so a row is proved when none of its parts is
left. Stopped at any moment, what is proved stays proved.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify import _graphs
from jaxbern.certify._backward import affine
from jaxbern.certify._ball import Ball
from jaxbern.certify._nodes import ACTIVATIONS, Fixed
from jaxbern.certify._rounding import Bounds, gamma, only_if, size


class Parts(NamedTuple):
    """Parts of some rows; all arrays have a leading axis."""

    box: Bounds  # [parts, in], flat
    limits: Bounds  # [parts, neurons], of all activations one behind the other
    row: jax.Array  # [parts], which row it is of


class Report(NamedTuple):
    """Results of one pass for each part."""

    lower: jax.Array  # [parts, k], lower bounds of the margins
    proved: jax.Array  # [parts]
    neuron: jax.Array  # [parts], where to cut the limits, and at which value
    value: jax.Array
    entry: jax.Array  # [parts], which input to halve
    lowest: jax.Array  # [parts, in], where the bound of the worst margin is least


def neurons(kind: Any, numbers: Any, row: tuple[int, ...], dtype: Any) -> int:
    """Count the entries of all activations."""
    count = 0

    def run(numbers):
        nonlocal count
        whole = _graphs.of_network(kind, numbers, (1, *row), dtype)
        steps = [whole.graph.steps[k] for k in whole.graph.needed(whole.output)]
        count = sum(math.prod(s.shape) for s in steps if isinstance(s, ACTIVATIONS))
        return 0

    jax.eval_shape(run, numbers)
    return count


@functools.partial(jax.jit, static_argnames=("kind", "row"))
def bounded(
    kind: Any,
    numbers: Any,
    parts: Parts,
    weights: jax.Array,
    ball: Ball,
    *,
    row: tuple[int, ...],
) -> Report:
    """Bound the margins ``weights [parts, k, out]`` in every part, and where to cut."""
    shape, dtype = (1, *row), parts.box.lower.dtype
    whole = _graphs.of_network(kind, numbers, shape, dtype)

    def one(box, limits, weights, ball):
        graph, output, valid = _graphs.weighted(whole, weights[None])
        steps = [k for k in graph.needed(output)
                 if isinstance(graph.steps[k], ACTIVATIONS)]  # fmt: skip
        sizes = [math.prod(graph.shape_of(k)) for k in steps]
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        split: dict[int, Bounds] = {
            k: jax.tree.map(
                lambda a, at=at, n=n, k=k: a[at : at + n].reshape(graph.shape_of(k)),
                limits,
            )
            for k, at, n in zip(steps, starts, sizes, strict=True)
        }
        inputs = jax.tree.map(lambda end: end.reshape(shape), box)
        in_ball = None if ball.norm == math.inf else ball
        found = affine(graph, output, inputs, in_ball, split)
        lower = only_if(valid, found.boxes[output]).lower[0]
        worst = jnp.argmin(lower)
        factors = found.factors
        gaps, values = [jnp.full(1, -1, dtype)], [jnp.zeros(1, dtype)]
        for k in steps:
            step: Any = graph.steps[k]
            gap, value = _loose(found, k, step, factors[k][worst].reshape(-1))
            gaps.append(gap)
            values.append(value)
        # The first place stands for no neuron, in a network without activations.
        gap, value = jnp.concatenate(gaps), jnp.concatenate(values)
        best = jnp.argmax(gap)
        neuron = jnp.maximum(best - 1, 0)
        slope = factors[0][worst].reshape(-1)
        width = box.upper - box.lower
        entry = jnp.argmax((jnp.abs(slope) + 1e-3 * jnp.max(jnp.abs(slope))) * width)
        lowest = _lowest(slope, box, in_ball)
        empty = found.empty | _apart(box, in_ball)
        proved = jnp.all(lower > 0) | (empty & valid)
        return Report(lower, proved, neuron, value[best], entry, lowest)

    return jax.vmap(one)(parts.box, parts.limits, weights, ball)


def _lowest(slope: jax.Array, box: Bounds, ball: Ball | None) -> jax.Array:
    """Find where a linear function is least in a box, or in a ball clipped to the box."""
    if ball is None:
        return jnp.where(slope > 0, box.lower, box.upper)
    if ball.norm == 1:
        first = jnp.arange(len(slope)) == jnp.argmax(jnp.abs(slope))
        way = jnp.where(first, jnp.sign(slope), 0)
    else:
        way = slope / jnp.maximum(jnp.linalg.norm(slope), 1e-30)
    # Not quite to the surface: an input just outside would be no counterexample.
    return jnp.clip(ball.centre - (1 - 1e-5) * ball.radius * way, box.lower, box.upper)


def _apart(box: Bounds, ball: Ball | None) -> jax.Array:
    """Return whether a box and the ball are disjoint, with rounding errors included."""
    if ball is None:
        return jnp.asarray(False)
    dtype = box.lower.dtype
    sizes = size(ball.centre) + size(box.lower) + size(box.upper)
    gaps = jnp.maximum(box.lower - ball.centre, ball.centre - box.upper)
    gaps = jnp.maximum(gaps - gamma(0, dtype) * sizes, 0)
    distance = jnp.linalg.norm(gaps, ord=ball.norm) * (1 - gamma(len(gaps), dtype))
    return distance > ball.radius


def _loose(found, index: int, step: Any, factors: jax.Array):
    """Estimate how much each entry of an activation widens a bound, and where to cut.

    The estimate is the largest distance between its lines times its factor.
    """
    before = jax.tree.map(lambda a: a.reshape(-1), found.boxes[step.source])
    (slope_below, below), (slope_above, above) = found.bends[index].lines
    ends = [
        (slope_above - slope_below) * end + (above - below)
        for end in (before.lower, before.upper)
    ]
    gap = jnp.abs(factors) * jnp.maximum(*ends)
    gap = jnp.where(jnp.isfinite(gap) & (before.upper > before.lower), gap, -1)
    middle = 0.5 * before.lower + 0.5 * before.upper
    if isinstance(step, Fixed) and step.name in ("relu", "leaky_relu", "selu"):
        # Straight on both sides of the kink.
        inside = (before.lower < 0) & (before.upper > 0)
        middle = jnp.where(inside, 0, middle)
    return gap, middle
