"""Judge a statement about many cases of which only some are known.

A statement is about *any*, *most* or *all* of its cases. One about any holds with one true
case, one about all fails with one false case; beyond that all cases must be known. One about
most is judged by the majority of the known cases once these are at least half of all. A
judgement must be the same with any one of the seeds left out, or it cannot be told.
"""

import dataclasses
import enum
import statistics
from collections.abc import Callable, Sequence
from typing import Literal

Quantifier = Literal["any", "most", "all"]


class Status(enum.Enum):
    """Whether a statement holds."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"

    @property
    def tone(self) -> str:
        """Word for the colour of the status."""
        return {Status.HOLDS: "holds", Status.FAILS: "fails"}.get(self, "open")


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a statement.

    Attributes:
      where: shown to readers, such as "HIGGS, residual 5x16".
      true: whether the statement is true of it, as far as is known; None if nothing is.
      settled: whether more cells could not change that.
      value: the number behind it.
    """

    where: str
    true: bool | None
    settled: bool = True
    value: float | None = None


@dataclasses.dataclass(frozen=True)
class Judgement:
    """The judgement of a statement.

    Attributes:
      status: holds, does not hold, or cannot be told.
      so_far: whether it is true of the known cases; None if none is known.
      numbers: how many of the cases are true, and the value that matters most.
      on_one_seed: whether the status changes if one of the seeds is left out.
    """

    status: Status
    so_far: bool | None
    numbers: str
    on_one_seed: bool = False

    @property
    def open(self) -> bool:
        """Whether it cannot be told."""
        return self.status is Status.OPEN

    @property
    def leaning(self) -> str:
        """How an open statement stands so far."""
        if self.so_far is None:
            return "none of its cells is trained"
        leaning = "so far it holds" if self.so_far else "so far it does not hold"
        return f"{leaning}, but it turns on one seed" if self.on_one_seed else leaning

    def unless_one_seed_decides(self, others: Sequence["Judgement"]) -> "Judgement":
        """Return this judgement if it holds with any seed left out, else an open one."""
        if self.open or all(other.status is self.status for other in others):
            return self
        return dataclasses.replace(self, status=Status.OPEN, on_one_seed=True)

    def __str__(self) -> str:
        """Format the status and, if it is open, how it stands so far."""
        return self.status.value + (f", {self.leaning}" if self.open else "")


def judge(
    quantifier: Quantifier,
    cases: Sequence[Case],
    *,
    show: Callable[[float], str] = "{:.3g}".format,
    extreme: Callable[[Sequence[float]], float] | None = None,
) -> Judgement:
    """Judge a statement.

    Args:
      quantifier: whether it is about any, most or all cases.
      cases: all of them, known or not.
      show: prints the value of a case.
      extreme: which value to report: ``max``, ``min`` or ``statistics.median``.
    """
    settled = [case.true for case in cases if case.settled and case.true is not None]
    known = [case for case in cases if case.true is not None]
    status = _status(quantifier, settled.count(True), settled.count(False), len(cases))
    so_far = None
    if known:
        count = sum(bool(case.true) for case in known)
        found = _status(quantifier, count, len(known) - count, len(known))
        so_far = found is Status.HOLDS
    return Judgement(status, so_far, _numbers(quantifier, cases, known, show, extreme))


def _status(quantifier: Quantifier, true: int, false: int, total: int) -> Status:
    """Return the status with ``true`` and ``false`` settled cases among a ``total``."""
    if quantifier == "any":
        holds, fails = true > 0, false == total
    elif quantifier == "all":
        holds, fails = true == total, false > 0
    else:
        enough = 2 * (true + false) >= total
        holds, fails = enough and true > false, enough and true <= false
    if total == 0 or not (holds or fails):
        return Status.OPEN
    return Status.HOLDS if holds else Status.FAILS


def _numbers(quantifier, cases, known, show, extreme) -> str:
    if not known:
        return f"none of {len(cases)} cases is known"
    count = sum(bool(case.true) for case in known)
    text = f"true of {count} of {len(known)}"
    if len(known) < len(cases):
        text += f" trained cases, the paper has {len(cases)}"
    else:
        text += " cases"
    valued = [case for case in known if case.value is not None]
    if extreme and valued:
        text += f"; {_told(valued, show, extreme)}"
    false = [case for case in known if not case.true]
    if quantifier == "all" and false:
        value = "" if false[0].value is None else f" ({show(false[0].value)})"
        text += f"; not {false[0].where}{value}"
    return text


def _told(valued: Sequence[Case], show, extreme) -> str:
    """Format the value asked for, and where it occurs unless it is a median."""
    value = extreme([case.value for case in valued])
    if extreme is statistics.median:
        return f"median {show(value)}"
    where = next(case.where for case in valued if case.value == value)
    return f"{'highest' if extreme is max else 'lowest'} {show(value)} at {where}"
