"""Loops in machine code: the control-flow graph, its dominators, its back edges.

A branch backwards alone is not a loop: ptxas puts rare blocks behind the main code
and lets them jump back. An edge is a loop's when its head lies on every way to its
tail.
"""

from collections.abc import Sequence
from typing import Protocol


class Step(Protocol):
    """What is asked of an instruction here."""

    @property
    def address(self) -> int: ...
    @property
    def predicate(self) -> str: ...
    @property
    def operands(self) -> str: ...
    @property
    def base(self) -> str: ...
    @property
    def target(self) -> int | None: ...


def natural_loops(code: Sequence[Step]) -> tuple[list[set[int]], set[int]]:
    """Find the loops of ``code``, each a set of indices, and all indices that are reached.

    Subroutines (the slow path of a division) are not reached: a call continues behind
    it. ptxas also leaves a loop by a call that never returns: that is a jump. Loops
    come in the order of their first instruction; a nested one is also in the one
    around it.
    """
    after = _successors(code)
    blocks, of = _blocks(code, after)
    edges = [{of[j] for j in after[block[-1]]} for block in blocks]
    order = _reverse_postorder(edges)
    before: list[set[int]] = [set() for _ in blocks]
    for block in order:
        for successor in edges[block]:
            before[successor].add(block)
    dominators = _dominators(order, before)
    loops: dict[int, set[int]] = {}
    for tail in order:
        for head in edges[tail] & dominators[tail]:
            loops.setdefault(head, set()).update(_body(head, tail, before))
    found = [{i for b in loops[head] for i in blocks[b]} for head in sorted(loops)]
    return found, {i for b in order for i in blocks[b]}


def _successors(code: Sequence[Step]) -> list[list[int]]:
    at = {step.address: i for i, step in enumerate(code)}
    after = []
    for i, step in enumerate(code):
        following = [i + 1] if i + 1 < len(code) else []
        always = step.predicate in ("", "PT")
        # "BRA P0, 0x10" and "BRA.DIV" carry their condition among the operands.
        if step.target is not None:
            plain = step.operands.startswith("0x")
            jump = [at[step.target]] if step.target in at else []
            if step.base == "CALL" and _returns(code, jump):
                jump, plain = [], False
            after.append(jump + ([] if always and plain else following))
        elif step.base in ("EXIT", "RET") and always:
            after.append([])
        else:
            after.append(following)
    return after


def _returns(code: Sequence[Step], start: list[int]) -> bool:
    """Return whether the code that a call goes to ends with a return, not with the thread."""
    for step in code[start[0] :] if start else ():
        if step.base in ("RET", "EXIT") and step.predicate in ("", "PT"):
            return step.base == "RET"
    return True


def _blocks(code: Sequence[Step], after: list[list[int]]):
    """Cut the code where control enters or leaves; also the block of each index."""
    leaders = {0}
    for i, successors in enumerate(after):
        if successors != [i + 1]:
            leaders.update(successors)
            leaders.add(i + 1)
    starts = sorted(leader for leader in leaders if leader < len(code))
    ends = [*starts[1:], len(code)]
    blocks = [list(range(a, b)) for a, b in zip(starts, ends, strict=True)]
    return blocks, {i: b for b, block in enumerate(blocks) for i in block}


def _reverse_postorder(edges: list[set[int]]) -> list[int]:
    """List the blocks that are reached from the first, each before its successors."""
    done, order, stack = set(), [], [(0, False)] if edges else []
    while stack:
        block, leaving = stack.pop()
        if leaving:
            order.append(block)
        elif block not in done:
            done.add(block)
            stack.append((block, True))
            stack.extend((s, False) for s in sorted(edges[block], reverse=True))
    return order[::-1]


def _dominators(order: list[int], before: list[set[int]]) -> dict[int, set[int]]:
    """Find for each block the blocks on every way to it, itself included."""
    everything = set(order)
    dominators = {block: set(everything) for block in order}
    changed = True
    while changed:
        changed = False
        for block in order:
            ways = [dominators[b] for b in before[block]]
            new = {block} | (set.intersection(*ways) if block and ways else set())
            if new != dominators[block]:
                dominators[block], changed = new, True
    return dominators


def _body(head: int, tail: int, before: list[set[int]]) -> set[int]:
    """Find all blocks from which ``tail`` is reached without passing ``head``."""
    body, stack = {head}, [tail]
    while stack:
        block = stack.pop()
        if block not in body:
            body.add(block)
            stack.extend(before[block])
    return body
