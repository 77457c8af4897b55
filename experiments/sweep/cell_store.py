"""A store: a directory of cells, each completed, running or missing.

| path | holds |
|---|---|
| ``cells/NAME/`` | a completed cell (:mod:`experiments.sweep.cell_record`); never changed |
| ``running/NAME/`` | a cell in training, or one whose process ended before it was done |
| ``failed/NAME.json`` | the error of a cell that could not be trained |
| ``damaged/NAME-N/`` | damaged files that were moved here, with the reason |
| ``sweeps/*.json`` | the cells that each sweep was asked for |
| ``settings/*.json`` | shared settings (:mod:`experiments.sweep.sweep_settings`) |
| ``compiled/`` | programs (:mod:`experiments.sweep.compiled_programs`); may be removed |
"""

import contextlib
import dataclasses
import hashlib
import json
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jaxbern as jb
from experiments.sweep import cell_archive, cell_claims, cell_record
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell
from jaxbern.io import write_text

CELLS, RUNNING, FAILED = "cells", "running", "failed"
DAMAGED, SWEEPS, COMPILED = "damaged", "sweeps", "compiled"


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
      running: cells that were begun and are not completed; their process may have ended.
      failed: cells that ended with an error; the next sweep tries them again.
      missing: cells that a sweep was asked for and has not begun.
    """

    results: list[CellResult]
    damaged: list[Unfinished]
    running: list[Unfinished]
    failed: list[Unfinished]
    missing: list[Unfinished]


def read(root: Path, *, thorough: bool = False) -> Reading:
    """Read every cell of a store, without changing any file.

    Args:
      root: the store, or an archive of one (:mod:`experiments.sweep.cell_archive`).
      thorough: also check every byte of the saved networks.

    Raises:
      FileNotFoundError: there is no store.
      ValueError: it is a file, and not an archive.
    """
    root = Path(root)
    if root.is_file():
        return Reading(cell_archive.read(root), [], [], [], [])
    if not root.is_dir():
        raise FileNotFoundError(
            f"there is no store {root}; python -m experiments sweep makes a store"
        )
    results, damaged = [], []
    for name in _names(root / CELLS):
        try:
            results.append(cell_record.read(root / CELLS / name, thorough=thorough))
        except cell_record.Damaged as problem:
            damaged.append(Unfinished(printable(name), printable(str(problem))))
    results.sort(key=lambda result: result.cell)
    seen = {*(result.cell.name for result in results), *(name for name, _ in damaged)}
    failed = [
        Unfinished(name, printable(_failure(path)))
        for path in sorted((root / FAILED).glob("*.json"))
        if (name := printable(path.stem)) not in seen
    ]
    seen |= {name for name, _ in failed}
    running = [
        Unfinished(shown, cell_claims.describe(root / RUNNING / name))
        for name in _names(root / RUNNING)
        if (shown := printable(name)) not in seen
    ]
    seen |= {name for name, _ in running}
    missing = [
        Unfinished(name, "not begun") for name in asked(root) if name not in seen
    ]
    return Reading(results, damaged, running, failed, missing)


def write(
    root: Path, result: CellResult, models: Mapping[int, jb.MLP] | None = None
) -> Path:
    """Add a completed cell atomically.

    Args:
      root: the store; made if it does not exist.
      result: the cell.
      models: the best network of each seed, to save them too.

    Raises:
      FileExistsError: the cell is there already; it is not replaced.
    """
    cell_record.check(result)
    name = result.cell.name
    cells = Path(root) / CELLS
    cells.mkdir(parents=True, exist_ok=True)
    new = cells / f".{name}.{uuid.uuid4().hex[:12]}"
    try:
        new.mkdir()
        cell_record.write(new, result, models)
        _rename(new, cells / name)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return cells / name


def completed(root: Path, cell: Cell) -> CellResult | None:
    """Read the result of a cell; return None if it is not completed.

    Raises:
      Damaged: its files have changed.
    """
    directory = Path(root) / CELLS / cell.name
    return cell_record.read(directory, thorough=True) if directory.exists() else None


def set_aside(root: Path, path: Path, reason: str) -> Path:
    """Move a directory to ``damaged`` with the reason; the caller must hold the claim."""
    numbers = (f"{path.name}-{n}" for n in range(1, 1_000_000))
    place = next(place for n in numbers if not (place := root / DAMAGED / n).exists())
    place.parent.mkdir(exist_ok=True)
    path.rename(place)
    (place / "reason.txt").write_text(reason + "\n")
    return place


def remove(root: Path, path: Path) -> None:
    """Remove a directory: rename it first, so that an interruption leaves no half of it."""
    doomed = root / f".removed-{uuid.uuid4().hex[:12]}"
    with contextlib.suppress(FileNotFoundError):
        path.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_remains(root: Path) -> None:
    """Remove temporary files of processes that were killed.

    Files younger than an hour are kept, since their process may still be running.
    """
    hour = 3600
    young = root / f".removed-{uuid.uuid4().hex[:12]}"
    young.mkdir()
    now = young.stat().st_mtime  # by the clock of the file system
    young.rmdir()
    for path in (*root.glob(".removed-*"), *(root / CELLS).glob(".*")):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > hour:
                shutil.rmtree(path)


def write_failure(root: Path, cell: Cell, failure: Mapping[str, Any]) -> None:
    """Record the error of a cell; ``failure["error"]`` is its one-line text."""
    path = root / FAILED / f"{cell.name}.json"
    write_text(path, json.dumps(failure, indent=1) + "\n")


def forget_failure(root: Path, cell: Cell) -> None:
    """Delete the failure record of a cell."""
    (root / FAILED / f"{cell.name}.json").unlink(missing_ok=True)


def ask(root: Path, cells: Iterable[Cell], about: Mapping[str, Any]) -> None:
    """Record which cells a sweep is asked for; the same cells are recorded once."""
    names = sorted(cell.name for cell in cells)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    path = root / SWEEPS / f"{digest}.json"
    write_text(path, json.dumps({**about, "cells": names}, indent=1) + "\n")


def asked(root: Path) -> list[str]:
    """Return the names of the cells that sweeps were asked for."""
    names: set[str] = set()
    for path in (root / SWEEPS).glob("*.json"):
        with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
            cells = json.loads(path.read_text())["cells"]
            if isinstance(cells, list):
                names |= {printable(name) for name in cells if isinstance(name, str)}
    return sorted(names)


def printable(text: str) -> str:
    r"""Escape what UTF-8 cannot encode; the name of a file can be any bytes.

    >>> import os
    >>> printable(os.fsdecode(b"caf\xe9"))
    'caf\\udce9'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _rename(new: Path, place: Path) -> None:
    """Rename a directory to a free name; if two processes try, one of them fails."""
    try:
        new.rename(place)
    except OSError as problem:
        if place.exists():
            raise FileExistsError(f"{place} is completed already") from problem
        raise


def _names(directory: Path) -> list[str]:
    """List the cells of a directory; those being written have names with a leading dot."""
    if not directory.is_dir():
        return []
    entries = (path for path in directory.iterdir() if path.is_dir())
    return sorted(path.name for path in entries if not path.name.startswith("."))


def _failure(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return "an error that cannot be read"
