"""The main loop: which threads execute which instruction next.

Threads that part at a branch wait at their own program counters; the group with the
smallest one always runs, until it meets the next group and joins it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import converts, floats, integers, loads, moves, warps
from .dispatch import Action, build
from .errors import Endless, PtxError, Unsupported
from .lanes import Lanes, Mask, read_bits
from .syntax import Instruction, Program, Symbol
from .values import TYPES

# Importing them is what fills the table of builders.
BUILDERS = (converts, floats, integers, loads, moves, warps)


@dataclass(frozen=True)
class Step:
    """A built instruction: an action, or a jump to `target` (the end for `ret`)."""

    instruction: Instruction
    guard: Callable[[Lanes, Mask], np.ndarray] | None
    action: Action | None
    target: int


def assemble(program: Program) -> list[Step]:
    """Builds every instruction, or raises `Unsupported` naming the one that fails."""
    steps = []
    for instruction in program.instructions:
        try:
            steps.append(_step(instruction, program))
        except PtxError as error:
            raise error.at(program.name, instruction.text) from None
    return steps


def _step(i: Instruction, program: Program) -> Step:
    guard = None
    if i.guard is not None:
        guard = read_bits(i.guard, TYPES["pred"], program.shared)
    if i.opcode in ("ret", "exit"):
        i.allow("uni")
        i.expect(0)
        return Step(i, guard, None, len(program.instructions))
    if i.opcode == "bra":
        i.allow("uni")
        i.expect(1)
        label = i.operands[0]
        if not isinstance(label, Symbol) or label.name not in program.labels:
            raise Unsupported(f"{i.name}: target")
        return Step(i, guard, None, program.labels[label.name])
    return Step(i, guard, build(i, program.shared), 0)


def run(steps: list[Step], lanes: Lanes, issued: list[int], limit: int) -> None:
    """Runs all lanes to their end, adding to the threads that `issued` each step."""
    with np.errstate(all="ignore"):
        _Scheduler(steps, lanes, issued, limit).run()


class _Scheduler:
    def __init__(
        self, steps: list[Step], lanes: Lanes, issued: list[int], limit: int
    ) -> None:
        self.steps, self.lanes, self.issued = steps, lanes, issued
        self.budget = limit
        self.waiting: dict[int, Mask] = {}

    def run(self) -> None:
        alive = self.lanes.alive
        self._park(0, None if alive.all() else alive.copy())
        while self.waiting:
            counter = min(self.waiting)
            mask = self.waiting.pop(counter)
            meeting = min(self.waiting, default=len(self.steps))
            self._run_group(counter, mask, meeting)

    def _run_group(self, counter: int, mask: Mask, meeting: int) -> None:
        """Runs one group until it splits, jumps, or reaches the next group."""
        size = self.lanes.count if mask is None else int(mask.sum())
        while counter < meeting:
            step = self.steps[counter]
            self.issued[counter] += size
            self.budget -= 1
            try:
                if self.budget < 0:
                    raise Endless("the launch takes more steps than it may")
                chosen, idle = self._choose(step, mask, size)
                if step.action is not None and chosen is not False:
                    step.action(self.lanes, chosen)
            except PtxError as error:
                program = self.lanes.program
                raise error.at(program.name, step.instruction.text) from None
            if step.action is None and chosen is not False:
                self._park(step.target, chosen)
                if idle is not False:
                    self._park(counter + 1, idle)
                return
            counter += 1
        self._park(counter, mask)

    def _choose(
        self, step: Step, mask: Mask, size: int
    ) -> tuple[Mask | bool, Mask | bool]:
        """The threads that pass the guard and those that do not; False for none."""
        if step.guard is None:
            return mask, False
        passes = step.guard(self.lanes, mask)
        if len(passes) == 1:
            return (mask, False) if passes[0] else (False, mask)
        chosen = passes if mask is None else passes & mask
        count = int(np.count_nonzero(chosen))
        if count == size:
            return mask, False
        if count == 0:
            return False, mask
        return chosen, ~chosen if mask is None else mask & ~chosen

    def _park(self, counter: int, mask: Mask) -> None:
        """Adds a group to those waiting, joining one there; past the end it is gone."""
        if counter >= len(self.steps):
            self.lanes.alive &= False if mask is None else ~mask
            return
        if counter in self.waiting:
            other = self.waiting[counter]
            joined = None if mask is None or other is None else mask | other
            mask = None if joined is None or joined.all() else joined
        self.waiting[counter] = mask
