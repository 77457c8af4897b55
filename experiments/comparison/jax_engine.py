"""Measure a ``flax.nnx`` module: one layer, and a training."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import jit

from experiments.comparison.comparison_tasks import Task


def parameters(module: Any) -> int:
    """Return the number of parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(nnx.state(module, nnx.Param)))


def count(make: Callable[[], Any]) -> int:
    """Count the parameters of a module without creating it."""
    return parameters(nnx.eval_shape(make))


def layer(module: Any, x: np.ndarray, dy: np.ndarray) -> tuple[Callable, int, int]:
    """Compile forward and all gradients as one call, and measure its memory.

    Returns:
      The call; the bytes of residuals besides ``x`` and the parameters; and the bytes of
      results and temporaries that the compiler reports.
    """
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    arrays = params, jnp.asarray(x), jnp.asarray(dy)

    def apply(params, x):
        return nnx.merge(graph, params, rest)(x)

    def step(params, x, dy):
        y, pull = jax.vjp(apply, params, x)
        return y, *pull(dy)

    compiled = jit(step).lower(*arrays).compile()
    memory = compiled.memory_analysis()
    peak = memory.output_size_in_bytes + memory.temp_size_in_bytes if memory else 0
    kept = _kept(apply, params, arrays[1])
    return lambda: jax.block_until_ready(compiled(*arrays)), kept, peak


def _kept(apply: Callable, params: Any, x: jax.Array) -> int:
    """Return the bytes of residuals, from the traced forward pass.

    Inputs and constants such as zeros are not counted.
    """
    traced = jax.make_jaxpr(lambda *args: jax.vjp(apply, *args)[1])(params, x).jaxpr
    computed: set[int] = set()
    known = {id(given) for given in traced.invars}
    for equation in traced.eqns:
        if any(id(used) in known for used in equation.invars):
            outputs = {id(made) for made in equation.outvars}
            computed |= outputs
            known |= outputs
    kept = {id(v): v.aval for v in traced.outvars if id(v) in computed}
    return sum(aval.size * aval.dtype.itemsize for aval in kept.values())


class Trainer:
    """Adam on batches, one compiled call per batch, as in the PyTorch trainer."""

    def __init__(self, module: Any, task: Task, learning_rate: float):
        """Compile the step."""
        self.parameters = parameters(module)
        graph, params, rest = nnx.split(module, nnx.Param, ...)
        moments = optax.adam(learning_rate).init(params)
        # Passing a flat list is faster than flattening the states of Flax at every call.
        self._state, tree = jax.tree.flatten((params, rest, moments))
        self._step, self._judge = _programs(graph, tree, task.classes)
        self._data = jnp.asarray(task.x), jnp.asarray(task.y)
        self._held_out = jnp.asarray(task.test_x), jnp.asarray(task.test_y)
        self._rate = jnp.float32(learning_rate)
        self._step(self._state, self._data, task.batches[0], self._rate)
        self.loss()

    def train(self, batches: np.ndarray) -> None:
        """Take one step for each row of ``batches``, which are indices of training rows."""
        for rows in batches:
            self._state = self._step(self._state, self._data, rows, self._rate)
        jax.block_until_ready(self._state)

    def loss(self) -> float:
        """Return the loss on held-out rows."""
        return float(self._judge(self._state, *self._held_out))


@functools.cache
def _programs(graph: Any, tree: Any, classes: int) -> tuple[Callable, Callable]:
    """Return compiled step and held-out loss, cached for all seeds and rates."""

    def loss(params, rest, x, y):
        model = nnx.merge(graph, params, rest, copy=True)
        model.train()
        value = _loss(classes, model(x), y)
        return value, nnx.state(model, nnx.Not(nnx.Param))

    @jit
    def step(state, data, rows, rate):
        params, rest, moments = jax.tree.unflatten(tree, state)
        batch = (array[rows] for array in data)
        gradients, rest = jax.grad(loss, has_aux=True)(params, rest, *batch)
        updates, moments = optax.adam(rate).update(gradients, moments)
        return jax.tree.leaves((optax.apply_updates(params, updates), rest, moments))

    @jit
    def judge(state, x, y):
        params, rest, _ = jax.tree.unflatten(tree, state)
        model = nnx.merge(graph, params, rest)
        model.eval()
        return _loss(classes, model(x), y)

    return step, judge


def _loss(classes: int, found: jax.Array, y: jax.Array) -> jax.Array:
    if classes:
        each = optax.softmax_cross_entropy_with_integer_labels(found, y)
    else:
        each = jnp.square(found[:, 0] - y)
    return jnp.mean(each)
