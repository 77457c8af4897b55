"""Time per epoch over sizes of the network and numbers of seeds.

Programs take turns, so that whatever else the machine does falls on all of them, and the
best time of each is kept.
"""

import time
from collections.abc import Callable

import jax

import jaxbern as jb
from experiments.report.groups import activation_name
from experiments.training import cases
from jaxbern.train._checks import checked_split
from jaxbern.train._engine import engine


def epochs(config: jb.train.TrainConfig, data: jb.data.Dataset) -> Callable[[], float]:
    """A function that trains one more epoch and returns its seconds."""
    state, runner = engine(config, data, checked_split(config, data))
    done = 0

    def run() -> float:
        nonlocal state, done
        began = time.perf_counter()
        state, metrics = runner.run(state, done)
        jax.device_get(metrics)
        done += 1
        return time.perf_counter() - began

    run()  # compiles
    return run


def best(runs: dict, rounds: int) -> dict:
    """The best of so many rounds of each function that returns seconds."""
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            found[name] = min(found[name], run())
    return found


def table(source: str, sizes: list[str], activations: list[str], rounds: int) -> None:
    """Print seconds of one and of three seeds."""
    data = cases.events(source)
    print(f"{data}\nbatch 1,024; best of {rounds} epochs; {jax.devices()}\n")
    print("| network | activation | 1 seed | 3 seeds | ratio |")
    print("|---|---|---|---|---|")
    for size in sizes:
        for activation in activations:
            runs = {
                seeds: epochs(cases.config(data, size, activation, seeds=seeds), data)
                for seeds in (1, 3)
            }
            one, three = best(runs, rounds).values()
            print(
                f"| {size} | {activation_name(activation)} | {1e3 * one:.0f} ms "
                f"| {1e3 * three:.0f} ms | {three / one:.2f} |",
                flush=True,
            )
