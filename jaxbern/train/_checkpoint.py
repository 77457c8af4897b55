"""Checkpoints: the last two epochs on disk, written while the next one is computed.

Orbax writes each checkpoint under a temporary name and renames it when it is complete, so
a process killed at any moment leaves only complete checkpoints. Everything that is read
back is compared with a checksum; if a checkpoint is damaged, the previous one is used.
"""

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbern.data import Dataset
from jaxbern.train import _schedule
from jaxbern.train._config import TrainConfig
from jaxbern.train._learner import State
from jaxbern.train._result import History, Training

FORMAT = 2
# Orbax numbers the saves of a process: two threads that start saving together would wait
# for each other's directories.
_ONE_AT_A_TIME = threading.Lock()


class CheckpointError(ValueError):
    """Raised if a checkpoint is damaged or of another training; the message says which."""


class Checkpoints:
    """The checkpoints of one training in one directory."""

    def __init__(self, directory: Path, identity: dict[str, Any], seconds: float):
        """Open the directory.

        Args:
          directory: created if it does not exist.
          identity: the training that checkpoints must belong to; see :func:`identity`.
          seconds: minimum time between two checkpoints.
        """
        import orbax.checkpoint as ocp

        self._ocp, self._identity, self._seconds = ocp, identity, seconds
        self._saved_at = -float("inf")
        self._saved: int | None = None  # number of epochs in the last save
        self._manager = ocp.CheckpointManager(
            directory.resolve(),
            options=ocp.CheckpointManagerOptions(
                max_to_keep=2,
                create=True,
                # An unfinished write of a killed process would block saving the same epoch.
                cleanup_tmp_directories=True,
            ),
        )

    def save(self, training: Training, *, force: bool) -> None:
        """Start saving in the background if it is due or ``force`` is set."""
        now = time.monotonic()
        early = now - self._saved_at < self._seconds
        if self._saved == training.epochs or (early and not force):
            return
        arrays = _arrays(training.state)
        about = {
            "format": FORMAT,
            "epochs": training.epochs,
            "identity": self._identity,
            "history": training.history.to_json(),
            "arrays": _checksum_of_arrays(arrays),
        }
        about["checksum"] = _checksum(about)
        args = self._ocp.args
        with _ONE_AT_A_TIME:
            self._manager.save(
                training.epochs,
                args=args.Composite(
                    state=args.StandardSave(arrays), about=args.JsonSave(about)
                ),
            )
        self._saved_at, self._saved = now, training.epochs

    def restore(self, template: State) -> Training | None:
        """Return the newest undamaged checkpoint, or None if there are no checkpoints.

        ``template`` is a state with the same shapes on the target devices.
        """
        steps = sorted(self._manager.all_steps(), reverse=True)
        problems = []
        for epochs in steps:
            try:
                about, arrays = self._read(epochs)
                state = _into(template, arrays, about["arrays"])
            except CheckpointError:
                raise
            except Exception as problem:  # orbax raises errors of many types
                problems.append(f"that of epoch {epochs}: {problem}")
                warnings.warn(f"damaged checkpoint, {problems[-1]}", stacklevel=3)
                continue
            self._saved = epochs
            return Training(epochs, state, History.from_json(about["history"]))
        if problems:
            raise CheckpointError(
                f"no checkpoint in {self._manager.directory} can be read: "
                + "; ".join(problems)
                + ". Remove the directory to start again"
            )
        return None

    def _read(self, epochs: int) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        args = self._ocp.args
        about = self._manager.restore(
            epochs, args=args.Composite(about=args.JsonRestore())
        )["about"]
        if about["format"] != FORMAT:
            raise CheckpointError(
                f"the checkpoints in {self._manager.directory} have format "
                f"{about['format']}, this version of jaxbern reads {FORMAT}"
            )
        if about["checksum"] != _checksum(about):
            raise ValueError("its metadata has changed since it was written")
        if about["epochs"] != epochs:
            raise ValueError(f"it was written after epoch {about['epochs']}")
        check_same(about["identity"], self._identity, self._manager.directory)
        state = self._manager.restore(
            epochs, args=args.Composite(state=args.StandardRestore())
        )["state"]
        return about, state

    def close(self) -> None:
        """Wait until all checkpoints are on disk."""
        self._manager.wait_until_finished()
        self._manager.close()


def identity(config: TrainConfig, data: Dataset) -> dict[str, Any]:
    """Return what two trainings must share for one to continue the other.

    The number of epochs may differ, as a training can be extended, unless the learning
    rate depends on it.
    """
    options = config.to_dict()
    if config.schedule == _schedule.PLATEAU:
        del options["epochs"]
    contents = {"name": data.name, "fingerprint": data.fingerprint}
    return {"config": options, "data": contents}


def check_same(found: dict, wanted: dict, directory) -> None:
    """Refuse a checkpoint of another training, saying what differs."""
    found, wanted = _flat(found), _flat(wanted)
    differences = [
        f"  {name}: {found.get(name, 'absent')} there, {wanted.get(name, 'absent')} here"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]
    if differences:
        raise CheckpointError(
            f"the checkpoint in {directory} is of another training:\n"
            + "\n".join(differences)
            + "\nUse another directory, or the same options and data."
        )


def _flat(tree: dict, prefix: str = "") -> dict[str, Any]:
    flat = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _arrays(state: State) -> dict[str, np.ndarray]:
    """Copy the state to the host, because its buffers are donated to the next epoch."""
    leaves = jax.tree_util.tree_leaves_with_path(state)
    arrays = jax.device_get({_name(path): leaf for path, leaf in leaves})
    # Orbax refuses empty arrays, such as the hidden layers of a network of depth 1.
    return {name: np.array(array) for name, array in arrays.items() if array.size}


def _into(template: State, arrays: Mapping[str, np.ndarray], checksum: str) -> State:
    if _checksum_of_arrays(arrays) != checksum:
        raise ValueError("its arrays have changed since they were written")

    def leaf(path, like):
        if not like.size:
            return like
        array = arrays[_name(path)]
        if array.shape != like.shape or array.dtype != like.dtype:
            raise ValueError(f"{_name(path)} is {array.dtype} {array.shape}")
        return jax.device_put(array, like.sharding)

    return jax.tree_util.tree_map_with_path(leaf, template)


def _name(path) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _checksum(about: Mapping[str, Any]) -> str:
    """Hash all entries except the checksum itself."""
    entries = {name: value for name, value in about.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _checksum_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
