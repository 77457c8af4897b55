"""The data and the configurations that the figures are about."""

import sys

import jaxbern as jb
from jaxbern.train import NetworkConfig, TrainConfig

EVENTS = 76_054  # as many are simulated if the published ones are not at hand


def events(source: str) -> jb.data.Dataset:
    """By name or path; simulated if ``higgs`` is nowhere on this machine."""
    try:
        return jb.data.load(source, download=False)
    except jb.data.DataError as error:
        if source != "higgs":
            raise
        print(f"{error}\nSimulated events instead.", file=sys.stderr)
        return jb.data.load("collider:higgs", rows=EVENTS)


def activation_options(name: str) -> dict:
    """Of ``relu``, ``gelu``, ... or ``bernstein:3``."""
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
    """A residual network such as ``5x32``, with the paper's rules but for the batch."""
    depth, width = map(int, size.split("x"))
    network = NetworkConfig(
        data.x.shape[1], depth, width, **activation_options(activation)
    )
    return TrainConfig(
        network, seeds=tuple(range(seeds)), epochs=epochs, batch_size=batch_size
    )
