"""Trained models: a cell and a seed, with the numbers that tables are made of.

Floating-point operations of a training, counted from the network's formula.

Per event, forward and backward, with ``d`` features, depth ``L``, width ``W``:

| part | forward | backward |
|---|---|---|
| each weight of a Linear | 2 | 4 (towards the input, towards the weight) |
| normalisation, per neuron | 6 | 10 |
| skip, per neuron | 1 | 1 |
| ReLU, Leaky ReLU | 1 | 1 |
| SELU, GeLU (one exponential each, counted as 10) | 14 | 18 |
| Bernstein of degree n | 2 n + 8 | 5 n + 8 |

A Bernstein polynomial takes a multiply-add per degree and about one division; its gradients
take one more multiply-add for the slope and three operations for the coefficients. The
optimiser (a dozen operations per parameter and step, negligible beside a batch of thousands)
and validation are left out. These are counts of operations, not times.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from experiments.report.grid_groups import Group
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell

_NORMALISATION = 6 + 10
_SKIP = 1 + 1
_FIXED = {"relu": 1 + 1, "leaky_relu": 1 + 1, "selu": 14 + 18, "gelu": 14 + 18}


@dataclasses.dataclass(frozen=True)
class Model:
    """One training.

    Attributes:
      cell: the network and its data.
      seed: of the training.
      parameters: how many the network has.
      auc: the highest validation AUC of any epoch, that of the network that is kept.
      loss: the training loss of the last epoch.
      epochs: how many it trained.
      seconds: its share of the time of those epochs: all seeds of a cell train in one
        program, so each is given the time of its epochs divided by the number of seeds.
        The time of an epoch is the median: the first one compiles, and a machine may
        sleep during another.
      flops: of the training (see above); None if the number of
        events is not known.
    """

    cell: Cell
    seed: int
    parameters: int
    auc: float
    loss: float
    epochs: int
    seconds: float
    flops: float | None


def models(results: Iterable[CellResult]) -> list[Model]:
    """Return every seed that completed an epoch; :func:`untrained` returns the others."""
    return [
        _model(result, seed)
        for result in results
        for seed in result.history
        if len(result.history[seed]["train_loss"])
    ]


def untrained(results: Iterable[CellResult]) -> list[tuple[Cell, int]]:
    """Return the seeds without a complete epoch, which are in no table."""
    return [
        (result.cell, seed)
        for result in results
        for seed, columns in result.history.items()
        if not len(columns["train_loss"])
    ]


def diverged(results: Iterable[CellResult]) -> list[tuple[Cell, int]]:
    """Return the seeds that stopped because a loss or gradient was not finite."""
    return [
        (result.cell, seed)
        for result in results
        for seed, stop in result.stops.items()
        if stop["reason"] == "nonfinite"
    ]


def within(models: Sequence[Model], group: Group) -> list[Model]:
    """Return the models of a group."""
    return [model for model in models if Group.of(model.cell) == group]


def _model(result: CellResult, seed: int) -> Model:
    history = result.history[seed]
    epochs = len(history["train_loss"])
    per_epoch = epoch_flops(result)
    return Model(
        cell=result.cell,
        seed=seed,
        parameters=result.cell.parameters,
        auc=_highest(history["auc"]),
        loss=float(history["train_loss"][-1]),
        epochs=epochs,
        seconds=epochs * float(np.median(history["seconds"])) / len(result.history),
        flops=None if per_epoch is None else epochs * per_epoch,
    )


def _highest(auc: np.ndarray) -> float:
    known = auc[np.isfinite(auc)]
    return float(known.max()) if known.size else float("nan")


def event_flops(cell: Cell) -> int:
    """Count the operations forward and backward for one event.

    >>> event_flops(Cell("higgs", True, 5, 16, "relu"))
    10592
    """
    network = cell.network
    inner = (cell.depth - 1) * cell.width
    weights = cell.width * (network.in_features + inner + network.out_features)
    neurons = cell.depth * cell.width
    return (
        6 * weights
        + neurons * (_NORMALISATION + _activation_flops(cell))
        + (_SKIP * inner if cell.residual else 0)
    )


def _activation_flops(cell: Cell) -> int:
    """Count the operations of one neuron's activation, forward and backward."""
    if cell.degree is None:
        return _FIXED[cell.activation]
    return 7 * cell.degree + 16


def epoch_flops(result: CellResult) -> float | None:
    """Count the operations of an epoch; None if the number of events is not known."""
    events = result.about.get("events")
    fraction = result.about.get("config", {}).get("test_fraction")
    if events is None or fraction is None:
        return None
    return events * (1 - fraction) * event_flops(result.cell)
