"""The compiled programs of ``bounds`` and ``lipschitz``, and the batching of boxes."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxbern.certify import _bernstein, _graphs, _lipschitz, _propagate
from jaxbern.certify._backward import affine
from jaxbern.certify._ball import Ball
from jaxbern.certify._layers import fold
from jaxbern.certify._lines import heights
from jaxbern.certify._nodes import intervals
from jaxbern.certify._rounding import Bounds, largest, only_if
from jaxbern.certify._split_boxes import split
from jaxbern.nn import MLP, BernsteinAct, NetworkConfig, forward
from jaxbern.op import widths

# So many boxes at a time: the affine method keeps matrices [2W, W] for each.
AT_ONCE = 64


def parts(network: nnx.Module) -> tuple[Any, Any]:
    """Split a network into what a program is compiled for, and the arrays it takes."""
    if isinstance(network, MLP):
        numbers = network.params(), (network.mean[...], network.var[...])
        return network.config, numbers
    return nnx.split(network)


def outputs(kind: Any, numbers: Any, row: tuple[int, ...], dtype: Any) -> int | None:
    """Count the outputs for one row; None if the output is not ``[rows, outputs]``."""
    if isinstance(kind, NetworkConfig):
        return kind.out_features
    shape = jax.ShapeDtypeStruct((1, *row), dtype)

    def run(numbers, x):
        return nnx.merge(kind, numbers)(x)

    try:
        found = jax.eval_shape(run, numbers, shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the network cannot take inputs of shape {[1, *row]}: {error}"
        ) from error
    return found.shape[1] if found.ndim == 2 else None


@functools.partial(jax.jit, static_argnames=("kind", "row", "method", "splits"))
def bounds(
    kind: Any,
    numbers: Any,
    box: Bounds,
    weights: jax.Array | None,
    ball: Ball | None,
    *,
    row: tuple[int, ...],
    method: str,
    splits: int,
) -> Bounds:
    """Bound the outputs for every box ``[..., *row]``."""
    leading = box.lower.shape[: box.lower.ndim - len(row)]
    count = math.prod(leading)
    boxes = jax.tree.map(lambda end: end.reshape(count, math.prod(row)), box)
    if ball is not None:
        radius = jnp.broadcast_to(ball.radius, leading).reshape(count)
        ball = Ball(ball.centre.reshape(boxes.lower.shape), radius, ball.norm)
    if weights is not None and weights.ndim > 2:
        weights = weights.reshape(count, *weights.shape[-2:])
    if method == "fast":
        found, valid = _fast(kind, numbers, boxes, weights, row)
    else:
        one, valid = _one(kind, numbers, row, method, box.lower.dtype)
        guide = _guide(kind, numbers, row)
        each = _over_parts(one, guide, boxes, weights, ball, splits)
        found = Bounds(jnp.min(each.lower, axis=1), jnp.max(each.upper, axis=1))
    holds = valid & _ordered(boxes)
    spread = holds.reshape(count, *[1] * (found.lower.ndim - 1))
    found = only_if(spread, found)
    return jax.tree.map(lambda a: a.reshape(*leading, *a.shape[1:]), found)


def _one(kind, numbers, row, method: str, dtype) -> tuple[Callable, jax.Array]:
    """Bound one flat box, and return whether the network's numbers allow any."""
    if isinstance(kind, NetworkConfig):
        params, running = numbers
        plain = fold(kind, params, running, None, dtype)

        def of_mlp(box, weights, ball):
            folded = plain
            if weights is not None:
                folded = fold(kind, params, running, weights, dtype)
            found = _propagate.bounds(kind, folded, box, method, ball)
            return only_if(folded.valid, found)

        return of_mlp, plain.valid
    shape = (1, *row)
    whole = _graphs.of_network(kind, numbers, shape, dtype)

    def of_module(box, weights, ball):
        this = whole
        box = jax.tree.map(lambda end: end.reshape(shape), box)
        if weights is not None:
            this = _graphs.weighted(whole, weights.astype(dtype)[None])
        if method == "affine":
            found = affine(this.graph, this.output, box, ball).boxes[this.output]
        else:
            found = intervals(this.graph, this.output, box, rigorous=True)[this.output]
        return only_if(this.valid, jax.tree.map(lambda a: a[0], found))

    return of_module, whole.valid


def _fast(kind, numbers, boxes: Bounds, weights, row) -> tuple[Bounds, jax.Array]:
    """Compute intervals of all rows at once, without rounding terms."""
    count, dtype = len(boxes.lower), boxes.lower.dtype
    whole = _graphs.of_network(kind, numbers, (count, *row), dtype)
    if weights is not None:
        weights = jnp.broadcast_to(weights, (count, *weights.shape[-2:])).astype(dtype)
        whole = _graphs.weighted(whole, weights)
    box = jax.tree.map(lambda end: end.reshape(count, *row), boxes)
    found = intervals(whole.graph, whole.output, box, rigorous=False)[whole.output]
    return found, whole.valid


@functools.partial(jax.jit, static_argnames=("config", "dtype", "norm", "method"))
def constant(config, numbers, weights, dtype, *, norm, method) -> jax.Array:
    """Compute a Lipschitz constant for all inputs."""
    params, running = numbers
    network = fold(config, params, running, weights, dtype)
    found = _lipschitz.lipschitz(config, network, None, norm=norm, method=method)
    return _at_most(found, network.valid)


@functools.partial(jax.jit, static_argnames=("config", "norm", "method", "splits"))
def constant_in(config, numbers, box, weights, *, norm, method, splits) -> jax.Array:
    """Compute a Lipschitz constant for every box ``[..., in]``."""
    leading, row = box.lower.shape[:-1], box.lower.shape[-1:]
    params, running = numbers
    network = fold(config, params, running, weights, box.lower.dtype)

    def one(box, weights, ball):
        del weights, ball  # the first are in the network already
        return _lipschitz.lipschitz(config, network, box, norm=norm, method=method)

    boxes = jax.tree.map(lambda end: end.reshape(-1, *row), box)
    guide = _guide(config, numbers, row)
    found = jnp.max(_over_parts(one, guide, boxes, weights, None, splits), axis=1)
    return _at_most(found, network.valid & _ordered(boxes)).reshape(leading)


def _ordered(boxes: Bounds) -> jax.Array:
    """Return whether each box has ordered ends, ``[boxes]``; ``jit`` cannot raise for it."""
    return jnp.all(boxes.lower <= boxes.upper, axis=-1)


def _at_most(constant: jax.Array, holds: jax.Array) -> jax.Array:
    """Return the constant where ``holds``, else infinity, also for NaN."""
    return jnp.where(holds & ~jnp.isnan(constant), constant, jnp.inf)


def _guide(kind: Any, numbers: Any, row: tuple[int, ...]) -> Callable:
    """Evaluate the network at one input, to choose where to split."""

    def f(x: jax.Array, weights: jax.Array | None) -> jax.Array:
        x = x.reshape(1, *row)
        if isinstance(kind, NetworkConfig):
            logits = forward(kind, numbers[0], x, numbers[1]).logits[0]
        else:
            logits = nnx.merge(kind, numbers)(x)[0]
        return logits if weights is None else weights.astype(logits.dtype) @ logits

    return f


def _over_parts(one, guide, boxes: Bounds, weights, ball, splits: int) -> Any:
    """Apply ``one`` to each part of each box, ``[boxes, parts, *result]``."""
    count, each_its_own = len(boxes.lower), weights is not None and weights.ndim > 2

    def run(given):
        box, own, ball = given
        return one(box, own if each_its_own else weights, ball)

    own = weights if each_its_own else None
    if splits:

        def cut(given):
            box, own = given
            f = functools.partial(guide, weights=own if each_its_own else weights)
            return split(f, box, splits)

        boxes = jax.vmap(cut)((boxes, own))
        boxes = jax.tree.map(lambda end: end.reshape(-1, end.shape[-1]), boxes)
        own, ball = jax.tree.map(lambda a: jnp.repeat(a, 2**splits, 0), (own, ball))
    given, total = (boxes, own, ball), len(boxes.lower)
    if total <= AT_ONCE:
        found = jax.vmap(run)(given)
    else:
        # Whole batches: a shorter last one would be compiled as a program of its own.
        given = jax.tree.map(lambda a: _lengthened(a, -total % AT_ONCE), given)
        found = jax.lax.map(run, given, batch_size=AT_ONCE)
        found = jax.tree.map(lambda a: a[:total], found)
    return jax.tree.map(lambda a: a.reshape(count, 2**splits, *a.shape[1:]), found)


def _lengthened(array: jax.Array, more: int) -> jax.Array:
    """Repeat the last row of an array this number of times."""
    return jnp.concatenate([array, jnp.repeat(array[-1:], more, axis=0)])


def of_activation(each: Callable, network: BernsteinAct, box: Bounds) -> Any:
    """Apply ``each`` to every ``[in]`` of a box ``[..., in]``."""
    coeffs, (lower, upper) = network.coefficients, network.interval
    numbers = [jnp.asarray(a, box.lower.dtype) for a in (coeffs, lower, upper)]
    # One polynomial for all inputs is as many equal ones.
    numbers[0] = jnp.broadcast_to(numbers[0], (box.lower.shape[-1], coeffs.shape[-1]))
    leading = box.lower.shape[:-1]
    rows = jax.tree.map(lambda end: end.reshape(-1, end.shape[-1]), box)
    found = each(*numbers, rows, network.config.outside)
    return jax.tree.map(lambda a: a.reshape(*leading, *a.shape[1:]), found)


@functools.partial(jax.jit, static_argnums=4)
def ranges(coeffs, lower, upper, boxes: Bounds, outside: str) -> Bounds:
    """Bound every neuron, for every box ``[W]``."""

    def one(box):
        found = heights(_bernstein.points(coeffs, lower, upper, box, outside))
        return only_if(_usable(coeffs, lower, upper, box), found)

    return jax.vmap(one)(boxes)


@functools.partial(jax.jit, static_argnums=4)
def steepest(coeffs, lower, upper, boxes: Bounds, outside: str) -> jax.Array:
    """Bound the steepest slope of all neurons, for every box ``[W]``."""

    def one(box):
        found = _bernstein.slopes(coeffs, lower, upper, box, outside)
        return jnp.max(largest(only_if(_usable(coeffs, lower, upper, box), found)))

    return jax.vmap(one)(boxes)


def _usable(coeffs, lower, upper, box: Bounds) -> jax.Array:
    """Return whether a neuron's numbers, interval and box are valid, ``[W]``."""
    narrowest, widest = widths(coeffs.dtype)
    width = upper - lower  # of a learned interval, or a batch's
    interval = (narrowest <= width) & (width <= widest)
    finite = jnp.all(jnp.isfinite(coeffs), axis=1)
    return finite & interval & (box.lower <= box.upper)
