"""Time of a training step on this machine, and of making it: all in one run."""

import gc
import time
from collections.abc import Sequence

import jax

from experiments.network import step
from jaxbern.nn._network import NetworkConfig


def steps(
    depth: int, widths: Sequence[int], degrees: Sequence[int], rows: int, rounds: int
) -> None:
    """Print milliseconds, and ratios to lean ReLU, over widths and degrees.

    The rounds go over all activations in turn, so that what else happens on the
    machine strikes all of them; the best of each counts.
    """
    print(f"one training step, residual {depth}xW, batch {rows}, best of {rounds}, ms")
    columns = {"relu standard": {"activation": "relu", "lean": False}}
    columns |= step.activations(list(degrees))
    print(f"{'W':>5}" + "".join(f"{name:>22}" for name in columns))
    for width in widths:
        programs = {}
        for name, options in columns.items():
            config = NetworkConfig(step.HIGGS_FEATURES, depth, width, **options)
            args = step.arguments(config, rows)
            lowered = jax.jit(step.loss_and_gradients(config)).lower(*args)
            programs[name] = lowered.compile(), args
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(rounds):
            for name, (program, args) in programs.items():
                best[name] = min(best[name], _seconds(program, args))
        cells = (f"{1e3 * t:.1f} ({t / best['relu']:.2f}x)" for t in best.values())
        print(f"{width:>5}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def _seconds(program, args) -> float:
    start = time.perf_counter()
    jax.block_until_ready(program(*args))
    return time.perf_counter() - start


def compilations(width: int, degrees: Sequence[int], rows: int, rounds: int) -> None:
    """Print how long it takes to trace and compile 5 and 150 layers."""
    print(f"seconds to trace and compile, Lx{width}, batch {rows}, best of {rounds}")
    for name, options in step.activations(list(degrees)).items():
        best = {}
        for depth in (5, 150):
            config = NetworkConfig(step.HIGGS_FEATURES, depth, width, **options)
            best[depth] = min(_compile_seconds(config, rows) for _ in range(rounds))
        ratio = best[150] / best[5]
        print(f"{name:>15}: L=5 {best[5]:.2f}  L=150 {best[150]:.2f}  ({ratio:.2f}x)")


def _compile_seconds(config: NetworkConfig, rows: int) -> float:
    jax.clear_caches()
    gc.collect()
    start = time.perf_counter()
    jax.jit(step.loss_and_gradients(config)).lower(*step.shapes(config, rows)).compile()
    return time.perf_counter() - start
