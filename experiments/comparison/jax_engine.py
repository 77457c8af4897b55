"""A ``flax.nnx`` module as programs to measure: one layer, and a training."""

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
    """Numbers that are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(nnx.state(module, nnx.Param)))


def count(make: Callable[[], Any]) -> int:
    """The same of a module that need not be made for it."""
    return parameters(nnx.eval_shape(make))


def layer(module: Any, x: np.ndarray, dy: np.ndarray) -> tuple[Callable, int, int]:
    """Forward and all gradients as one call, and its memory.

    Returns:
      the call, the bytes that a separate backward pass would need besides ``x`` and the
      parameters, and the bytes of results and temporaries by the compiler's account.
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
    """What goes from the forward to the backward pass: outputs of the first as traced.

    Not counted is what was given, and what depends on nothing, such as zeros.
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
    """Adam on batches, one compiled call for each, as the PyTorch ones take them."""

    def __init__(self, module: Any, task: Task, learning_rate: float):
        """Compile the step."""
        self.parameters = parameters(module)
        graph, params, rest = nnx.split(module, nnx.Param, ...)
        moments = optax.adam(learning_rate).init(params)
        # A list is handed over faster than the states of Flax are taken apart.
        self._state, tree = jax.tree.flatten((params, rest, moments))
        self._step, self._judge = _programs(graph, tree, task.classes)
        self._data = jnp.asarray(task.x), jnp.asarray(task.y)
        self._held_out = jnp.asarray(task.test_x), jnp.asarray(task.test_y)
        self._rate = jnp.float32(learning_rate)
        self._step(self._state, self._data, task.batches[0], self._rate)
        self.loss()

    def train(self, batches: np.ndarray) -> None:
        """One step for each row of ``batches``: numbers of training rows."""
        for rows in batches:
            self._state = self._step(self._state, self._data, rows, self._rate)
        jax.block_until_ready(self._state)

    def loss(self) -> float:
        """Loss on held-out rows."""
        return float(self._judge(self._state, *self._held_out))


@functools.cache
def _programs(graph: Any, tree: Any, classes: int) -> tuple[Callable, Callable]:
    """A step and the loss on held-out rows; the same ones for all seeds and rates."""

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
