"""Networks as steps: a ``jb.MLP`` layer by layer, any other module by tracing it."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from jaxbern.certify import _rules, _trace
from jaxbern.certify._layers import fold
from jaxbern.certify._nodes import (
    Bernstein,
    Fixed,
    Graph,
    Linear,
    Step,
    Sum,
    transposed,
)
from jaxbern.certify._rounding import size
from jaxbern.nn import BERNSTEIN, MLP, NetworkConfig, update_running
from jaxbern.nn import forward as network_forward
from jaxbern.op import widths


class Whole(NamedTuple):
    """A network, ready for bounds."""

    graph: Graph
    output: int
    valid: jax.Array  # []: otherwise nothing can be said of what the network does


def of_network(kind: Any, numbers: Any, shape: tuple[int, ...], dtype: Any) -> Whole:
    """Trace a network in evaluation mode, for inputs of this shape including the batch.

    It is given as :func:`jaxbern.certify._programs.parts` takes it apart.
    """
    if isinstance(kind, NetworkConfig):
        params, running = numbers
        return _of_mlp(kind, params, running, shape, dtype)
    x = jnp.zeros(shape, dtype)
    start, end, _ = _trace.traced(_call(kind), numbers, x, training=False)
    return _whole(*_rules.steps(start, end))


def with_clean_pass(network: nnx.Module, x: jax.Array) -> tuple[Whole, jax.Array]:
    """Trace a network in its current mode, and compute its output at ``x``.

    In training mode statistics of a batch are those of ``x``, for the bounds as well, and
    the network keeps its running statistics as in any call.
    """
    if isinstance(network, MLP):
        return _mlp_with_clean_pass(network, x)
    graph, state = nnx.split(network)
    start, end, changed = _trace.traced(_call(graph), state, x, training=True)
    before = jax.tree.leaves(nnx.state(network, nnx.Not(nnx.Param)))
    after = jax.tree.leaves(changed)
    if any(one is not other for one, other in zip(before, after, strict=True)):
        nnx.update(network, changed)
    assert end.clean is not None
    return _whole(*_rules.steps(start, end)), end.clean


def _mlp_with_clean_pass(network: MLP, x: jax.Array) -> tuple[Whole, jax.Array]:
    config, params = network.config, network.params()
    running = network.mean[...], network.var[...]
    given = running if network.use_running_average else None
    out = network_forward(config, params, x, given)
    whole = _of_mlp(config, params, out.statistics, x.shape, x.dtype)
    if not network.use_running_average:
        network.mean[...], network.var[...] = update_running(
            config, running, out.statistics, len(x)
        )
    return whole, out.logits


def _call(graph: Any) -> Any:
    def call(state, x):
        network = nnx.merge(graph, state)
        return network(x), nnx.state(network, nnx.Not(nnx.Param))

    return call


def _of_mlp(config: NetworkConfig, params, running, shape, dtype) -> Whole:
    network = fold(config, params, running, None, dtype)
    graph, rows = Graph(shape), shape[:-1]
    width = (*rows, config.width)

    def linear(source: int, layer: Any, out: tuple[int, ...]) -> int:
        shift = jnp.broadcast_to(layer.bias, out)
        terms = max(layer.kernel.shape)
        before, kernel = graph.shape_of(source), (layer.kernel,)
        made = Linear(source, before, out, _matmul, kernel, shift, terms, mixes=True)
        return graph.append(made)

    h = 0
    for k in range(config.depth):
        layer = network.first
        if k:
            layer = jax.tree.map(lambda part, k=k: part[k - 1], network.hidden)
        z = linear(h, layer, width)
        made: Step = Fixed(z, width, config.activation)
        if config.activation == BERNSTEIN:
            assert network.coeffs is not None
            ones = (1,) * len(width)
            lower, upper = jnp.full(ones, config.lower), jnp.full(ones, config.upper)
            lower, upper = lower.astype(dtype), upper.astype(dtype)
            coeffs = network.coeffs[k].T.reshape(-1, *[1] * len(rows), config.width)
            made = Bernstein(z, width, coeffs, lower, upper, config.outside)
        y = graph.append(made)
        h = graph.append(Sum((h, y), width)) if k and config.residual else y
    output = linear(h, network.last, (*rows, config.out_features))
    return Whole(graph, output, network.valid)


def _matmul(x, kernel):
    return jnp.matmul(x, kernel, precision=jax.lax.Precision.HIGHEST)


def _whole(graph: Graph, output: int) -> Whole:
    """Return whether all numbers are finite and all intervals representable."""
    valid = jnp.asarray(True)
    for index in graph.needed(output):
        step = graph.steps[index]
        numbers: list[Any] = []
        if isinstance(step, Linear):
            numbers = [*step.constants, *([] if step.shift is None else [step.shift])]
        if isinstance(step, Bernstein):
            numbers = [step.coeffs, step.lower, step.upper]
            narrowest, widest = widths(step.coeffs.dtype)
            width = step.upper - step.lower
            valid &= jnp.all((narrowest <= width) & (width <= widest))
        for array in numbers:
            valid &= jnp.all(jnp.isfinite(array))
    return Whole(graph, output, valid)


def weighted(whole: Whole, weights: jax.Array) -> Whole:
    """Multiply the output ``[batch, out]`` by ``weights [batch, k, out]``.

    Multiplied into the linear steps at the end of the network: bounds of the difference
    of two logits are far tighter than the difference of their bounds.
    """
    graph, output, valid = whole
    factors, sizes = jnp.moveaxis(weights, 1, 0), jnp.moveaxis(size(weights), 1, 0)
    shift = shift_size = jnp.zeros(weights.shape[:2], weights.dtype)
    terms, step = weights.shape[-1], graph.steps[output]
    while isinstance(step, Linear):
        if step.shift is not None:
            shift = shift + _combine(step.shift, factors)
            own = size(step.shift) if step.shift_size is None else step.shift_size
            shift_size = shift_size + _combine(own, sizes)
        factors, sizes = transposed(step, factors), transposed(step, sizes, sizes=True)
        terms, output = terms + step.terms, step.source
        step = graph.steps[output]
    count = math.prod(factors.shape[2:])
    made = Linear(output, graph.shape_of(output), shift.shape, _combine, (factors,), shift,
                  terms + count, True, (sizes,), shift_size)  # fmt: skip
    return Whole(graph, graph.append(made), valid & jnp.all(jnp.isfinite(weights)))


def _combine(x: jax.Array, factors: jax.Array) -> jax.Array:
    """Contract ``x [batch, ...]`` and ``factors [k, batch, ...]`` to ``[batch, k]``."""
    flat, rows = factors.reshape(*factors.shape[:2], -1), x.reshape(len(x), -1)
    return jnp.einsum("kbf,bf->bk", flat, rows, precision=jax.lax.Precision.HIGHEST)
