"""Cost of ``BernsteinAct`` in place of gelu: a step of Adam, and compiling a PINN."""

import functools
import gc
import time
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import jaxbern as jb
from experiments.core.timing import best_in_turns
from experiments.dropin.dropin_methods import METHODS
from experiments.dropin.dropin_networks import Mlp
from experiments.dropin.dropin_tasks import residual

FEATURES = 28


def _clamped(features: int, rngs: nnx.Rngs) -> jb.BernsteinAct:
    return jb.BernsteinAct(features, outside="clamp", rngs=rngs)


# Activations by name; the others are compared with the first.
STEPS: dict[str, Callable] = {
    **{name: METHODS[name].make for name in ("gelu", "relu", "bernstein")},
    "clamped": _clamped,
}
COMPILED = {"tanh": METHODS["tanh"].make, "bernstein": METHODS["bernstein"].make}


class Training:
    """Adam on one batch: a compiled step and its state."""

    def __init__(self, depth: int, width: int, rows: int, make: Callable):
        """Create an MLP with two logits; ``make(features, rngs)`` returns its activation."""
        network = Mlp(FEATURES, [width] * depth, 2, make, nnx.Rngs(0))
        graph, start = nnx.split(network)
        keys = jax.random.split(jax.random.key(1))
        x = jax.random.normal(keys[0], (rows, FEATURES))
        labels = jax.random.bernoulli(keys[1], shape=(rows,)).astype(jnp.int32)
        adam = optax.adam(1e-3)

        def loss(params):
            logits = nnx.merge(graph, params)(x)
            each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return jnp.mean(each)

        def step(params, moments):
            updates, moments = adam.update(jax.grad(loss)(params), moments)
            return optax.apply_updates(params, updates), moments

        self.state = start, adam.init(start)
        self._step = jax.jit(step).lower(*self.state).compile()

    def seconds(self, calls: int, clock: Callable[[], float]) -> float:
        """Return the time of one step, as the mean over consecutive calls."""
        state, began = self.state, clock()
        for _ in range(calls):
            state = self._step(*state)
        jax.block_until_ready(state)
        return (clock() - began) / calls


def steps(sizes: Sequence[str], rows: int, rounds: int) -> None:
    """Print microseconds of a step, and its ratio to gelu's, for each network.

    CPU time of all threads is printed as well, because it varies less on a busy machine.
    """
    print(f"a step of Adam, MLP without normalisation, batch {rows}, best of {rounds}")
    print("microseconds (over gelu); CPU time of all threads (over gelu)")
    print(f"{'':>8}" + "".join(f"{name:>34}" for name in STEPS))
    for size in sizes:
        depth, width = map(int, size.split("x"))
        runs = {n: Training(depth, width, rows, make) for n, make in STEPS.items()}
        found = []
        for clock in (time.perf_counter, time.process_time):
            calls = 20 if width < 256 else 5
            timed = {
                name: functools.partial(run.seconds, calls, clock)
                for name, run in runs.items()
            }
            found.append(best_in_turns(timed, rounds))
        cells = (
            "; ".join(
                f"{1e6 * best[name]:.0f} ({best[name] / best['gelu']:.2f}x)"
                for best in found
            )
            for name in STEPS
        )
        print(f"{size:>8}" + "".join(f"{cell:>34}" for cell in cells), flush=True)


def compilations(rounds: int, points: int = 129) -> None:
    """Print seconds of CPU time to trace and compile the gradient of a PINN's loss.

    The loss has second derivatives of an MLP 2x32 in ``x``; the gradient is taken in all
    parameters.
    """
    print(
        f"\nCPU seconds to trace and compile a PINN, {points} points, best of {rounds}"
    )
    found = best_in_turns(
        {n: functools.partial(_compile, make, points) for n, make in COMPILED.items()},
        rounds,
    )
    print("  ".join(f"{name} {seconds:.2f}" for name, seconds in found.items()))


def _compile(make: Callable, points: int) -> float:
    graph, params = nnx.split(Mlp(1, [32, 32], 1, make, nnx.Rngs(0)))

    def loss(params, x):
        return residual(nnx.merge(graph, params), x, None)

    x = jnp.linspace(0, 1, points)[:, None]
    jax.clear_caches()
    gc.collect()
    began = time.process_time()
    jax.jit(jax.value_and_grad(loss)).lower(params, x).compile()
    return time.process_time() - began
