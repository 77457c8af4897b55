"""Time an epoch over network sizes and numbers of seeds, on HIGGS rows."""

import sys
from collections.abc import Callable

import jax

import jaxbern as jb
from experiments.core.timing import best_in_turns, timed
from experiments.report.grid_groups import activation_name
from jaxbern.train import NetworkConfig, TrainConfig

EVENTS = 76_054  # number to simulate if the published ones are not found


def events(source: str) -> jb.data.Dataset:
    """Load events by name or path; simulate them if ``higgs`` is not on this machine."""
    try:
        return jb.data.load(source, download=False)
    except jb.data.DataError as error:
        if source != "higgs":
            raise
        print(f"{error}\nSimulated events instead.", file=sys.stderr)
        return jb.data.load("collider:higgs", rows=EVENTS)


def activation_options(name: str) -> dict:
    """Return network options for ``relu``, ``gelu``, ... or ``bernstein:3``."""
    kind, _, degree = name.partition(":")
    return {"activation": kind} | ({"degree": int(degree)} if degree else {})


def config(
    data: jb.data.Dataset,
    size: str,
    activation: str,
    *,
    seeds: int = 3,
    epochs: int = 40,
    batch_size: int = 1024,
) -> TrainConfig:
    """Return the options of a residual network such as ``5x32``, with the paper's rules."""
    depth, width = map(int, size.split("x"))
    network = NetworkConfig(
        data.x.shape[1], depth, width, **activation_options(activation)
    )
    return TrainConfig(
        network, seeds=tuple(range(seeds)), epochs=epochs, batch_size=batch_size
    )


def epochs(config: TrainConfig, data: jb.data.Dataset) -> Callable[[], float]:
    """Return a function that trains one more epoch and returns its seconds."""
    training = jb.train.Epochs(config, data)
    training.run()  # compiles
    return timed(training.run)


def table(source: str, sizes: list[str], activations: list[str], rounds: int) -> None:
    """Print the time of an epoch with one and with three seeds."""
    data = events(source)
    print(f"{data}\nbatch 1,024; best of {rounds} epochs; {jax.devices()}\n")
    print("| network | activation | 1 seed | 3 seeds | ratio |")
    print("|---|---|---|---|---|")
    for size in sizes:
        for activation in activations:
            runs = {
                seeds: epochs(config(data, size, activation, seeds=seeds), data)
                for seeds in (1, 3)
            }
            one, three = best_in_turns(runs, rounds).values()
            print(
                f"| {size} | {activation_name(activation)} | {1e3 * one:.0f} ms "
                f"| {1e3 * three:.0f} ms | {three / one:.2f} |",
                flush=True,
            )
