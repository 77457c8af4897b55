"""Train all networks of one kind on one task in a single compiled call.

A *run* is a setting and a seed; the seed draws the training points, the held-out points
and the initial weights. ``vmap`` maps over the runs: 32 seeds of the base setting, then a
few of each variant. Each run is full-batch Adam under a cosine schedule,
the same for both kinds of network.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import jit

import jaxbern as jb
from experiments.capacity.capacity_tasks import (
    HELD_OUT,
    INTERVAL,
    Budget,
    Network,
    Setting,
    Task,
)


class OneHidden(nnx.Module):
    """Linear, activation, Linear; Bernstein polynomials, or ReLU if ``degree`` is None.

    BatchNorm is left out by default. Without a shift it would put the kink of every ReLU at
    the mean of its inputs, which in one dimension is a single point for all neurons. Inputs
    are standardised instead, and a Bernstein activation learns to use its interval.
    """

    def __init__(
        self,
        features: int,
        width: int,
        degree: int | None,
        outputs: int,
        *,
        batchnorm: bool = False,
        rngs: nnx.Rngs,
    ):
        """Draw weights and biases as PyTorch does, coefficients as ``jb.BernsteinAct``."""
        self.batchnorm = batchnorm
        self.first = _linear(features, width, rngs)
        self.act = nnx.relu if degree is None else _bernstein(width, degree, rngs)
        self.last = _linear(width, outputs, rngs)

    def __call__(self, x: jax.Array, batch: jax.Array | None = None) -> jax.Array:
        """Apply the network: ``[..., features]`` to ``[..., outputs]``."""
        return self.last(self.act(self.hidden_inputs(x, batch)))

    def hidden_inputs(self, x: jax.Array, batch: jax.Array | None = None) -> jax.Array:
        """Return the inputs of the activations, ``[..., width]``.

        BatchNorm, with neither scale nor shift, takes its statistics from ``batch``: all
        training points, in every step and in evaluation.
        """
        z = self.first(x)
        if not self.batchnorm:
            return z
        if batch is None:
            raise ValueError(
                "a network with BatchNorm needs batch, the training points"
            )
        own = self.first(batch)
        mean, var = own.mean(axis=0), own.var(axis=0)
        return (z - mean[None]) * jax.lax.rsqrt(var + 1e-5)[None]


def _bernstein(width: int, degree: int, rngs: nnx.Rngs) -> jb.BernsteinAct:
    lower, upper = INTERVAL
    paper = {"outside": "clamp", "init": "paper"}
    return jb.BernsteinAct(width, degree, lower=lower, upper=upper, **paper, rngs=rngs)


def _linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    """Draw weights and biases uniform in ``+-1 / sqrt(inputs)``."""
    most = 1 / math.sqrt(inputs)

    def uniform(key, shape, dtype):
        return jax.random.uniform(key, shape, dtype, -most, most)

    return nnx.Linear(
        inputs, outputs, kernel_init=uniform, bias_init=uniform, rngs=rngs
    )


class Run(NamedTuple):
    """One training: ``variant`` is empty for the base setting."""

    variant: str
    seed: int
    setting: Setting


class Points(NamedTuple):
    """The points of all runs, with a leading axis of runs; inputs standardised."""

    x: Any
    y: Any
    held_out_x: Any
    held_out_y: Any
    mean: Any  # of the training inputs, to undo the standardisation
    deviation: Any


class Trained(NamedTuple):
    """The result of the compiled call, with a leading axis of runs on each array."""

    value: Any  # accuracy in percent, or MSE, on held-out points
    learned: Any  # the same on the training points
    outside: Any  # fraction of held-out points outside the interval, mean over neurons
    history: Any  # parameters after each part of the training: [runs, snapshots, ...]


def runs_of(task: Task, budget: Budget) -> list[Run]:
    """Return the base setting with all seeds, then every variant with a few."""
    runs = [Run("", seed, task.base) for seed in range(budget.seeds)]
    for name, setting in task.variants.items():
        runs += [Run(name, seed, setting) for seed in range(budget.seeds_of_variants)]
    return runs


def draw(task: Task, runs: list[Run]) -> Points:
    """Draw the points of all runs."""
    drawn = [_draw(task, run) for run in runs]
    return Points(*(np.stack(arrays) for arrays in zip(*drawn, strict=True)))


def _draw(task: Task, run: Run) -> Points:
    setting = run.setting
    learned, judged = np.random.default_rng(run.seed).spawn(2)
    x, y = task.draw(learned, setting.points, setting.noise, setting.geometry)
    # Held-out functions have no noise; held-out classes are as drawn.
    noise = setting.noise if task.classification else 0.0
    other_x, other_y = task.draw(judged, HELD_OUT, noise, setting.geometry)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    # Smaller sets are repeated: the same loss, in arrays of the same shape.
    times = task.base.points // setting.points
    x, y = np.tile(x, (times, 1)), np.tile(y, times)
    x, other_x = ((each - mean) / deviation for each in (x, other_x))
    arrays = (x, y, other_x, other_y, mean, deviation)
    return Points(*(a if a.dtype == np.int32 else np.float32(a) for a in arrays))


def compiled(
    task: Task,
    network: Network,
    runs: list[Run],
    points: Points,
    budget: Budget,
    *,
    batchnorm: bool = False,
) -> Callable[[], Trained]:
    """Compile the training of all runs as one program."""
    # Created one by one, as a user does: compiling the initialisation takes longer.
    modules = {
        seed: build(task, network, seed, batchnorm)
        for seed in {run.seed for run in runs}
    }
    graph = nnx.graphdef(modules[runs[0].seed])
    starts = [nnx.state(modules[run.seed]) for run in runs]
    start = jax.tree.map(lambda *arrays: np.stack(arrays), *starts)
    rates = np.array([run.setting.learning_rate for run in runs], np.float32)
    one = functools.partial(_train_one, task, graph, budget)
    program = jit(jax.vmap(one)).lower(start, rates, points).compile()
    return lambda: jax.tree.map(np.asarray, program(start, rates, points))


def build(
    task: Task, network: Network, seed: int, batchnorm: bool = False
) -> OneHidden:
    """Create an untrained network."""
    return OneHidden(
        task.features,
        network.width,
        network.degree,
        task.outputs,
        batchnorm=batchnorm,
        rngs=nnx.Rngs(seed),
    )


def with_parameters(task: Task, network: Network, parameters: Any) -> OneHidden:
    """Return the network of a run; ``parameters`` have no axis of runs."""
    module = build(task, network, 0)
    nnx.update(module, parameters)
    return module


def _train_one(task, graph, budget, start, rate, points) -> Trained:
    def schedule(count):
        angle = jnp.pi * count.astype(jnp.float32) / budget.steps
        return rate * (1 + jnp.cos(angle)) / 2

    optimizer = jb.optim.adamw(schedule, weight_decay=0.0)  # which is Adam

    def loss(parameters):
        module = nnx.merge(graph, parameters)
        return _loss(task, module(points.x, points.x), points.y)

    def step(state, _):
        parameters, moments = state
        gradient = jax.grad(loss)(parameters)
        update, moments = optimizer.update(gradient, moments, parameters)
        return (optax.apply_updates(parameters, update), moments), None

    def part(state, _):
        steps = budget.steps // budget.snapshots
        state, _ = jax.lax.scan(step, state, None, length=steps)
        return state, state[0]

    state = start, optimizer.init(start)
    state, history = jax.lax.scan(part, state, None, length=budget.snapshots)
    module = nnx.merge(graph, state[0])
    asked = jnp.concatenate([points.held_out_x, points.x])
    held_out, learned = jnp.split(module(asked, points.x), [len(points.held_out_x)])
    return Trained(
        _value(task, held_out, points.held_out_y),
        _value(task, learned, points.y),
        _outside(module.hidden_inputs(points.held_out_x, points.x)),
        history,
    )


def _outside(z: jax.Array) -> jax.Array:
    lower, upper = INTERVAL
    return jnp.mean(jb.saturation(z, lower=lower, upper=upper))


def _loss(task: Task, output: jax.Array, y: jax.Array) -> jax.Array:
    if task.classification:
        return optax.softmax_cross_entropy_with_integer_labels(output, y).mean()
    return jnp.mean(jnp.square(output[:, 0] - y))


def _value(task: Task, output: jax.Array, y: jax.Array) -> jax.Array:
    if task.classification:
        right = jnp.argmax(output, axis=-1).astype(y.dtype) == y
        return 100 * jnp.mean(right.astype(jnp.float32))
    return _loss(task, output, y)
