"""A bar on a terminal, nothing elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A function to call after each of ``total`` steps, with the name of what is done."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=total)
        yield lambda what: bar.update(task, description=what, advance=1)
