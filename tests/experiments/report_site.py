"""Build the report of a store with gaps and faults."""

from pathlib import Path

import numpy as np

from experiments.sweep import cell_store
from experiments.sweep.grid import ACTIVATIONS, Cell
from tests.experiments import report_stores

WHOLE = [
    Cell("higgs", True, 5, width, activation)
    for width in (16, 32)
    for activation in ACTIVATIONS
]
PART = [
    Cell("susy", False, 15, 16, activation)
    for activation in ("relu", "gelu", "bernstein:3")
]
DAMAGED = Cell("susy", False, 15, 16, "bernstein:9")
LOST = Cell("susy", False, 15, 16, "bernstein:25")


def fill(root: Path) -> None:
    """Write a complete group of two architectures, a part of another, and two faults."""
    for result in report_stores.learning([*WHOLE, *PART, DAMAGED]):
        cell_store.write(root, result)
    path = root / "cells" / DAMAGED.name / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    losses = [np.linspace(0.69, 0.5, n) for n in (4, 0, 9)]
    reasons = ["nonfinite", "nonfinite", "early"]
    lost = report_stores.result(LOST, losses, reasons=reasons)
    cell_store.write(root, lost)
