"""Times that can be compared: programs take turns, and the best time of each counts.

Whatever else the machine does then falls on all of them.
"""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """A function that makes the call once and returns its seconds."""

    def run() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return run


def best_in_turns(
    runs: Mapping[Name, Callable[[], Any]], rounds: int
) -> dict[Name, Any]:
    """The least of what each function returned in all rounds.

    Args:
      runs: functions that measure once; what they return can be compared, such as seconds.
      rounds: how often each function is called.
    """
    found: dict[Name, Any] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            value = run()
            found[name] = min(found.get(name, value), value)
    return found
