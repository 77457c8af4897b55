"""``python -m experiments sweep reuse``: count compilations, cell by cell."""

import argparse
import dataclasses
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import jaxbern as jb
from experiments.sweep import compiled_programs
from experiments.sweep.cell_training import Job, train
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events

CELL = Cell("higgs", True, 5, 16, "bernstein:9")
_LAST = "the same cell in another process"


def main(argv: list[str]) -> int:
    """Print how many programs each cell compiles; 1 if one of the same shape does."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments sweep reuse", description=__doc__
    )
    parser.add_argument("--process", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.process:
        _line(_LAST, _count(options.process, "again", CELL))
        return 0
    print(f"{'cell':<52}{'compiled':>10}{'from store':>12}{'seconds':>9}")
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        _line(f"{CELL.name}, the first", _count(root, "first", CELL))
        second = _count(root, "second", CELL, seeds=(3, 4, 5), of_events=1)
        _line("the same shape, other events and seeds", second)
        rate = _count(root, "rate", CELL, learning_rate=0.01, epochs=3)
        _line("the same shape, other learning rate and epochs", rate)
        other = Cell("higgs", True, 5, 16, "bernstein:3")
        _line(f"{other.name}, another shape", _count(root, "other", other))
        again = [sys.executable, "-m", "experiments", "sweep", "reuse"]
        sys.stdout.flush()
        subprocess.run([*again, "--process", work], check=True)
    return 1 if second.programs or rate.programs else 0


def _count(root: Path, name: str, cell: Cell, of_events: int = 0, **options):
    """Count what a cell compiles when trained into its own store ``name``."""
    data = jb.data.load("collider:higgs", rows=5000, seed=of_events)
    short = jb.train.TrainConfig(cell.network, epochs=2, batch_size=500)
    config = dataclasses.replace(short, **options)
    job = Job(root / name, cell, config, Events("collider:higgs", data), {})
    job.root.mkdir(parents=True)
    with (
        compiled_programs.counted() as count,
        compiled_programs.kept(root / "compiled"),
    ):
        outcome = train(job, stop=threading.Event())
    if not outcome.trained:
        raise RuntimeError(f"the cell was not trained: {outcome}")
    return count


def _line(name: str, count: compiled_programs.Count) -> None:
    print(f"{name:<52}{count.compiled:>10}{count.loaded:>12}{count.seconds:>9.2f}")
