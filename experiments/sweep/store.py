"""A store: a directory of cells, each completed, begun or not there.

| path | holds |
|---|---|
| ``cells/NAME/`` | a completed cell (:mod:`experiments.sweep.record`); never changed |
| ``running/NAME/`` | one that is trained, or was when its process ended |
| ``failed/NAME.json`` | what went wrong in one that could not be trained |
| ``damaged/NAME-N/`` | files that were set aside, with the reason |
| ``sweeps/*.json`` | which cells were asked for |
"""

import contextlib
import dataclasses
import json
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import jaxbern as jb
from experiments.sweep import record
from experiments.sweep.results import CellResult

CELLS, RUNNING, FAILED = "cells", "running", "failed"
DAMAGED, SWEEPS = "damaged", "sweeps"


class Unfinished(NamedTuple):
    """A cell without a result."""

    name: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a store holds.

    Attributes:
      results: the completed cells, in the order of :class:`Cell`.
      damaged: cells whose files have changed; the next sweep trains them again.
      running: cells that were begun and are not completed, by a process that may be
        gone.
      failed: cells that ended with an error; the next sweep tries them again.
      missing: cells that a sweep was asked for and that are none of the above.
    """

    results: list[CellResult]
    damaged: list[Unfinished]
    running: list[Unfinished]
    failed: list[Unfinished]
    missing: list[Unfinished]


def read(root: Path, *, thorough: bool = False) -> Reading:
    """Look at every cell of a store, changing nothing.

    Args:
      root: the store.
      thorough: check every byte of the saved networks too.

    Raises:
      FileNotFoundError: there is no store.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(
            f"there is no store {root}; python -m experiments sweep makes one"
        )
    results, damaged = [], []
    for name in _names(root / CELLS):
        try:
            results.append(record.read(root / CELLS / name, thorough=thorough))
        except record.Damaged as problem:
            damaged.append(Unfinished(name, str(problem)))
    results.sort(key=lambda result: result.cell)
    seen = {*(result.cell.name for result in results), *(name for name, _ in damaged)}
    failed = [
        Unfinished(path.stem, _failure(path))
        for path in sorted((root / FAILED).glob("*.json"))
        if path.stem not in seen
    ]
    seen |= {name for name, _ in failed}
    running = [
        Unfinished(name, "begun, not completed")
        for name in _names(root / RUNNING)
        if name not in seen
    ]
    seen |= {name for name, _ in running}
    missing = [
        Unfinished(name, "not begun") for name in asked(root) if name not in seen
    ]
    return Reading(results, damaged, running, failed, missing)


def write(
    root: Path, result: CellResult, models: Mapping[int, jb.MLP] | None = None
) -> Path:
    """Add a completed cell in one step: all of it or nothing is there at any moment.

    Args:
      root: the store; made if it does not exist.
      result: the cell.
      models: the best network of each seed, if they are to be kept.

    Raises:
      FileExistsError: the cell is there already; it is not replaced.
    """
    record.check(result)
    name = result.cell.name
    cells = Path(root) / CELLS
    cells.mkdir(parents=True, exist_ok=True)
    new = cells / f".{name}.{uuid.uuid4().hex[:12]}"
    try:
        new.mkdir()
        record.write(new, result, models)
        _rename(new, cells / name)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return cells / name


def asked(root: Path) -> list[str]:
    """The names of the cells that sweeps were asked for."""
    names: set[str] = set()
    for path in (root / SWEEPS).glob("*.json"):
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            names |= set(json.loads(path.read_text())["cells"])
    return sorted(names)


def _rename(new: Path, place: Path) -> None:
    """A directory takes a place that is free; two that try, and one of them fails."""
    try:
        new.rename(place)
    except OSError as problem:
        if place.exists():
            raise FileExistsError(f"{place} is completed already") from problem
        raise


def _names(directory: Path) -> list[str]:
    """Of the cells in a directory; what is being written has a name with a dot."""
    if not directory.is_dir():
        return []
    entries = (path for path in directory.iterdir() if path.is_dir())
    return sorted(path.name for path in entries if not path.name.startswith("."))


def _failure(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return "an error that cannot be read"
