"""What was measured in each epoch, for each seed, until the seed stopped."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from jaxbern.train._learner import Metrics, State

Record = dict[str, Any]  # one seed in one epoch
MEASURED = ("train_loss", "validation_loss", "auc", "learning_rate", "saturation")
COLUMNS = (*MEASURED, "seconds")


@dataclasses.dataclass
class History:
    """Grows by an epoch at a time; plain numbers, so that JSON can hold it."""

    columns: dict[int, dict[str, list[float]]]

    @classmethod
    def empty(cls, seeds: tuple[int, ...]) -> "History":
        """Before the first epoch."""
        return cls({seed: {name: [] for name in COLUMNS} for seed in seeds})

    def append(self, metrics: Metrics, seconds: float) -> list[Record]:
        """Add one epoch of every seed that completed it; what was added."""
        added = []
        for k, (seed, columns) in enumerate(self.columns.items()):
            if not metrics.completed[k]:
                continue
            numbers = {name: float(getattr(metrics, name)[k]) for name in MEASURED}
            numbers["seconds"] = seconds
            added.append({"seed": seed, "epoch": len(columns["auc"]), **numbers})
            for name, number in numbers.items():
                columns[name].append(number)
        return added

    def records(self) -> list[Record]:
        """All that was appended, in that order."""
        found = [
            {"seed": seed, "epoch": epoch, **dict(zip(columns, numbers, strict=True))}
            for seed, columns in self.columns.items()
            for epoch, numbers in enumerate(zip(*columns.values(), strict=True))
        ]
        return sorted(
            found, key=lambda record: record["epoch"]
        )  # stable: seeds keep order

    def arrays(self) -> dict[int, dict[str, np.ndarray]]:
        """For each seed, each column over the epochs that it trained."""
        return {
            seed: {name: np.array(numbers) for name, numbers in columns.items()}
            for seed, columns in self.columns.items()
        }

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """For ``json``, whose keys are strings.

        Copies: a checkpoint is written while the next epoch is already appended.
        """
        return {
            str(seed): {name: list(numbers) for name, numbers in columns.items()}
            for seed, columns in self.columns.items()
        }

    @classmethod
    def from_json(cls, columns: dict[str, dict[str, list[float]]]) -> "History":
        """The inverse of :meth:`to_json`."""
        return cls({int(seed): of_seed for seed, of_seed in columns.items()})


class Training(NamedTuple):
    """All seeds after some epochs."""

    epochs: int
    state: State
    history: History
