"""Experiment 1 of the paper: tasks that one or two Bernstein neurons solve."""

from pathlib import Path
from typing import Any


def run(out: Path, *, quick: bool = False) -> list[Any]:
    """Train, write tables and figures to ``out``; return the rows of results.

    A row is an ``experiments.capacity.capacity_results.Row``. The studies of other settings
    are left out. ``quick`` trains few seeds for few steps, as a smoke test.
    """
    from experiments.capacity import capacity_command, capacity_tasks

    return capacity_command.run(
        Path(out), capacity_tasks.QUICK if quick else capacity_tasks.RESULTS
    )
