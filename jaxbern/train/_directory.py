"""The files that a training writes, and how it is resumed from them."""

import json
from pathlib import Path

from jaxbern.data import Dataset
from jaxbern.io import write_text
from jaxbern.train import _checkpoint
from jaxbern.train._callbacks import Callback, JsonLines
from jaxbern.train._checkpoint import CheckpointError, Checkpoints
from jaxbern.train._config import TrainConfig
from jaxbern.train._result import Result, Training


class Nowhere:
    """Stands in for a directory: nothing is saved, and nothing can be resumed."""

    listeners: tuple[Callback, ...] = ()
    interruptible = False

    def __init__(self, *, resume: bool):
        """Raise if asked to resume."""
        if resume:
            raise ValueError("resume=True needs the directory of the training")

    def __enter__(self) -> "Nowhere":
        return self

    def __exit__(self, *exception) -> None:
        pass

    def restore(self, training: Training) -> Training:
        """Return the training unchanged: nothing was saved."""
        return training

    def save(self, training: Training, *, force: bool) -> None:
        """Do nothing."""

    def how_to_resume(self, epochs: int) -> str:
        """Explain that the run cannot be resumed."""
        return f"{epochs} epochs are lost; pass directory= to save checkpoints"


class Directory:
    """Configuration, history, summary and checkpoints of one training."""

    interruptible = True

    def __init__(
        self,
        path: Path,
        config: TrainConfig,
        data: Dataset,
        *,
        resume: bool,
        seconds: float,
    ):
        """Open the directory; see :func:`jaxbern.train.fit` for the arguments."""
        self._path, self._config = path, config
        if not resume and any((path / "checkpoints").glob("[0-9]*")):
            raise CheckpointError(
                f"{path} holds a training. To continue it write resume=True; to start "
                "anew remove it or use another directory"
            )
        identity = _checkpoint.identity(config, data)
        self._checkpoints = Checkpoints(path / "checkpoints", identity, seconds)
        self.listeners = (JsonLines(path / "history.jsonl"), _Summary(path))

    def __enter__(self) -> "Directory":
        return self

    def __exit__(self, *exception) -> None:
        self._checkpoints.close()

    def restore(self, training: Training) -> Training:
        """Return the training of the last checkpoint, or the given one without any."""
        training = self._checkpoints.restore(training.state) or training
        if training.epochs > self._config.epochs:
            raise CheckpointError(
                f"{self._path} holds a training of {training.epochs} epochs; write "
                f"epochs={training.epochs} or more, got {self._config.epochs}"
            )
        return training

    def save(self, training: Training, *, force: bool) -> None:
        """Save a checkpoint if one is due or ``force`` is set."""
        self._checkpoints.save(training, force=force)

    def how_to_resume(self, epochs: int) -> str:
        """Explain how to resume after Ctrl-C."""
        return (
            f"{epochs} epochs are saved; to go on write "
            f"fit(config, data, directory={str(self._path)!r}, resume=True)"
        )


class _Summary(Callback):
    """Writes ``config.json`` at the beginning and ``summary.json`` at the end."""

    def __init__(self, path: Path):
        self._path = path

    def start(self, config: TrainConfig, past) -> None:
        write_text(self._path / "config.json", config.to_json())

    def end(self, result: Result) -> None:
        text = json.dumps(result.summary(), indent=1)
        write_text(self._path / "summary.json", text)
