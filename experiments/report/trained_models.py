"""Trained models: a cell and a seed, with the numbers that tables are made of."""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from experiments.report import flops
from experiments.report.grid_groups import Group
from experiments.sweep.cell_results import CellResult
from experiments.sweep.grid import Cell


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
      flops: of the training (:mod:`experiments.report.flops`); None if the number of
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
    """Every seed that completed an epoch; :func:`untrained` has the others."""
    return [
        _model(result, seed)
        for result in results
        for seed in result.history
        if len(result.history[seed]["train_loss"])
    ]


def untrained(results: Iterable[CellResult]) -> list[tuple[Cell, int]]:
    """Seeds without a single complete epoch: they are in no table."""
    return [
        (result.cell, seed)
        for result in results
        for seed, columns in result.history.items()
        if not len(columns["train_loss"])
    ]


def diverged(results: Iterable[CellResult]) -> list[tuple[Cell, int]]:
    """Seeds that stopped because a loss or gradient was no number."""
    return [
        (result.cell, seed)
        for result in results
        for seed, stop in result.stops.items()
        if stop["reason"] == "nonfinite"
    ]


def within(models: Sequence[Model], group: Group) -> list[Model]:
    """Those of a group."""
    return [model for model in models if Group.of(model.cell) == group]


def _model(result: CellResult, seed: int) -> Model:
    history = result.history[seed]
    epochs = len(history["train_loss"])
    per_epoch = flops.epoch(result)
    return Model(
        cell=result.cell,
        seed=seed,
        parameters=result.cell.parameters,
        auc=_highest(history["auc"]),
        loss=float(history["train_loss"][-1]),
        epochs=epochs,
        seconds=float(np.sum(history["seconds"])) / len(result.history),
        flops=None if per_epoch is None else epochs * per_epoch,
    )


def _highest(auc: np.ndarray) -> float:
    known = auc[np.isfinite(auc)]
    return float(known.max()) if known.size else float("nan")
