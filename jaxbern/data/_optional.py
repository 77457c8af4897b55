"""Packages that come with the extra ``experiments``, and the one bar of progress."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


def optional(module: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"reading data files needs {package}, which is not installed: "
            'pip install "jaxbern[experiments]"'
        ) from error


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the bytes done so far; silent if nobody is watching."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.DownloadColumn(),
        rich.TransferSpeedColumn(),
        rich.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
