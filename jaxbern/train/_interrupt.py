"""Ctrl-C that waits for a good moment."""

import signal
import sys
import threading
from typing import Any


class Interrupts:
    """Inside ``with``, the first Ctrl-C only sets ``pending``; the second acts at once.

    Nothing changes where Ctrl-C does nothing, as in the background of a shell, nor outside
    the main thread, where Python allows no handlers.
    """

    def __init__(self, enabled: bool):
        """Without ``enabled``, Ctrl-C acts as ever."""
        self.pending = False
        self._enabled = enabled
        self._previous: Any = None

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if self._enabled and is_main and not ignored:
            self._previous = signal.signal(signal.SIGINT, self._first)
        return self

    def __exit__(self, *exception) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _first(self, number, frame) -> None:
        self.pending = True
        signal.signal(signal.SIGINT, self._previous)
        text = "Ctrl-C: this epoch is finished and saved first; again to stop at once"
        print(f"\n{text}", file=sys.stderr, flush=True)
