"""Moving and choosing: mov, selp, setp, cvta."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .dispatch import Action, builds, copy
from .errors import Unsupported
from .lanes import Lanes, Mask, read_bits, read_value, write_bits
from .memory import SHARED_WINDOW
from .rounding import flush
from .syntax import Instruction, Pair, Sink, Vector
from .values import TYPES, Array, Type

_ALL = ("int", "float", "pred", "opaque")
Comparison = Callable[[Array, Array], Array]

_ORDERED: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _float_comparisons() -> dict[str, Comparison]:
    """Plain comparisons are false for NaN; those ending in u are true."""

    def pair(test: Comparison) -> tuple[Comparison, Comparison]:
        return (
            lambda a, b: test(a, b) & ~_unordered(a, b),
            lambda a, b: test(a, b) | _unordered(a, b),
        )

    table: dict[str, Comparison] = {"nan": _unordered}
    table["num"] = lambda a, b: ~_unordered(a, b)
    for name, test in _ORDERED.items():
        table[name], table[f"{name}u"] = pair(test)
    return table


_FLOAT = _float_comparisons()
_INTEGER = _ORDERED | {name: _ORDERED[same] for name, same in _UNSIGNED.items()}


@builds(["setp"], ["int", "float"])
def compare(i: Instruction, shared: dict[str, int]) -> Action:
    """setp.comparison{.combine} p{|q}, a, b{, c}: q gets the opposite comparison."""
    kind = i.type
    table = _FLOAT if kind.kind == "float" else _INTEGER
    names = [m for m in i.modifiers if m != "ftz"]
    combine = _COMBINE.get(names[1]) if len(names) == 2 else None
    if names[0] not in table or len(names) > 2 or (len(names) == 2 and not combine):
        raise Unsupported(f"{i.name}: comparison")
    if kind.part or (names[0] in _UNSIGNED and kind.signed):
        raise Unsupported(i.name)
    i.expect(4 if combine else 3)
    a, b = (read_value(o, kind, shared) for o in i.operands[1:3])
    other = read_bits(i.operands[3], TYPES["pred"], shared) if combine else None
    target = i.operands[0]
    pair = target if isinstance(target, Pair) else Pair(target, Sink())
    yes, no = (write_bits(o, TYPES["pred"]) for o in (pair.first, pair.second))
    test, ftz = table[names[0]], "ftz" in i.modifiers

    def action(lanes: Lanes, mask: Mask) -> None:
        x, y = a(lanes, mask), b(lanes, mask)
        if ftz:
            x, y = flush(x, kind), flush(y, kind)
        result = test(x, y)
        opposite = ~result
        if combine:
            third = other(lanes, mask)
            result, opposite = combine(result, third), combine(opposite, third)
        yes(lanes, result, mask)
        no(lanes, opposite, mask)

    return action


@builds(["selp"], ["int", "float"])
def select(i: Instruction, shared: dict[str, int]) -> Action:
    """selp d, a, b, p: a where p holds, else b."""
    i.allow()
    i.expect(4)
    kinds = (i.type, i.type, TYPES["pred"])
    sources = zip(i.operands[1:], kinds, strict=True)
    return copy(
        lambda a, b, p: np.where(p, a, b), sources, (i.operands[0], i.type), shared
    )


@builds(["mov"], _ALL)
def move(i: Instruction, shared: dict[str, int]) -> Action:
    """mov, between registers or between a register and the pieces of one."""
    i.allow()
    i.expect(2)
    target, source = i.operands
    if isinstance(target, Vector):
        return _unpack(i, target, shared)
    if isinstance(source, Vector):
        return _pack(i, source, shared)
    return copy(lambda raw: raw, [(source, i.type)], (target, i.type), shared)


def _piece(whole: Type, count: int) -> Type:
    bits = whole.bits // count
    if count not in (2, 4) or bits < 8:
        raise Unsupported(f"{whole.name} in {count} pieces")
    return TYPES[f"b{bits}"]


def _unpack(i: Instruction, target: Vector, shared: dict[str, int]) -> Action:
    piece = _piece(i.type, len(target.items))
    read = read_bits(i.operands[1], i.type, shared)
    writers = [write_bits(o, piece) for o in target.items]

    def action(lanes: Lanes, mask: Mask) -> None:
        pieces = read(lanes, mask).view(piece.storage).reshape(-1, len(writers))
        for write, column in zip(writers, pieces.T, strict=True):
            write(lanes, np.ascontiguousarray(column), mask)

    return action


def _pack(i: Instruction, source: Vector, shared: dict[str, int]) -> Action:
    piece = _piece(i.type, len(source.items))
    readers = [read_bits(o, piece, shared) for o in source.items]
    write = write_bits(i.operands[0], i.type)

    def action(lanes: Lanes, mask: Mask) -> None:
        pieces = np.broadcast_arrays(*(read(lanes, mask) for read in readers))
        whole = np.stack(pieces, axis=1).view(i.type.storage)
        write(lanes, whole.reshape(-1), mask)

    return action


@builds(["cvta"], ["int"])
def convert_address(i: Instruction, shared: dict[str, int]) -> Action:
    """cvta: global addresses are generic ones; shared ones live in a window."""
    i.allow("to", "global", "shared", "shared::cta")
    i.expect(2)
    shift = 0
    if "global" not in i.modifiers:
        shift = -SHARED_WINDOW if "to" in i.modifiers else SHARED_WINDOW
    step = np.uint64(shift % (1 << 64))
    if i.type.bits != 64:
        raise Unsupported(i.name)
    source, target = (i.operands[1], i.type), (i.operands[0], i.type)
    return copy(lambda raw: raw + step, [source], target, shared)


@builds(["createpolicy"], ["int"])
def create_policy(i: Instruction, shared: dict[str, int]) -> Action:
    """createpolicy.fractional: a cache hint, which changes no value."""
    if i.modifiers[0] != "fractional":
        raise Unsupported(i.name)
    write = write_bits(i.operands[0], i.type)
    return lambda lanes, mask: write(lanes, np.zeros(1, i.type.storage), mask)
