"""Made-up cells with known numbers, for the tests of the report."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell
from jaxbern.train import TrainConfig

ENVIRONMENT = {"jax": "0.10.2", "python": "3.11", "device": "cpu", "revision": "abc"}


def about(cell: Cell, events: int = 20_000, source: str | None = None) -> dict:
    """Return the provenance of a cell."""
    return {
        "source": source or f"collider:{cell.dataset}",
        "events": events,
        "fingerprint": f"0123456789abcde{'f' if cell.dataset == 'higgs' else 'e'}",
        "config": TrainConfig(cell.network, epochs=30, batch_size=512).to_dict(),
        "environment": ENVIRONMENT,
        "compile_seconds": 1.5,
    }


def result(
    cell: Cell,
    losses: Sequence[Sequence[float]],
    aucs: Sequence[Sequence[float]] | None = None,
    *,
    seconds: float = 2.0,
    reasons: Sequence[str] | None = None,
    **changes,
) -> CellResult:
    """Return a cell with these losses and AUCs per epoch, for the seeds 0, 1, ..."""
    aucs = [[0.5] * len(loss) for loss in losses] if aucs is None else aucs
    reasons = ["early"] * len(losses) if reasons is None else reasons
    history, stops = {}, {}
    for seed, (loss, auc) in enumerate(zip(losses, aucs, strict=True)):
        epochs = len(loss)
        history[seed] = {
            "train_loss": np.array(loss, float),
            "validation_loss": np.array(loss, float) + 0.01,
            "auc": np.array(auc, float),
            "learning_rate": np.full(epochs, 1e-3),
            "saturation": np.full(epochs, np.nan),
            "seconds": np.full(epochs, seconds),
        }
        stops[seed] = {
            "reason": reasons[seed],
            "epoch": epochs - 1,
            "step": 3 if reasons[seed] == "nonfinite" else None,
            "last_loss": float(loss[-1]) if epochs else 0.7,
        }
    return CellResult(cell, history, stops, about(cell) | changes)


def trained(cell: Cell, auc: Sequence[float], loss: Sequence[float]) -> CellResult:
    """Return a cell whose seeds end with these numbers, after worse ones."""
    return result(
        cell,
        [[value + 0.2, value] for value in loss],
        [[value - 0.1, value] for value in auc],
    )


def learning(cells: Sequence[Cell], seed: int = 0) -> list[CellResult]:
    """Return random curves that look like trainings."""
    draw = np.random.default_rng(seed)
    found = []
    for cell in cells:
        skill = 0.02 * np.log(cell.depth * cell.width) / np.log(100)
        if cell.degree is not None:
            skill += 0.01 + 0.005 * np.log(cell.degree)
        losses, aucs = [], []
        for _ in range(3):
            epochs = int(draw.integers(18, 31))
            t = np.arange(epochs)
            ease = 1 - np.exp(-t / draw.uniform(3, 6))
            end = draw.normal(0.55 - skill, 0.003)
            losses.append(0.69 - (0.69 - end) * ease + draw.normal(0, 0.001, epochs))
            aucs.append(0.5 + (0.3 + skill) * ease + draw.normal(0, 0.002, epochs))
        cost = 0.05 + 1e-7 * cell.parameters * (1 if cell.degree is None else 1.6)
        found.append(result(cell, losses, aucs, seconds=cost))
    return found


def on(cell: Cell, activation: str) -> Cell:
    """Return the cell of the same network with another activation."""
    return dataclasses.replace(cell, activation=activation)
