"""Measure time and memory of forward and all gradients of one layer, in turns."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from experiments.comparison import jax_engine, torch_engine
from experiments.comparison.candidates import Candidate
from experiments.core.timing import best_in_turns, timed

ENGINES = {"jax": jax_engine, "torch": torch_engine}


@dataclasses.dataclass(frozen=True)
class Measured:
    """Measurements of one layer.

    Attributes:
      candidate: the layer.
      parameters: number of parameters.
      milliseconds: time of forward and all gradients, the best of several calls.
      kept: bytes of residuals, besides the input and the parameters.
      peak: maximum bytes of results and temporaries.
    """

    candidate: Candidate
    parameters: int
    milliseconds: float
    kept: int
    peak: int


def measure(
    candidates: Sequence[Candidate],
    rows: int,
    width: int,
    repeats: int,
    done: Callable[[str], None] = lambda what: None,
) -> list[Measured]:
    """Measure all candidates on the same normal ``[rows, width]``, clipped at 3."""
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(size=(rows, width)), -3, 3).astype(np.float32)
    dy = rng.normal(size=(rows, width)).astype(np.float32)
    steps, found = {}, {}
    for candidate in candidates:
        module = candidate.make(width, 0)
        engine = ENGINES[candidate.framework]
        steps[candidate], *memory = engine.layer(module, x, dy)
        found[candidate] = engine.parameters(module), *memory
        done(candidate.name)
    for step in steps.values():
        step()
    runs = {candidate: timed(step) for candidate, step in steps.items()}
    times = best_in_turns(runs, repeats)
    return [
        Measured(candidate, parameters, 1e3 * times[candidate], kept, peak)
        for candidate, (parameters, kept, peak) in found.items()
    ]
