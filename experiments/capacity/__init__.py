"""Experiment 1 of the paper: what one or two Bernstein neurons can do that ReLU cannot."""

from pathlib import Path
from typing import Any


def run(out: Path, *, quick: bool = False) -> list[Any]:
    """Train, write tables and figures to ``out``; the rows of the table of results.

    A row is an ``experiments.capacity.capacity_results.Row``. ``quick`` trains few seeds
    for few steps, to see that everything works.
    """
    from experiments.capacity import capacity_command, capacity_tasks

    return capacity_command.run(
        Path(out), capacity_tasks.QUICK if quick else capacity_tasks.Budget()
    )
