"""A tiny sweep that several tests share: two cells, and one program for both."""

import contextlib
import functools
import os
import signal
import time
from pathlib import Path

import numpy as np

import jaxbern as jb
from experiments.sweep import cell_store, presets
from experiments.sweep.cell_record import COLUMNS, CellResult
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_run import Sweep, run

EPOCHS = 4
# With one layer there is no skip, so both cells share one program.
CELLS = [Cell("higgs", residual, 1, 2, "bernstein:3") for residual in (False, True)]
TINY = presets.Preset(
    "for tests",
    lambda: list(CELLS),
    presets.COLLIDER,
    rows=120,
    # 96 training rows give whole batches: a last batch of another size costs a compilation.
    training={"epochs": EPOCHS, "batch_size": 48, "seeds": (0, 1)},
    jobs=1,
)
presets.PRESETS["tiny"] = TINY  # also for child processes, which import this module
SWEEP = Sweep("tiny")


def programs(tmp_path_factory) -> Path:
    """Share a folder of compiled programs between all processes of these tests."""
    base = tmp_path_factory.getbasetemp()
    in_parallel = "PYTEST_XDIST_WORKER" in os.environ
    return (base.parent if in_parallel else base) / "programs"


def sweep(root: Path, what: Sweep = SWEEP, **options):
    """Run the sweep with a checkpoint after every epoch."""
    options = {"live": False, "checkpoint_seconds": 0, "keep_compiled": False} | options
    return run(what, root=root, **options)


def histories(root: Path) -> dict[str, dict]:
    """Return what must be the same bit for bit, for each completed cell."""
    reading = cell_store.read(root, thorough=True)
    return {
        result.cell.name: {
            "stops": result.stops,
            **{
                (seed, name): columns[name].tobytes()
                for seed, columns in result.history.items()
                for name in COLUMNS
                if name != "seconds"
            },
        }
        for result in reading.results
    }


def made_up(
    cell: Cell = CELLS[0], seeds=(0, 1), epochs: int = 3, **about
) -> CellResult:
    """Return a completed cell with made-up numbers."""
    random = np.random.default_rng(0)
    history = {
        seed: {name: random.random(epochs) for name in COLUMNS} for seed in seeds
    }
    stop = {"reason": "finished", "epoch": epochs - 1, "step": None, "last_loss": 0.5}
    return CellResult(cell, history, {seed: dict(stop) for seed in seeds}, about)


class Seen(jb.train.Callback):
    """Records the trained epochs in a file that survives the process."""

    def __init__(self, cell: Cell, *, log: Path):
        self._cell, self._log = cell, log

    def epoch(self, records):
        with self._log.open("a") as file:
            file.write(f"{self._cell.name} {records[0]['epoch']}\n")


class Once(jb.train.Callback):
    """Runs an action the first time that an epoch of a cell is trained."""

    def __init__(self, cell: Cell, *, of: Cell, epoch: int, mark: Path, what):
        self._mine, self._epoch = cell == of, epoch
        self._mark, self._what = mark, what

    def epoch(self, records):
        if (
            self._mine
            and records[0]["epoch"] == self._epoch
            and not self._mark.exists()
        ):
            self._mark.touch()
            self._what()


def noting(log: Path):
    """Return a factory of :class:`Seen` for each cell."""
    return functools.partial(Seen, log=log)


def once(tmp_path: Path, what, *, of: Cell = CELLS[0], epoch: int = 1):
    """Return a callback factory that runs ``what`` once, in an epoch of a cell."""
    return functools.partial(
        Once, of=of, epoch=epoch, mark=tmp_path / "mark", what=what
    )


def kill_this_process() -> None:
    time.sleep(0.3)  # for the checkpoints of the epochs before to reach the disk
    os.kill(os.getpid(), signal.SIGKILL)


def seen(log: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return log.read_text().splitlines()
    return []
