"""Defer Ctrl-C until the current epoch is saved."""

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any


class Interrupts:
    """Defer Ctrl-C inside ``with``: the first sets ``pending``, the second acts at once.

    Signals that are ignored, as in a shell's background job, stay ignored. Outside the main
    thread, where Python allows no handlers, nothing changes.
    """

    def __init__(
        self,
        text: str = "this epoch is finished and saved first; again to stop at once",
        *,
        enabled: bool = True,
        signals: Sequence[int] = (signal.SIGINT,),
        at_once: Callable[[], Any] | None = None,
        pending: threading.Event | None = None,
    ):
        """Choose the signals, the message and the reaction.

        Args:
          text: printed to standard error at the first signal.
          enabled: if False, signal handling is not changed.
          signals: the signals to defer.
          at_once: called at the second signal; if None, the previous handler runs.
          pending: the event to set; by default a new one.
        """
        self._text, self._enabled, self._signals = text, enabled, signals
        self._at_once = at_once
        self._pending = threading.Event() if pending is None else pending
        self._previous: dict[int, Any] = {}

    @property
    def pending(self) -> bool:
        """Whether a signal was received."""
        return self._pending.is_set()

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        for number in self._signals if self._enabled and is_main else ():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._previous[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *exception) -> None:
        self._restore()

    def _restore(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def _hear(self, number: int, frame) -> None:
        if self.pending and self._at_once is not None:
            self._at_once()
        self._pending.set()
        if self._at_once is None:
            self._restore()
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        print(f"\n{name}: {self._text}", file=sys.stderr, flush=True)
