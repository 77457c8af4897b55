"""The progress bar of all commands: drawn on stderr by rich, removed at the end."""

import sys
from typing import Any


def bar_wanted(choice: bool | None = None) -> bool:
    """Return the explicit choice, else whether stderr is a terminal."""
    return sys.stderr.isatty() if choice is None else choice


def new_bar(*columns: str) -> Any:
    """Return a ``rich.progress.Progress`` with a description, a bar, and these columns.

    A column is the name of one of rich's classes, such as ``"TimeRemainingColumn"``, or a
    text with fields of the task, such as ``"{task.fields[note]}"``.
    """
    from rich import progress
    from rich.console import Console

    def column(name: str) -> Any:
        kind = getattr(progress, name, None)
        return progress.TextColumn(name) if kind is None else kind()

    return progress.Progress(
        *map(column, ("{task.description}", "BarColumn", *columns)),
        console=Console(stderr=True),
        transient=True,
    )
