"""Simulate events of two processes in blocks and mix them into one data set."""

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterator

import numpy as np

from jaxbern.data._dataset import Dataset
from jaxbern.data.collider.detector import Measured
from jaxbern.data.collider.processes import Collision

_BLOCK = 2**12  # collisions at a time: their arrays stay in a core's cache


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to make a data set.

    Attributes:
      name: name of the data set.
      processes: background and signal: the label is the position.
      signal: the fraction of signal events.
      measure: function from collisions to what the detector measures.
      features: function from measurements to columns, in GeV and radians.
      units: the names of the columns, and what each is divided by.
    """

    name: str
    processes: tuple[Callable[[np.random.Generator, int], Collision], ...]
    signal: float
    measure: Callable[[np.random.Generator, Collision], Measured]
    features: Callable[[Measured], list[np.ndarray]]
    units: dict[str, float]


def simulate(recipe: Recipe, n: int, seed: int) -> Dataset:
    """Simulate ``n`` accepted events, determined by ``n`` and ``seed``."""
    n, seed = _integer(n, "n", at_least=1), _integer(seed, "seed", at_least=0)
    y = np.zeros(n, np.uint8)
    y[: round(recipe.signal * n)] = 1
    np.random.default_rng([seed, len(recipe.processes)]).shuffle(y)
    x = np.empty((n, len(recipe.units)), np.float32)
    for label in range(len(recipe.processes)):
        rows = np.flatnonzero(y == label)
        blocks = _blocks(recipe, label, seed)
        while len(rows):
            block = next(blocks)[: len(rows)]
            x[rows[: len(block)]] = block
            rows = rows[len(block) :]
    return Dataset.from_arrays(recipe.name, x, y, tuple(recipe.units))


def _blocks(recipe: Recipe, label: int, seed: int) -> Iterator[np.ndarray]:
    """Yield accepted events of one process; each block has its own random stream."""
    units = np.array(list(recipe.units.values()))
    for number in itertools.count():
        rng = np.random.default_rng([seed, label, number])
        measured = recipe.measure(rng, recipe.processes[label](rng, _BLOCK))
        columns = np.stack(recipe.features(measured), axis=1)
        yield (columns / units).astype(np.float32)


def _integer(value: int, name: str, at_least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {number}")
    return number
