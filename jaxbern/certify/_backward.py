"""Lines around every activation, substituted backward through the steps of a network.

To bound a step, write each of its entries as a linear form in the steps before it: a linear
step is put in as it is, an activation by its line below or above, whichever the sign of
its factor asks for, until only inputs are left. The least value of such a form is known.
Activations are taken in order, as the lines of later ones need the ranges of earlier.

Rounding is paid for as in :mod:`jaxbern.certify._propagate`: every substitution computes
factors that are off by ``gamma`` of the sizes of their products, and what multiplies them
lies in a known box; the sizes of all products are added up on the way.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify._ball import Ball, least
from jaxbern.certify._lines import Lines, lines
from jaxbern.certify._nodes import (
    ACTIVATIONS,
    Graph,
    Increasing,
    Linear,
    Sum,
    transposed,
)
from jaxbern.certify._rounding import Bounds, both, gamma, known, largest, size


class Bend(NamedTuple):
    """Lines around an activation, and the sizes that rounding in them is relative to."""

    lines: Lines  # of every entry, flat
    sizes: jax.Array


class Known(NamedTuple):
    """Ranges and lines of a network for one box of inputs."""

    boxes: dict[int, Bounds]  # of every step
    bends: dict[int, Bend]  # of every activation
    products: dict[int, jax.Array]  # of every linear step: sizes of its products
    empty: jax.Array  # []: whether no input meets all the limits
    factors: dict[int, jax.Array]  # in front of every step, in the bounds of the output


class Form(NamedTuple):
    """``y >= sum factors . step + constant - gamma sizes``, a row for each ``y``."""

    factors: dict[int, jax.Array]  # [rows, *shape of the step]
    constant: jax.Array  # [rows]
    sizes: jax.Array  # [rows]


def affine(
    graph: Graph,
    output: int,
    box: Bounds,
    ball: Ball | None = None,
    limits: dict[int, Bounds] | None = None,
) -> Known:
    """Bound all steps, including the output, for inputs in a box ``[1, ...]``.

    ``limits`` hold further bounds on what goes into activations: the ranges are then those
    of the inputs that meet them.
    """
    found = Known({0: box}, {}, {}, jnp.asarray(False), {})
    bent = False  # whether an activation, or a second mixing of inputs, came before
    mixed = 0
    for index in graph.needed(output)[1:]:
        step: Any = graph.steps[index]
        if isinstance(step, (*ACTIVATIONS, Increasing)):
            before = step.source
            if bent or mixed > 1 or ball is not None:
                tighter = backward(graph, before, found, box, ball).bounds
                found.boxes[before] = both(found.boxes[before], tighter)
            if limits is not None and index in limits:
                narrowed = both(found.boxes[before], limits[index])
                none = jnp.any(narrowed.lower > narrowed.upper)
                found = found._replace(empty=found.empty | none)
                found.boxes[before] = _ordered(narrowed)
            bent = True
        sources = [found.boxes[k] for k in step.sources]
        found.boxes[index] = step.interval(*sources, True)
        if isinstance(step, Linear):
            mixed += step.mixes
            found.products[index] = step.sizes(largest(sources[0]))
        elif isinstance(step, Increasing):
            found.bends[index] = _level(found.boxes[index])
        elif not isinstance(step, Sum):
            found.bends[index] = _bend(step, sources[0])
    last = backward(graph, output, found, box, ball)
    found.boxes[output] = both(found.boxes[output], last.bounds)
    return found._replace(factors=last.factors)


def _ordered(box: Bounds) -> Bounds:
    """Order the ends where limits left an empty range, so that lines exist."""
    return Bounds(jnp.minimum(box.lower, box.upper), jnp.maximum(box.lower, box.upper))


def _bend(step: Any, box: Bounds) -> Bend:
    flat = Bounds(box.lower.reshape(-1), box.upper.reshape(-1))
    found = lines(step.points(box), flat)
    (slope_below, below), (slope_above, above) = found
    steepest = jnp.maximum(jnp.abs(slope_below), jnp.abs(slope_above))
    offset = jnp.maximum(jnp.abs(below), jnp.abs(above))
    return Bend(found, size(steepest) * largest(flat) + size(offset))


def _level(box: Bounds) -> Bend:
    """Make horizontal lines at the ends of the range."""
    lower, upper = box.lower.reshape(-1), box.upper.reshape(-1)
    level = jnp.zeros_like(lower)
    return Bend(Lines((level, lower), (level, upper)), largest(Bounds(lower, upper)))


class Result(NamedTuple):
    """Bounds of a step, and the factors in front of every step on the way down."""

    bounds: Bounds
    factors: dict[int, jax.Array]


def backward(
    graph: Graph, target: int, found: Known, box: Bounds, ball: Ball | None
) -> Result:
    """Bound one step by substituting lines backward."""
    shape = graph.shape_of(target)
    count = math.prod(shape)
    eye = jnp.eye(count, dtype=box.lower.dtype)
    rows = jnp.concatenate([eye, -eye]).reshape(2 * count, *shape)
    nothing = jnp.zeros(2 * count, rows.dtype)
    form = Form({target: rows}, nothing, nothing)
    steps = graph.needed(target)
    longest = 0
    for index in reversed(steps[1:]):
        step: Any = graph.steps[index]
        longest = max(longest, math.prod(step.shape), getattr(step, "terms", 0))
        form = _through(graph, form, index, found)
    factors = form.factors[0].reshape(2 * count, -1)
    flat = Bounds(box.lower.reshape(-1), box.upper.reshape(-1))
    lowest, sizes = least(factors, flat, ball)
    terms = 2 * longest + factors.shape[1] + 4 * len(steps)
    error = gamma(terms, rows.dtype) * (form.sizes + sizes)
    ends = form.constant + lowest - error
    lower, upper = ends[:count].reshape(shape), -ends[count:].reshape(shape)
    return Result(known(Bounds(lower, upper)), form.factors)


def _through(graph: Graph, form: Form, index: int, found: Known) -> Form:
    """Replace one step in a form by what it is made of."""
    factors = form.factors[index]
    step: Any = graph.steps[index]
    if isinstance(step, Linear):
        if step.shift is not None:
            form = form._replace(constant=form.constant + _inner(factors, step.shift))
        if not step.exact:
            more = _inner(size(factors), found.products[index])
            form = form._replace(sizes=form.sizes + more)
        return _put(form, step.source, transposed(step, factors), found)
    if isinstance(step, Sum):
        for source in step.sources:
            form = _put(form, source, factors, found)
        return form
    bend = found.bends[index]
    (slope_below, below), (slope_above, above) = bend.lines
    flat = factors.reshape(len(factors), -1)
    positive, negative = jnp.maximum(flat, 0), jnp.minimum(flat, 0)
    form = form._replace(
        constant=form.constant + _inner(positive, below) + _inner(negative, above),
        sizes=form.sizes + _inner(size(flat), bend.sizes),
    )
    if isinstance(step, Increasing):  # its lines are level
        shape = graph.shape_of(step.source)
        return _put(
            form, step.source, jnp.zeros((len(flat), *shape), flat.dtype), found
        )
    inner = positive * slope_below[None] + negative * slope_above[None]
    return _put(form, step.source, inner.reshape(factors.shape), found)


def _put(form: Form, index: int, factors: jax.Array, found: Known) -> Form:
    """Add a step with these factors to a form."""
    have = form.factors.get(index)
    if have is None:
        return form._replace(factors=form.factors | {index: factors})
    # The sum is rounded, and multiplies a value that is known to lie in a box.
    total = have + factors
    more = _inner(size(have) + size(factors), largest(found.boxes[index]))
    return form._replace(factors=form.factors | {index: total}, sizes=form.sizes + more)


def _inner(factors: jax.Array, values: jax.Array) -> jax.Array:
    """Sum products over all entries, for each row."""
    flat = factors.reshape(len(factors), -1)
    return jnp.matmul(flat, values.reshape(-1), precision=jax.lax.Precision.HIGHEST)
