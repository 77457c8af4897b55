"""Show progress: a bar on a terminal; elsewhere nothing, or a line per step."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(total: int, *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after each of ``total`` steps with the name of the step.

    With ``lines`` every step prints a line if stderr is not a terminal.
    """
    # Imports JAX, which --help must not wait for.
    from jaxbern.io import bar_wanted, new_bar

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
