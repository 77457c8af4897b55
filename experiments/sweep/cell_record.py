"""The files of a completed cell, with a manifest that is checked on every read.

| file | holds |
|---|---|
| ``cell.json`` | the cell, why each seed stopped, and what the numbers depend on |
| ``history.jsonl`` | a line for each seed and epoch, as ``jb.train`` writes them |
| ``summary.json`` | for each seed, the best AUC, its epoch, and why it stopped |
| ``best-SEED.npz`` | the network of the best AUC, for ``jb.MLP.load`` |
| ``manifest.json`` | size and SHA-256 of every other file |
"""

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import jaxbern as jb
from experiments.sweep.grid import Cell

FORMAT = 1
CELL, HISTORY, SUMMARY = "cell.json", "history.jsonl", "summary.json"
MANIFEST = "manifest.json"
REASONS = ("finished", "early", "nonfinite")
_ABOUT = {
    "source": str,
    "events": int,
    "fingerprint": str,
    "config": dict,
    "environment": dict,
}
# Options of the training that are shown with digits grouped, or computed with.
_NUMBERS = ("epochs", "batch_size", "learning_rate", "stop_patience", "test_fraction")
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
      cell: the network and its data set.
      history: ``history[seed][column]``, an array with an entry for each epoch that the
        seed trained: ``train_loss``, ``validation_loss``, ``auc``, ``learning_rate``,
        ``saturation``, ``seconds`` (of the epoch, for all seeds together).
      stops: ``stops[seed]``: ``reason`` ("finished", "early" or "nonfinite"), ``epoch``,
        ``step`` and ``last_loss``, as in ``jb.train.Stop``.
      about: what the numbers depend on: ``source`` (of the events, such as "higgs" or
        "collider:higgs"), ``events``, ``fingerprint``, ``config`` (of the training),
        ``environment`` (versions, device, revision), ``compile_seconds``.
    """

    cell: Cell
    history: dict[int, dict[str, np.ndarray]]
    stops: dict[int, dict[str, Any]]
    about: dict[str, Any]


class Damaged(ValueError):
    """Raised when a file is missing or has changed; the text names it."""


def write(
    directory: Path, result: CellResult, models: Mapping[int, jb.MLP] | None = None
) -> None:
    """Write all files into an empty directory, and flush them to the disk."""
    for name, text in texts(result).items():
        (directory / name).write_text(text)
    (directory / SUMMARY).write_text(_text(summary(result)))
    for seed, model in (models or {}).items():
        model.save(directory / f"best-{seed}.npz")
    files = sorted(path for path in directory.iterdir() if path.name != MANIFEST)
    listed = {path.name: _listed(path.read_bytes()) for path in files}
    manifest = {"format": FORMAT, "files": listed}
    (directory / MANIFEST).write_text(_text(manifest))
    for path in (*files, directory / MANIFEST, directory):
        _to_disk(path)


def texts(result: CellResult) -> dict[str, str]:
    """Return the contents of the files of a cell except its networks, by name."""
    about = {
        "format": FORMAT,
        "cell": dataclasses.asdict(result.cell),
        "stops": {str(seed): _storable(stop) for seed, stop in result.stops.items()},
        "about": result.about,
    }
    return {CELL: _text(about), HISTORY: "".join(_lines(result))}


def read(directory: Path, *, thorough: bool = False) -> CellResult:
    """Read the cell in a directory.

    Args:
      directory: the directory of the cell.
      thorough: also check the bytes of the networks, not only their sizes.

    Raises:
      Damaged: a file is missing, has changed, or is of another format.
    """
    try:
        listed = _manifest(directory)
        contents = {
            name: _checked(directory / name, expected)
            for name, expected in listed.items()
            if thorough or not name.endswith(".npz")
        }
        for name in listed.keys() - contents.keys():
            _check_size(directory / name, listed[name]["bytes"])
        result = parsed({name: contents[name].decode() for name in (CELL, HISTORY)})
    except Damaged:
        raise
    except Exception as problem:  # whatever bytes lead the parsers to
        said = f"{type(problem).__name__}: {problem}"
        raise Damaged(f"it cannot be understood ({said})") from problem
    if result.cell.name != directory.name:
        raise Damaged(f"it holds the cell {result.cell.name}")
    return result


def check(result: CellResult) -> None:
    """Raise ValueError unless the result has the parts that readers of a store rely on."""
    if not result.history or result.history.keys() != result.stops.keys():
        raise ValueError(
            f"{result.cell.name}: history and stops must be of the same seeds, at least "
            f"one, got {sorted(result.history)} and {sorted(result.stops)}"
        )
    for seed, columns in result.history.items():
        if set(columns) != set(COLUMNS):
            raise ValueError(
                f"{result.cell.name}: the history of seed {seed} must have the columns "
                f"{', '.join(COLUMNS)}, got {', '.join(columns)}"
            )
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError(
                f"{result.cell.name}: the columns of seed {seed} must be of one length"
            )
    _check_about(result)
    for seed, stop in result.stops.items():
        names = {field.name for field in dataclasses.fields(jb.train.Stop)}
        if set(stop) != names:
            raise ValueError(
                f"{result.cell.name}: the stop of seed {seed} must have {sorted(names)}, "
                f"got {sorted(stop)}"
            )
        whole = isinstance(stop["epoch"], int) and isinstance(stop["step"], int | None)
        if stop["reason"] not in REASONS or not whole:
            raise ValueError(
                f"{result.cell.name}: the stop of seed {seed} must have a reason of "
                f"{', '.join(REASONS)}, an epoch and a step, got {stop}"
            )


def _check_about(result: CellResult) -> None:
    """Check the entries of ``about`` that a report computes with or sorts by, if present."""
    about = result.about
    if not isinstance(about, dict):
        raise ValueError(f"about must be a dictionary, got {about!r}")
    for name, kind in _ABOUT.items():
        if not isinstance(about.get(name, kind()), kind):
            raise ValueError(
                f"about.{name} must be of the type {kind.__name__}, got {about[name]!r}"
            )
    if about.get("events", 0) < 0:
        raise ValueError(f"about.events must not be negative, got {about['events']}")
    for name, value in about.get("config", {}).items():
        number = isinstance(value, int | float) and math.isfinite(value)
        if name in _NUMBERS and not number:
            raise ValueError(f"about.config.{name} must be a number, got {value!r}")


def summary(result: CellResult) -> dict[str, Any]:
    """Summarise each seed's best epoch and how it ended, as ``jb.train.Result.summary``."""
    found = {}
    for seed, columns in result.history.items():
        auc = np.asarray(columns["auc"], float)
        best = int(np.nanargmax(auc)) if np.isfinite(auc).any() else -1
        found[str(seed)] = {
            "best_auc": None if best < 0 else float(auc[best]),
            "best_epoch": best,
            "epochs": len(auc),
            "stop": _storable(result.stops[seed]),
        }
    return found


def _lines(result: CellResult) -> list[str]:
    lines = []
    for seed, columns in result.history.items():
        rows = zip(
            *(np.asarray(columns[name]).tolist() for name in COLUMNS), strict=True
        )
        for epoch, numbers in enumerate(rows):
            values = dict(zip(COLUMNS, numbers, strict=True))
            lines.append(
                json.dumps({"seed": seed, "epoch": epoch, **_storable(values)}) + "\n"
            )
    return lines


def parsed(texts: Mapping[str, str]) -> CellResult:
    """Parse what :func:`texts` returned.

    Raises:
      Damaged: it is of another format, or an epoch is missing.
    """
    content = json.loads(texts[CELL])
    if content["format"] != FORMAT:
        raise Damaged(f"it has format {content['format']}, this version reads {FORMAT}")
    stops = {int(seed): _stop(stop) for seed, stop in content["stops"].items()}
    history: dict[int, dict[str, list[float]]] = {
        seed: {name: [] for name in COLUMNS} for seed in stops
    }
    for line in texts[HISTORY].splitlines():
        entry = json.loads(line)
        columns = history[entry["seed"]]
        if entry["epoch"] != len(columns["auc"]):
            raise Damaged(
                f"epoch {len(columns['auc'])} of seed {entry['seed']} is missing"
            )
        for name in COLUMNS:
            columns[name].append(_number(entry[name]))
    arrays = {
        seed: {name: np.array(column, float) for name, column in columns.items()}
        for seed, columns in history.items()
    }
    result = CellResult(Cell(**content["cell"]), arrays, stops, content["about"])
    check(result)
    return result


def _manifest(directory: Path) -> dict[str, dict[str, Any]]:
    path = directory / MANIFEST
    if not path.is_file():
        raise Damaged(f"{MANIFEST} is missing")
    manifest = json.loads(path.read_bytes())
    if manifest["format"] != FORMAT:
        raise Damaged(
            f"it has format {manifest['format']}, this version reads {FORMAT}"
        )
    if missing := {CELL, HISTORY, SUMMARY} - manifest["files"].keys():
        raise Damaged(f"{MANIFEST} does not list {', '.join(sorted(missing))}")
    return manifest["files"]


def _checked(path: Path, expected: Mapping[str, Any]) -> bytes:
    _check_size(path, expected["bytes"])
    content = path.read_bytes()
    if _listed(content) != expected:
        raise Damaged(f"{path.name} has changed since it was written (SHA-256)")
    return content


def _check_size(path: Path, expected: int) -> None:
    if not path.is_file():
        raise Damaged(f"{path.name} is missing")
    if (size := path.stat().st_size) != expected:
        raise Damaged(f"{path.name} has {size:,} bytes, {expected:,} were written")


def _listed(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace floats that JSON cannot hold: NaN by null, infinities by their names."""
    return {
        name: value
        if not isinstance(value, float) or math.isfinite(value)
        else (None if math.isnan(value) else str(value))
        for name, value in values.items()
    }


def _number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _stop(stop: dict[str, Any]) -> dict[str, Any]:
    return {**stop, "last_loss": _number(stop["last_loss"])}


def _text(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
