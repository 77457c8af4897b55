"""Memory of a training on a named GPU, read from the program compiled for it."""

import time
from typing import NamedTuple

import jaxbern as jb
from experiments.gpu.gpu_compile import compile_for, device
from experiments.gpu.gpu_targets import Target


class Memory(NamedTuple):
    """Memory of one cell on one card.

    Attributes:
      bytes: arguments, results and temporaries of an epoch of all seeds together.
      seconds: time to compile it.
    """

    bytes: int
    seconds: float


def memory(target: Target, config: jb.train.TrainConfig, events: int) -> Memory:
    """Compile one training epoch on a given number of events for a card."""
    began = time.perf_counter()
    epoch, shapes = jb.train.epoch_program(config, events, device(target))
    compiled = compile_for(target, epoch, *shapes, donate=(0,))
    return Memory(compiled.peak_memory, time.perf_counter() - began)
