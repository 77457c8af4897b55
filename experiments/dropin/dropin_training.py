"""Adam on several seeds and learning rates at once: one compiled program per network.

Runs are vmapped; on a CPU they follow one another inside the program, which is faster there,
and gives the time that a single network takes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from experiments.dropin.dropin_data import Split
from experiments.dropin.dropin_tasks import Task

WARMUP = 0.05  # of all steps; then the rate falls to zero along a cosine


@dataclass(frozen=True)
class Scores:
    """Scores of each run on validation and on test rows; ``[runs]``."""

    validation: np.ndarray
    test: np.ndarray


class Program:
    """One network on one task, for a fixed number of runs.

    Start, training and scoring are one compiled program, for any number of steps.
    """

    def __init__(self, task: Task, make: Callable, width: int, runs: int, parts: Split):
        """Build the program; ``make(features, rngs)`` makes an activation."""
        self.runs, self.width, self._parts, self._task = runs, width, parts, task
        self.test_rows = len(parts.test[0])
        self._build = lambda key: task.build(make, width, nnx.Rngs(key))
        shapes = nnx.state(nnx.eval_shape(lambda: self._build(jax.random.key(0))))
        self.parameters = sum(leaf.size for leaf in jax.tree.leaves(shapes))
        self._all = jax.jit(self._of_all)

    def train(self, seeds: list[int], rates: list[float], steps: int) -> Scores:
        """Train one run for each pair of a seed and a rate, ``runs`` at a time."""
        found: list[np.ndarray] = []
        for first in range(0, len(seeds), self.runs):
            some = slice(first, first + self.runs)
            scores = self._scores(
                _padded(seeds[some], self.runs), _padded(rates[some], self.runs), steps
            )
            found.append(scores[: len(seeds[some])])
        both = np.concatenate(found)
        return Scores(both[:, 0], both[:, 1])

    def seconds(self, steps: int) -> float:
        """Measure the time of some steps of all runs, after compilation."""
        began = time.perf_counter()
        self._scores(list(range(self.runs)), [1e-3] * self.runs, steps)
        return time.perf_counter() - began

    def _scores(self, seeds: list[int], rates: list[float], steps: int) -> np.ndarray:
        return np.asarray(
            self._all(jnp.asarray(seeds), jnp.asarray(rates, jnp.float32), steps)
        )

    def _of_all(self, seeds, rates, steps):
        if jax.default_backend() == "cpu":
            runs = (seeds, rates)
            return jax.lax.map(lambda run: self._run(run[0], run[1], steps), runs)
        return jax.vmap(self._run, in_axes=(0, 0, None))(seeds, rates, steps)

    def _run(self, seed, rate, steps):
        """Train one run; a seed has the same batches for every activation."""
        key = jax.random.key(seed)
        graph, start = nnx.split(self._build(key))
        x, y = self._parts.train
        adam = optax.scale_by_adam()

        def loss(state, x, y):
            return self._task.loss(nnx.merge(graph, state), x, y)

        def step(k, carry):
            state, moments = carry
            batch = x, y
            if self._task.batch is not None:
                rows = jax.random.randint(
                    jax.random.fold_in(key, k), (self._task.batch,), 0, len(x)
                )
                batch = x[rows], y[rows]
            updates, moments = adam.update(jax.grad(loss)(state, *batch), moments)
            scale = rate * _schedule((k + 1) / steps)
            moved = jax.tree.map(lambda p, u: p - scale * u, state, updates)
            return moved, moments

        state, _ = jax.lax.fori_loop(0, steps, step, (start, adam.init(start)))
        model = nnx.merge(graph, state)
        parts = self._parts.validation, self._parts.test
        return jnp.stack([self._task.score(model, *part) for part in parts])


def _padded(values: list, count: int) -> list:
    return values + values[-1:] * (count - len(values))


def _schedule(done):
    """Return the factor of the learning rate after this fraction of the steps."""
    falling = 0.5 + 0.5 * jnp.cos(jnp.pi * (done - WARMUP) / (1 - WARMUP))
    return jnp.where(done < WARMUP, done / WARMUP, falling)
