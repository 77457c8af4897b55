"""Compare the store and log of a disturbed sweep with those of an undisturbed one."""

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.sweep import cell_record, cell_store
from experiments.sweep.cell_record import CellResult


class Verdict(NamedTuple):
    """The outcome of a disturbed sweep.

    Attributes:
      complete: number of complete cells.
      cells: number of cells that should be complete.
      equal: number with the histories, stops and networks of the undisturbed sweep.
      needed: epochs that an undisturbed sweep trains.
      again: epochs trained more than once: lost with a process that was killed before
        they were on disk, or with a damaged cell.
      most: maximum number of epochs lost by one kill or one damage.
      at_once: cells that two processes trained at the same time.
    """

    complete: int
    cells: int
    equal: int
    needed: int
    again: int
    most: int
    at_once: int

    @property
    def good(self) -> bool:
        """Whether all cells are complete and equal, and none was trained concurrently."""
        return self.cells == self.complete == self.equal and not self.at_once


def judge(root: Path, log: Path, undisturbed: Path) -> Verdict:
    """Compare a store with an undisturbed one."""
    expected = {r.cell: r for r in cell_store.read(undisturbed, thorough=True).results}
    found = {r.cell: r for r in cell_store.read(root, thorough=True).results}
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    counts = Counter((entry["cell"], entry["epoch"]) for entry in entries)
    equal = [
        cell in found
        and same(found[cell], expected[cell])
        and _networks(root, cell) == _networks(undisturbed, cell)
        for cell in expected
    ]
    return Verdict(
        complete=len(found),
        cells=len(expected),
        equal=sum(equal),
        needed=sum(map(_epochs, expected.values())),
        again=sum(counts.values()) - len(counts),
        most=max((_steps_back(part) for part in _by_cell(entries)), default=0),
        at_once=sum(_overlap(part) for part in _by_cell(entries)),
    )


def same(one: CellResult, other: CellResult) -> bool:
    """Return whether two results agree bit for bit, except for times."""
    return one.stops == other.stops and all(
        np.array_equal(
            one.history[seed][name], other.history[seed][name], equal_nan=True
        )
        for seed in other.history
        for name in other.history[seed].keys() - {"seconds"}
    )


def _networks(root: Path, cell) -> dict[str, str]:
    """Return checksums of the saved networks."""
    manifest = root / cell_store.CELLS / cell.name / cell_record.MANIFEST
    files = json.loads(manifest.read_text())["files"]
    return {name: each["sha256"] for name, each in files.items() if ".npz" in name}


def _epochs(result: CellResult) -> int:
    return max(len(columns["auc"]) for columns in result.history.values())


def _by_cell(entries: list[dict]) -> list[list[dict]]:
    cells = defaultdict(list)
    for entry in entries:
        cells[entry["cell"]].append(entry)
    return list(cells.values())


def _steps_back(entries: list[dict]) -> int:
    """Return the maximum number of epochs that a continuing process trained again."""
    entries = sorted(entries, key=lambda entry: entry["ended"])
    back = [
        before["epoch"] + 1 - after["epoch"]
        for before, after in itertools.pairwise(entries)
    ]
    return max(back, default=0)


def _overlap(entries: list[dict]) -> bool:
    """Return whether epochs of two processes overlapped."""
    entries = sorted(entries, key=lambda entry: entry["began"])
    return any(
        after["process"] != before["process"] and after["began"] < before["ended"]
        for before, after in itertools.pairwise(entries)
    )
