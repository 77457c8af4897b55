"""Threads working together: shuffles, votes, reductions over a warp, barriers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .dispatch import Action, builds
from .errors import Divergence, Undefined, Unsupported
from .lanes import WARP, Lanes, Mask, read_bits, read_value, write_bits
from .syntax import Immediate, Instruction, Pair, Sink
from .values import TYPES, Array, integer

_WORD, _PRED = TYPES["b32"], TYPES["pred"]
_NO_OP = ("membar", "fence", "griddepcontrol")


def _warps(lanes: Lanes, x: Array) -> Array:
    return lanes.full(x).reshape(-1, WARP)


def _ballot(lanes: Lanes, x: Array) -> Array:
    """Per lane, the bits of `x` over its warp."""
    bits = (_warps(lanes, x).astype(np.uint32) << np.arange(WARP, dtype=np.uint32)).sum(
        axis=1, dtype=np.uint32
    )
    return np.repeat(bits, WARP)


def _executing(lanes: Lanes, mask: Mask) -> Array:
    return np.ones(lanes.count, bool) if mask is None else mask


def _together(lanes: Lanes, mask: Mask, members: Array) -> None:
    """Every living thread named in the member mask must be executing this."""
    if mask is None and (members == 0xFFFFFFFF).all():
        return
    here = _executing(lanes, mask)
    absent = _ballot(lanes, lanes.alive & ~here)
    own = np.uint32(1) << (lanes.thread % WARP).astype(np.uint32)
    if (here & (((members & absent) != 0) | ((members & own) == 0))).any():
        raise Divergence("a warp operation its member mask does not describe")


def _source_lane(mode: str, lane: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The lane each lane reads, and whether that lies inside its segment."""
    segment = (c >> 8) & 31
    limit = (lane & segment) | (c & 31 & ~segment)
    if mode == "up":
        source = lane - (b & 31)
        return source, source >= limit
    source = {
        "down": lane + (b & 31),
        "bfly": lane ^ (b & 31),
        "idx": (lane & segment) | (b & 31 & ~segment),
    }[mode]
    return source, source <= limit


@builds(["shfl"], ["int"])
def shuffle(i: Instruction, shared: dict[str, int]) -> Action:
    """shfl.sync.{up,down,bfly,idx}.b32 d{|p}, a, b, c, members."""
    i.allow("sync", "up", "down", "bfly", "idx")
    i.expect(5)
    if len(i.modifiers) != 2 or i.type.bits != 32:
        raise Unsupported(i.name)
    mode = i.modifiers[1]
    target = i.operands[0]
    pair = target if isinstance(target, Pair) else Pair(target, Sink())
    write, flag = write_bits(pair.first, _WORD), write_bits(pair.second, _PRED)
    value, *rest = (read_bits(o, _WORD, shared) for o in i.operands[1:])

    def action(lanes: Lanes, mask: Mask) -> None:
        b, c, members = (read(lanes, mask) for read in rest)
        _together(lanes, mask, members)
        lane = lanes.thread % WARP
        source, inside = _source_lane(mode, lane, b.astype(int), c.astype(int))
        index = np.arange(lanes.count) - lane + np.where(inside, source, lane)
        if mask is not None and not mask[index[mask]].all():
            raise Undefined("a shuffle from a thread that does not take part")
        write(lanes, lanes.full(value(lanes, mask))[index], mask)
        flag(lanes, inside, mask)

    return action


@builds(["vote"], ["pred", "int"])
def vote(i: Instruction, shared: dict[str, int]) -> Action:
    """vote.sync: all, any, uni, ballot."""
    i.allow("sync", "all", "any", "uni", "ballot")
    i.expect(3)
    if len(i.modifiers) != 2 or (i.modifiers[1] == "ballot") != (i.type == _WORD):
        raise Unsupported(i.name)
    mode = i.modifiers[1]
    write = write_bits(i.operands[0], i.type)
    value, member = (
        read_bits(o, kind, shared)
        for o, kind in zip(i.operands[1:], (_PRED, _WORD), strict=True)
    )

    def action(lanes: Lanes, mask: Mask) -> None:
        members = member(lanes, mask)
        _together(lanes, mask, members)
        here = _executing(lanes, mask)
        yes = _ballot(lanes, here & value(lanes, mask)) & members
        everyone = _ballot(lanes, here) & members
        result = {
            "ballot": yes,
            "any": yes != 0,
            "all": yes == everyone,
            "uni": (yes == everyone) | (yes == 0),
        }[mode]
        write(lanes, result, mask)

    return action


_REDUCTIONS: dict[str, tuple[Callable[..., Array], Callable[[np.dtype], int]]] = {
    "add": (np.add.reduce, lambda _: 0),
    "min": (np.minimum.reduce, lambda t: np.iinfo(t).max),
    "max": (np.maximum.reduce, lambda t: np.iinfo(t).min),
    "and": (np.bitwise_and.reduce, lambda t: np.iinfo(t).max),
    "or": (np.bitwise_or.reduce, lambda _: 0),
    "xor": (np.bitwise_xor.reduce, lambda _: 0),
}


@builds(["redux"], ["int"])
def reduce(i: Instruction, shared: dict[str, int]) -> Action:
    """redux.sync: an integer reduction over the threads of the member mask."""
    i.allow("sync", *_REDUCTIONS)
    i.expect(3)
    kind = i.type
    body, neutral = _REDUCTIONS[i.modifiers[-1]]
    empty = kind.value.type(neutral(kind.value))
    value = read_value(i.operands[1], kind, shared)
    member = read_bits(i.operands[2], _WORD, shared)
    write = write_bits(i.operands[0], kind)

    def action(lanes: Lanes, mask: Mask) -> None:
        members = member(lanes, mask)
        _together(lanes, mask, members)
        here = _executing(lanes, mask)
        if (here & ((_ballot(lanes, here) & ~members) != 0)).any():
            raise Unsupported(f"{i.name}: several groups in a warp")
        x = np.where(here, value(lanes, mask), empty)
        result = body(_warps(lanes, x), axis=1, dtype=kind.value)
        write(lanes, np.repeat(result, WARP).view(kind.storage), mask)

    return action


@builds(["activemask"], ["int"])
def active_mask(i: Instruction, shared: dict[str, int]) -> Action:
    """activemask: which threads of the warp execute this."""
    i.expect(1)
    write = write_bits(i.operands[0], i.type)
    return lambda lanes, mask: write(
        lanes, _ballot(lanes, _executing(lanes, mask)), mask
    )


@builds(["bar", "barrier"], [""])
def barrier(i: Instruction, shared: dict[str, int]) -> Action:
    """bar.sync of a whole block, which may count its threads, and bar.warp.sync."""
    i.allow("cta", "sync", "warp", "aligned")
    warp = "warp" in i.modifiers
    i.expect(1, 1 if warp else 2)
    if "sync" not in i.modifiers:
        raise Unsupported(i.name)
    number = read_bits(i.operands[0], _WORD, shared)
    if warp:
        return lambda lanes, mask: _together(lanes, mask, number(lanes, mask))
    if isinstance(i.operands[0], Immediate) and integer(i.operands[0].text) > 15:
        raise Unsupported(f"{i.name}: barrier number")
    counts = [read_bits(operand, _WORD, shared) for operand in i.operands[1:]]

    def action(lanes: Lanes, mask: Mask) -> None:
        numbers = _of(number(lanes, mask), mask)
        if (numbers != numbers[0]).any() or numbers[0] > 15:
            raise Unsupported(f"{i.name}: barrier numbers {np.unique(numbers)}")
        for count in counts:
            if (_of(count(lanes, mask), mask) != lanes.per_block).any():
                raise Unsupported(f"{i.name}: a barrier of a part of the block")
        if mask is None:
            lanes.shared.barrier(slice(None))
            return
        here = mask.reshape(-1, lanes.per_block).any(axis=1)
        absent = (lanes.alive & ~mask).reshape(-1, lanes.per_block).any(axis=1)
        if (here & absent).any():
            raise Divergence("a barrier that some threads of the block do not reach")
        lanes.shared.barrier(here)

    return action


def _of(values: np.ndarray, mask: Mask) -> np.ndarray:
    """Those of the threads in `mask`; a constant is the same in all."""
    return values if mask is None or len(values) == 1 else values[mask]


@builds(_NO_OP, [""])
def ordering(i: Instruction, shared: dict[str, int]) -> Action:
    """Fences: threads run in lockstep and see every store at once."""
    return lambda lanes, mask: None
