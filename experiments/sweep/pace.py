"""Estimates of how long cells take on this device, from a few measured steps."""

import math
import time
from typing import NamedTuple

import numpy as np

import jaxbern as jb
from experiments.sweep import cell_order
from experiments.sweep.grid import Cell

STEPS = 3  # in a measured epoch


class Pace(NamedTuple):
    """Pace of one cell.

    Attributes:
      step: seconds of a step of all seeds, including its share of validation.
      start: seconds before the first step, mostly compilation.
      measured: whether it was measured, not scaled from another cell.
    """

    step: float
    start: float
    measured: bool

    def seconds(self, config: jb.train.TrainConfig, events: int) -> float:
        """Return the seconds for all epochs; early stopping may end sooner."""
        rows = events * (1 - config.test_fraction)
        return (
            self.start + config.epochs * math.ceil(rows / config.batch_size) * self.step
        )


class Stopwatch:
    """Measures cells until its time is up, then scales from those it has measured."""

    def __init__(self, seconds: float):
        """Measure for at most ``seconds``; the first cell is always measured."""
        self._until = time.perf_counter() + seconds
        self._known: list[tuple[Cell, Pace]] = []

    def pace(self, cell: Cell, config: jb.train.TrainConfig) -> Pace:
        """Measure or scale the pace of a cell; call it with cheap cells first."""
        for known, pace in self._known:
            if _shape(known) == _shape(cell):
                return pace
        if self._known and time.perf_counter() > self._until:
            return self._scaled(cell, config.batch_size)
        pace = measure(config)
        self._known.append((cell, pace))
        return pace

    def _scaled(self, cell: Cell, batch: int) -> Pace:
        """Scale from the largest measured cell of the same activation, else of any."""
        same = [k for k in self._known if k[0].activation == cell.activation]
        known, pace = max(same or self._known, key=lambda k: _step_cost(k[0], batch))
        factor = _step_cost(cell, batch) / _step_cost(known, batch)
        return Pace(pace.step * factor, pace.start, measured=False)


def measure(config: jb.train.TrainConfig) -> Pace:
    """Train for three short epochs on made-up events."""
    few = STEPS * config.batch_size
    data = _events(config.network.in_features, round(few / (1 - config.test_fraction)))
    short = jb.train.TrainConfig(
        config.network, config.seeds, epochs=3, batch_size=config.batch_size
    )
    began = time.perf_counter()
    result = jb.train.fit(short, data, progress=False)
    whole = time.perf_counter() - began
    epochs = next(iter(result.history.values()))["seconds"]
    best = min(epochs[1:], default=epochs[0])
    return Pace(best / STEPS, max(0.0, whole - len(epochs) * best), measured=True)


def _events(features: int, rows: int) -> jb.data.Dataset:
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, features)).astype(np.float32)
    y = (x[:, 0] + random.normal(size=rows) > 0).astype(np.uint8)
    columns = tuple(f"x{k}" for k in range(features))
    return jb.data.Dataset.from_arrays("noise", x, y, columns)


def _shape(cell: Cell) -> tuple:
    """Return what determines the pace; data set and skips hardly affect it."""
    return cell.depth, cell.width, cell.activation


def _step_cost(cell: Cell, batch: int) -> float:
    few, many = (
        cell_order.cost(cell, rows=batch, batch=batch, epochs=n) for n in (1, 2)
    )
    return many - few
