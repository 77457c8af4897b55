"""The sweep to disturb: ``python -m tests.faults.sweep_child STORE LOG``.

It is slow on purpose and records every trained epoch in a log that no fault touches. The
log shows whether anything was trained twice.
"""

import argparse
import functools
import json
import os
import sys
import time
from pathlib import Path

import jaxbern as jb
from experiments.sweep import sweep_run
from experiments.sweep.cell_training import DiskFull
from experiments.sweep.grid import Cell
from experiments.sweep.grid_filter import Filter

EPOCHS = 30
SWEEP = sweep_run.Sweep(
    "demo",
    Filter(dataset=("higgs",), width=(16,), activation=("relu", "selu", "bernstein:3")),
    rows=1500,
    training={"epochs": EPOCHS, "batch_size": 300, "stop_patience": EPOCHS},
)


class Noted(jb.train.Callback):
    """Appends a line to the log for every epoch, and delays it."""

    def __init__(self, cell: Cell, *, log: str, seconds: float):
        """Log the epochs of one cell."""
        self._cell, self._log, self._seconds = cell, log, seconds
        self._began = time.time()

    def start(self, config, past):
        self._began = time.time()

    def epoch(self, records):
        time.sleep(self._seconds)
        entry = {
            "cell": self._cell.name,
            "epoch": max(record["epoch"] for record in records),
            "process": os.getpid(),
            "began": self._began,
            "ended": time.time(),
        }
        self._began = entry["ended"]
        # Appending a short line is atomic, also with several writers.
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, (json.dumps(entry) + "\n").encode())
        os.close(descriptor)


def main(argv: list[str]) -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("log")
    parser.add_argument("--executor", default="local")
    parser.add_argument("--seconds", type=float, default=0.1)
    options = parser.parse_args(argv)
    note = functools.partial(Noted, log=options.log, seconds=options.seconds)
    try:
        summary = sweep_run.run(
            SWEEP,
            root=options.store,
            executor=options.executor,
            at_once=2,
            callbacks=[note],
            checkpoint_seconds=0,
            ray_options={"init": {"num_cpus": 2}, "retries": 100},
        )
    except DiskFull as problem:
        print(problem, file=sys.stderr)
        return 3
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
