"""Measure times that can be compared: programs take turns, the best time of each counts.

Other load on the machine then affects all of them equally.
"""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that makes the call once and returns the seconds it took."""

    def run() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return run


def best_in_turns(
    runs: Mapping[Name, Callable[[], Any]], rounds: int
) -> dict[Name, Any]:
    """Call each function once per round and return the smallest result of each.

    Args:
      runs: functions that measure once and return something comparable, such as seconds.
      rounds: number of calls of each function.
    """
    found: dict[Name, Any] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            value = run()
            found[name] = min(found.get(name, value), value)
    return found
