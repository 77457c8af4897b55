"""The bar: epoch, loss and AUC of each seed, and how long it may still take."""

import sys
from collections.abc import Sequence
from typing import Any

from jaxbern.train._callbacks import Callback
from jaxbern.train._config import TrainConfig
from jaxbern.train._history import Record


class ProgressBar(Callback):
    """On stderr; gone when the training is."""

    def __init__(self) -> None:
        """Nothing is shown before the training starts."""
        self._bar: Any = None
        self._task: Any = None

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Show the bar."""
        from rich import progress
        from rich.console import Console

        network = config.network
        kind = network.activation + (
            f" n={network.degree}" if network.activation == "bernstein" else ""
        )
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[numbers]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        done = 1 + max((record["epoch"] for record in past), default=-1)
        self._task = self._bar.add_task(
            f"{network.depth}x{network.width} {kind}",
            total=config.epochs,
            completed=done,
            numbers="compiling",
        )

    def epoch(self, records: Sequence[Record]) -> None:
        """Move on; seeds that have stopped are no longer shown."""
        numbers = "  ".join(
            f"[{r['seed']}] loss {r['train_loss']:.4f} AUC {r['auc']:.4f}"
            for r in records
        )
        self._bar.update(self._task, advance=1, numbers=numbers.replace("[", r"\["))

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def wanted(progress: bool | None) -> bool:
    """As told, or if somebody is watching."""
    return sys.stderr.isatty() if progress is None else progress
