"""Import packages of the extra ``experiments``, and show progress in bytes."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from jaxbern.io import bar_wanted, new_bar


def optional(module: str) -> Any:
    """Import a module; the error says how to install it."""
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
    """Yield a function to call with the bytes done so far; shows a bar on a terminal."""
    if not bar_wanted():
        yield lambda done: None
        return
    columns = "DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn"
    with new_bar(*columns) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
