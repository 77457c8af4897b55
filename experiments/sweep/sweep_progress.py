"""Progress of a sweep: bars on a terminal, else a line for every cell."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from experiments.sweep.cell_training import Outcome
from experiments.sweep.grid import Cell
from jaxbern.io import new_bar

_WORDS = {"nonfinite": "NOT FINITE", "failed": "FAILED"}


class Progress:
    """Receives events of a sweep from any thread."""

    def __init__(
        self, costs: Mapping[Cell, float], epochs: int, *, live: bool, title: str = ""
    ):
        """Follow cells with these relative costs; ``live`` draws bars."""
        self._title = title
        self._costs, self._epochs = dict(costs), epochs
        self._open = dict(costs)
        self._done = self._failed = self._elsewhere = 0
        self._began, self._paid = time.monotonic(), 0.0
        self._lock = threading.Lock()
        self._bars = _Bars(len(costs)) if live else None

    def __enter__(self) -> "Progress":
        if self._bars:
            self._bars.start()
        if self._title:
            self.say(self._title)
        return self

    def __exit__(self, *exception) -> None:
        if self._bars:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        if self._bars:
            self._bars.print(text)
        else:
            print(text, flush=True)

    def found(self, outcomes: list[Outcome]) -> None:
        """Count cells that were completed before."""
        for outcome in outcomes:
            self._open.pop(outcome.cell, None)
            self._count(outcome)
        if outcomes:
            self.say(f"{len(outcomes)} of {len(self._costs)} cells are there already")
        self._show()

    def running(self, cells: int) -> None:
        """Show how many cells other processes train; their epochs are not known."""
        if self._bars:
            with self._lock:
                self._elsewhere = cells
                self._show()

    def epoch(self, cell: Cell, epochs: int, auc: float) -> None:
        """Note how many epochs a cell has trained."""
        if self._bars:
            with self._lock:
                self._bars.running(cell.name, epochs, self._epochs, auc)

    def outcome(self, outcome: Outcome) -> None:
        """Report the outcome of a cell."""
        with self._lock:
            if self._bars:
                self._bars.ended(outcome.cell.name)
            if outcome.kind in ("busy", "stopped"):
                return
            cost = self._open.pop(outcome.cell, 0.0)
            if outcome.trained:
                self._paid += cost
            self._count(outcome)
            self.say(self._line(outcome))
            self._show()

    def _count(self, outcome: Outcome) -> None:
        failed = outcome.kind in _WORDS
        self._failed += failed
        self._done += not failed

    def _line(self, outcome: Outcome) -> str:
        place = self._done + self._failed
        width = len(str(len(self._costs)))
        words = [f"[{place:>{width}}/{len(self._costs)}] {outcome.cell.name}"]
        words.append(f"{_WORDS[outcome.kind]} " if outcome.kind in _WORDS else "")
        found = "" if outcome.trained or outcome.kind == "failed" else " (found)"
        left = f"  [{self._left()} left]" if self._open and not self._bars else ""
        return f"{words[0]}: {words[1]}{outcome.text}{found}{left}"

    def _left(self) -> str:
        """Estimate the time left from the relative costs of the cells that are not done."""
        if not self._paid:
            return "?"
        seconds = time.monotonic() - self._began
        return duration(seconds * sum(self._open.values()) / self._paid)

    def _show(self) -> None:
        if self._bars:
            self._bars.total(self._done, self._failed, self._elsewhere, self._left())


class _Bars:
    """Bars on stderr, drawn by rich and removed when the sweep ends."""

    def __init__(self, cells: int):
        self._bar: Any = new_bar("MofNCompleteColumn", "{task.fields[note]}")
        self._total = self._bar.add_task("cells", total=cells, note="")
        self._running: dict[str, Any] = {}

    def start(self) -> None:
        self._bar.start()

    def stop(self) -> None:
        self._bar.stop()

    def print(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def total(self, done: int, failed: int, elsewhere: int, left: str) -> None:
        running = len(self._running) + elsewhere
        note = f"{running} running, {failed} failed, {left} left"
        self._bar.update(self._total, completed=done + failed, note=note)

    def running(self, name: str, epochs: int, of: int, auc: float) -> None:
        if name not in self._running:
            self._running[name] = self._bar.add_task(name, total=of, note="compiling")
        note = f"AUC {auc:.4f}" if auc else "compiling"
        self._bar.update(self._running[name], completed=epochs, note=note)

    def ended(self, name: str) -> None:
        if name in self._running:
            self._bar.remove_task(self._running.pop(name))


def duration(seconds: float) -> str:
    """Print a duration in words.

    >>> [duration(s) for s in (5, 200, 7300)]
    ['5 s', '3 min', '2.0 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
