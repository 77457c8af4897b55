"""Time a training step (loss and gradients of one batch), and its compilation."""

import functools
import gc
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from experiments.core.timing import best_in_turns, timed
from jaxbern import nn
from jaxbern.nn import NetworkConfig

HIGGS_FEATURES = 28


def activations(degrees: list[int]) -> dict[str, dict[str, Any]]:
    """Return names and options; the others are compared with the first, lean ReLU."""
    bernstein = {f"bernstein n={n}": {"degree": n} for n in degrees}
    return {"relu": {"activation": "relu"}, **bernstein}


def loss_and_gradients(config: NetworkConfig) -> Callable:
    """Return ``f(params, x, labels)`` with statistics of the batch."""

    def loss(params, x, labels):
        logits = nn.forward(config, params, x, None).logits.astype(jnp.float32)
        each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return jnp.mean(each)

    return jax.value_and_grad(loss)


def shapes(config: NetworkConfig, rows: int) -> tuple[Any, ...]:
    """Return the step's arguments as shapes and dtypes."""
    return (
        nn.parameter_shapes(config),
        jax.ShapeDtypeStruct((rows, config.in_features), jnp.float32),
        jax.ShapeDtypeStruct((rows,), jnp.int32),
    )


def arguments(config: NetworkConfig, rows: int) -> tuple[Any, ...]:
    """Return random arguments of the step."""
    keys = jax.random.split(jax.random.key(0), 3)
    return (
        jax.jit(functools.partial(nn.init, config))(keys[0]),
        jax.random.uniform(keys[1], (rows, config.in_features)),
        jax.random.bernoulli(keys[2], shape=(rows,)).astype(jnp.int32),
    )


def steps(
    depth: int, widths: Sequence[int], degrees: Sequence[int], rows: int, rounds: int
) -> None:
    """Print milliseconds, and ratios to lean ReLU, over widths and degrees.

    The rounds go over all activations in turn, so that other load on the machine affects
    all of them; the best time of each counts.
    """
    print(f"one training step, residual {depth}xW, batch {rows}, best of {rounds}, ms")
    columns = {"relu standard": {"activation": "relu", "lean": False}}
    columns |= activations(list(degrees))
    print(f"{'W':>5}" + "".join(f"{name:>22}" for name in columns))
    for width in widths:
        programs = {}
        for name, options in columns.items():
            config = NetworkConfig(HIGGS_FEATURES, depth, width, **options)
            args = arguments(config, rows)
            lowered = jax.jit(loss_and_gradients(config)).lower(*args)
            programs[name] = lowered.compile(), args
        runs = {
            name: timed(functools.partial(_run, *each))
            for name, each in programs.items()
        }
        best = best_in_turns(runs, rounds)
        cells = (f"{1e3 * t:.1f} ({t / best['relu']:.2f}x)" for t in best.values())
        print(f"{width:>5}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def _run(program, args) -> None:
    jax.block_until_ready(program(*args))


def compilations(width: int, degrees: Sequence[int], rows: int, rounds: int) -> None:
    """Print how long it takes to trace and compile 5 and 150 layers."""
    print(f"seconds to trace and compile, Lx{width}, batch {rows}, best of {rounds}")
    for name, options in activations(list(degrees)).items():
        best = {}
        for depth in (5, 150):
            config = NetworkConfig(HIGGS_FEATURES, depth, width, **options)
            best[depth] = min(_compile_seconds(config, rows) for _ in range(rounds))
        ratio = best[150] / best[5]
        print(f"{name:>15}: L=5 {best[5]:.2f}  L=150 {best[150]:.2f}  ({ratio:.2f}x)")


def _compile_seconds(config: NetworkConfig, rows: int) -> float:
    jax.clear_caches()
    gc.collect()
    program = jax.jit(loss_and_gradients(config))
    arguments = shapes(config, rows)
    return timed(lambda: program.lower(*arguments).compile())()
