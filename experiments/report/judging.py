"""Judge a statement about many cases of which only some are known.

A statement is about *any*, *most* or *all* of its cases. Once enough cases are settled it
holds or does not, whatever the others will be; before that there are not enough cells,
and all that can be told is how it stands so far.
"""

import dataclasses
import enum
import statistics
from collections.abc import Callable, Sequence
from typing import Literal

Quantifier = Literal["any", "most", "all"]


class Status(enum.Enum):
    """What is known of a statement."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not enough cells"

    @property
    def tone(self) -> str:
        """A word for its colour."""
        return {Status.HOLDS: "holds", Status.FAILS: "fails"}.get(self, "open")


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a statement.

    Attributes:
      where: for people, such as "HIGGS, residual 5x16".
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
    """A status, how it stands so far (None if nothing is known), and the numbers."""

    status: Status
    so_far: bool | None
    numbers: str

    @property
    def open(self) -> bool:
        """Whether more cells could decide it either way."""
        return self.status is Status.OPEN

    @property
    def leaning(self) -> str:
        """How an open one stands."""
        if self.so_far is None:
            return "nothing known yet"
        return "so far it holds" if self.so_far else "so far it does not hold"

    def __str__(self) -> str:
        """The status and, if it is open, how it stands."""
        return self.status.value + (f", {self.leaning}" if self.open else "")


def judge(
    quantifier: Quantifier,
    cases: Sequence[Case],
    *,
    show: Callable[[float], str] = "{:.3g}".format,
    extreme: Callable[[Sequence[float]], float] | None = None,
) -> Judgement:
    """The judgement of a statement.

    Args:
      quantifier: of how many cases it speaks.
      cases: all of them, known or not.
      show: prints the value of a case.
      extreme: which value to tell: ``max``, ``min`` or ``statistics.median``.
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
    """With so many cases settled of a total."""
    if quantifier == "any":
        holds, fails = true > 0, false == total
    elif quantifier == "all":
        holds, fails = true == total, false > 0
    else:  # exactly half is not most
        holds, fails = 2 * true > total, 2 * false >= total
    if total == 0 or not (holds or fails):
        return Status.OPEN
    return Status.HOLDS if holds else Status.FAILS


def _numbers(quantifier, cases, known, show, extreme) -> str:
    if not known:
        return f"none of {len(cases)} cases is known"
    count = sum(bool(case.true) for case in known)
    text = f"{count} of {len(known)}"
    if len(known) < len(cases):
        text += f" known cases, {len(cases)} in all"
    valued = [case for case in known if case.value is not None]
    if extreme and valued:
        text += f"; {_told(valued, show, extreme)}"
    false = [case for case in known if not case.true]
    if quantifier == "all" and false:
        value = "" if false[0].value is None else f" ({show(false[0].value)})"
        text += f"; not {false[0].where}{value}"
    return text


def _told(valued: Sequence[Case], show, extreme) -> str:
    """The value asked for, and where it is unless it is a median."""
    value = extreme([case.value for case in valued])
    if extreme is statistics.median:
        return f"median {show(value)}"
    where = next(case.where for case in valued if case.value == value)
    return f"{'highest' if extreme is max else 'lowest'} {show(value)} at {where}"
