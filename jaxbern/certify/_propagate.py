"""Bounds through all layers: intervals forward, and lines substituted backward.

*Interval*: each layer's box is computed from the box before it. Cheap, but it forgets that
neurons depend on the same inputs.

*Affine*: to bound a number ``y`` that is linear in a hidden layer, replace each activation
by its line below or above (by the sign of what multiplies it), then write what these
lines are of in terms of the layer before, down to the inputs, where ``y >= A x + c`` on a
box is least at a corner. Every hidden neuron is bounded in this way, layer by layer, as
the lines of later layers need the intervals of earlier ones.

Both are scans over the stacked layers. Only lower bounds are computed: ``y <= u`` is
``-y >= -u``.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify import _activation
from jaxbern.certify._ball import Ball, least
from jaxbern.certify._bernstein import Points
from jaxbern.certify._layers import Layer, Network, matmul, terms, through
from jaxbern.certify._lines import Lines, heights, lines
from jaxbern.certify._rounding import (
    Bounds,
    add,
    both,
    gamma,
    known,
    largest,
    size,
)
from jaxbern.nn import NetworkConfig


class Relaxed(NamedTuple):
    """Lines around a hidden layer's activations, and sizes that rounding is relative to."""

    lines: Lines
    of_inputs: jax.Array  # [in]: of h, the input of the layer
    of_products: jax.Array  # [W]: of kernel^T h + bias
    of_lines: jax.Array  # [W]: of slope x + offset


class Hidden(NamedTuple):
    """Ranges and lines of the hidden layers."""

    first: Bounds  # of x, the input of the activation, [W]
    others: Bounds  # the same, [depth - 1, W]
    last: Bounds  # of the output of the last one, [W]


def bounds(
    config: NetworkConfig,
    network: Network,
    box: Bounds,
    method: str,
    ball: Ball | None = None,
) -> Bounds:
    """Bound the outputs, ``[k]``, for inputs in a box ``[in]``, and in a ball if given."""
    if method == "interval":
        last = hidden(config, network, box, method, ball).last
        return through(network.last, last, terms(config))
    (_, _, last), below = _affine(config, network, box, ball)
    forward = through(network.last, last, terms(config))
    lines = _backward(config, network, network.last, last, below, box, ball)
    return both(forward, lines)


def hidden(
    config: NetworkConfig,
    network: Network,
    box: Bounds,
    method: str,
    ball: Ball | None = None,
) -> Hidden:
    """Bound every hidden layer."""
    if method == "affine":
        return _affine(config, network, box, ball)[0]
    coeffs = network.coeffs
    first = _first(config, network.first, box, ball)
    h = heights(_activation.points(config, _at(coeffs, 0), first))

    def step(h, of_layer):
        layer, coeffs = of_layer
        x = through(layer, h, terms(config))
        return _output(config, _activation.points(config, coeffs, x), h), x

    rest = network.hidden, _at(coeffs, slice(1, None))
    last, others = _scan(step, h, rest, like=first)
    return Hidden(first, others, last)


def _scan(step, carry, of_layers, like: Bounds):
    """Scan over all hidden layers but the first; ``step`` cannot be traced for none."""
    if len(of_layers[0].bias):
        return jax.lax.scan(step, carry, of_layers)
    return carry, jax.tree.map(lambda a: a[None][:0], like)


def _at(coeffs, index):
    return None if coeffs is None else coeffs[index]


def _output(config, points, h):
    y = heights(points)
    return add(y, h) if config.residual else y


class Below(NamedTuple):
    """The hidden layers that lines are known of."""

    first: Relaxed
    stack: Relaxed  # [depth - 1, ...]
    count: jax.Array | int  # of those in the stack; what is behind them is not used


def _first(config, layer: Layer, box: Bounds, ball: Ball | None) -> Bounds:
    """Bound the inputs of the first activations; in a ball, by the dual norm."""
    x = through(layer, box, terms(config))
    if ball is None:
        return x
    rows = jnp.concatenate([layer.kernel.T, -layer.kernel.T])
    lowest, sizes = least(rows, box, ball)
    ends = jnp.concatenate([layer.bias, -layer.bias]) + lowest
    both_sizes = jnp.concatenate([layer.bias_size, layer.bias_size]) + sizes
    ends = ends - gamma(terms(config), ends.dtype) * both_sizes
    lower, upper = jnp.split(ends, 2)
    return both(x, known(Bounds(lower, -upper)))


def _affine(config, network, box, ball) -> tuple[Hidden, Below]:
    coeffs = network.coeffs
    x = _first(config, network.first, box, ball)
    points = _activation.points(config, _at(coeffs, 0), x)
    first, h = _relax(network.first, points, box, x), heights(points)

    def step(carry, of_layer):
        h, stack = carry
        layer, coeffs, index = of_layer
        x = through(layer, h, terms(config))
        below = Below(first, stack, index)
        x = both(x, _backward(config, network, layer, h, below, box, ball))
        points = _activation.points(config, coeffs, x)
        new = _relax(layer, points, h, x)
        stack = jax.tree.map(lambda all, one: all.at[index].set(one), stack, new)
        return (_output(config, points, h), stack), x

    indices = jnp.arange(config.depth - 1)
    stack = _empty_stack(network.hidden, points)
    rest = network.hidden, _at(coeffs, slice(1, None)), indices
    (last, stack), others = _scan(step, (h, stack), rest, like=x)
    return Hidden(x, others, last), Below(first, stack, len(indices))


def _relax(layer: Layer, points: Points, h: Bounds, x: Bounds) -> Relaxed:
    found = lines(points, x)
    (slope_below, below), (slope_above, above) = found
    steepest = jnp.maximum(jnp.abs(slope_below), jnp.abs(slope_above))
    offset = jnp.maximum(jnp.abs(below), jnp.abs(above))
    return Relaxed(
        found,
        largest(h),
        _of_products(layer, h),
        size(steepest) * largest(x) + size(offset),
    )


def _of_products(layer: Layer, h: Bounds) -> jax.Array:
    return matmul(largest(h), layer.kernel_size) + layer.bias_size


def _empty_stack(layers: Layer, points: Points) -> Relaxed:
    """Make zeros for every hidden layer but the first."""
    layer = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), layers)
    box = Bounds(layer.bias, layer.bias)
    shapes = jax.eval_shape(_relax, layer, points, box, box)
    return jax.tree.map(
        lambda a: jnp.zeros((len(layers.bias), *a.shape), a.dtype), shapes
    )


class Form(NamedTuple):
    """``y >= factors h + constant - gamma sizes``, one row for each ``y``."""

    factors: jax.Array  # [rows, W]
    constant: jax.Array  # [rows]
    sizes: jax.Array  # [rows]


def _backward(
    config, network: Network, layer: Layer, h: Bounds, below: Below, box: Bounds, ball
) -> Bounds:
    """Bound ``kernel^T h + bias`` of the layer above these, for inputs in a box.

    Rounding: with each substitution numbers ``factors`` are computed that differ from the
    exact ones by ``gamma`` of their sizes, and what multiplies them (``x`` or ``h``) lies in
    a known box. So the form stays a lower bound if ``gamma`` times the sum of the sizes of
    all products is taken off; sizes are added up on the way. In the ``16`` of ``gamma``
    there is room for the roundings of ``constant``.
    """
    outputs = layer.kernel.shape[1]
    eye = jnp.eye(outputs, dtype=layer.kernel.dtype)
    rows = jnp.concatenate([eye, -eye])
    nothing = jnp.zeros(2 * outputs, rows.dtype)
    form = Form(rows, nothing, nothing)
    form = _through_linear(form, layer, _of_products(layer, h))

    def step(form, of_layer):
        layer, relaxed, index = of_layer
        known = index < below.count
        through_it = functools.partial(_through_hidden, config, layer, relaxed)
        return jax.lax.cond(known, through_it, lambda form: form, form), None

    layers = network.hidden, below.stack, jnp.arange(config.depth - 1)
    form, _ = jax.lax.scan(step, form, layers, reverse=True)
    form = _through_lines(form, below.first)
    form = _through_linear(form, network.first, below.first.of_products)
    lowest, sizes = least(form.factors, box, ball)
    error = gamma(terms(config), rows.dtype) * (form.sizes + sizes)
    ends = form.constant + lowest - error
    return known(Bounds(ends[:outputs], -ends[outputs:]))


def _through_hidden(config, layer: Layer, relaxed: Relaxed, form: Form) -> Form:
    below = _through_lines(form, relaxed)
    below = _through_linear(below, layer, relaxed.of_products)
    if not config.residual:
        return below
    return below._replace(
        factors=below.factors + form.factors,
        sizes=below.sizes + matmul(size(form.factors), relaxed.of_inputs),
    )


def _through_lines(form: Form, relaxed: Relaxed) -> Form:
    """Turn a form in the activations into one in their inputs."""
    (slope_below, below), (slope_above, above) = relaxed.lines
    positive, negative = jnp.maximum(form.factors, 0), jnp.minimum(form.factors, 0)
    return Form(
        positive * slope_below[None] + negative * slope_above[None],
        form.constant + matmul(positive, below) + matmul(negative, above),
        form.sizes + matmul(size(form.factors), relaxed.of_lines),
    )


def _through_linear(form: Form, layer: Layer, products: jax.Array) -> Form:
    """Turn a form in the inputs of activations into one in the layer before."""
    return Form(
        matmul(form.factors, layer.kernel.T),
        form.constant + matmul(form.factors, layer.bias),
        form.sizes + matmul(size(form.factors), products),
    )
