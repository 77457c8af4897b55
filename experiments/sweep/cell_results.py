"""What a completed cell holds, apart from how it is stored."""

import dataclasses
from typing import Any

import numpy as np

from experiments.sweep.grid import Cell

COLUMNS = (
    "train_loss",
    "validation_loss",
    "auc",
    "learning_rate",
    "saturation",
    "seconds",
)


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """One completed cell.

    Attributes:
      cell: which.
      history: ``history[seed][column]``, an array with an entry for each epoch that the
        seed trained: ``train_loss``, ``validation_loss``, ``auc``, ``learning_rate``,
        ``saturation``, ``seconds`` (of the epoch, for all seeds together).
      stops: ``stops[seed]``: ``reason`` ("finished", "early" or "nonfinite"), ``epoch``,
        ``step`` and ``last_loss``, as in ``jb.train.Stop``.
      about: what the numbers hang on: ``source`` (of the events, such as "higgs" or
        "collider:higgs"), ``events``, ``fingerprint``, ``config`` (of the training),
        ``environment`` (versions, device, revision), ``compile_seconds``.
    """

    cell: Cell
    history: dict[int, dict[str, np.ndarray]]
    stops: dict[int, dict[str, Any]]
    about: dict[str, Any]
