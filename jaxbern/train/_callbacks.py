"""Callbacks that log a training while it runs: JSON lines, TensorBoard, W&B, a bar."""

import importlib
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbern.io import new_bar, write_text
from jaxbern.train._config import TrainConfig
from jaxbern.train._result import MEASURED, Record, Result


class Callback:
    """Base class whose methods do nothing; override those you need.

    A record is a dictionary of ``seed``, ``epoch`` and the measurements that
    ``Result.history`` has.
    """

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Called before the first epoch; ``past`` has the records of a resumed training."""

    def epoch(self, records: Sequence[Record]) -> None:
        """Called after each epoch with one record for each seed that trained through it."""

    def end(self, result: Result) -> None:
        """Called after the last epoch; not if the training is interrupted."""

    def close(self) -> None:
        """Called at the end, also after an exception, if ``start`` was called."""


class JsonLines(Callback):
    """Write one line of JSON per seed and epoch; non-finite numbers become null."""

    def __init__(self, path: str | os.PathLike):
        """Write to this file; a training that starts replaces it."""
        self._path = Path(path)

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Keep the lines up to the checkpoint and drop those written after it."""
        write_text(self._path, "".join(map(_line, past)))

    def epoch(self, records: Sequence[Record]) -> None:
        """Append one line per record."""
        with self._path.open("a") as file:
            file.write("".join(map(_line, records)))


class TensorBoard(Callback):
    """Write curves for TensorBoard; needs ``pip install tensorboardX``."""

    def __init__(self, directory: str | os.PathLike):
        """Write to this directory, one curve per seed."""
        self._directory = os.fspath(directory)
        self._module = _optional("tensorboardX", "jb.train.TensorBoard")
        self._writer: Any = None

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Purge points written after the checkpoint, if there are any."""
        first = 1 + max((record["epoch"] for record in past), default=-1)
        self._writer = self._module.SummaryWriter(self._directory, purge_step=first)

    def epoch(self, records: Sequence[Record]) -> None:
        """Add a point to each curve."""
        for record in records:
            for name in MEASURED:
                tag = f"{name}/seed {record['seed']}"
                self._writer.add_scalar(tag, record[name], record["epoch"])
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class WandB(Callback):
    """Log to a run of Weights & Biases; needs ``pip install wandb``."""

    def __init__(self, **options: Any):
        """Take the options of ``wandb.init``, such as ``project="higgs"``."""
        self._options = options
        self._module = _optional("wandb", "jb.train.WandB")
        self._run: Any = None

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Open the run with the configuration."""
        self._run = self._module.init(config=config.to_dict(), **self._options)

    def epoch(self, records: Sequence[Record]) -> None:
        """Log every number of every seed at once."""
        numbers = {f"{n}/seed {r['seed']}": r[n] for r in records for n in MEASURED}
        if records:
            self._run.log(numbers, step=records[0]["epoch"])

    def end(self, result: Result) -> None:
        """Add the summary of each seed."""
        self._run.summary.update(result.summary())

    def close(self) -> None:
        """Close the run."""
        self._run.finish()


class ProgressBar(Callback):
    """Show a progress bar on stderr; it is removed when the training ends."""

    def __init__(self) -> None:
        """Create the callback; the bar appears when the training starts."""
        self._bar: Any = None
        self._task: Any = None

    def start(self, config: TrainConfig, past: Sequence[Record]) -> None:
        """Show the bar."""
        network = config.network
        kind = network.activation + (
            f" n={network.degree}" if network.activation == "bernstein" else ""
        )
        self._bar = new_bar(
            "MofNCompleteColumn", "TimeRemainingColumn", "{task.fields[numbers]}"
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
        """Advance the bar and show the seeds that are still training."""
        numbers = "  ".join(
            f"[{r['seed']}] loss {r['train_loss']:.4f} AUC {r['auc']:.4f}"
            for r in records
        )
        self._bar.update(self._task, advance=1, numbers=numbers.replace("[", r"\["))

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def _line(record: Record) -> str:
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }
    return json.dumps(finite, allow_nan=False) + "\n"


def _optional(module: str, user: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{user} needs {module}: pip install {module}") from error
