"""A bar on a terminal; elsewhere nothing, or a line for each step."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(total: int, *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """A function to call after each of ``total`` steps, with the name of what is done.

    With ``lines`` every step prints a line where there is no terminal.
    """
    from jaxbern.io import bar_wanted, new_bar  # imports JAX, which help needs not

    if not bar_wanted():
        done = 0

        def tell(what: str) -> None:
            nonlocal done
            done += 1
            if lines:
                print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)

        yield tell
        return
    columns = "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
    with new_bar(*columns) as bar:
        task = bar.add_task("compiling", total=total)
        yield lambda what: bar.update(task, description=what, advance=1)
