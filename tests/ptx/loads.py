"""ld, st and cp.async."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .dispatch import Action, builds
from .errors import MemoryFault, Unsupported
from .lanes import WARP, Lanes, Mask, read_bits, write_bits
from .memory import SHARED_WINDOW
from .syntax import Address, Immediate, Instruction, Operand, Register, Symbol, Vector
from .values import TYPES, Array, integer

_SPACES = ("global", "shared", "shared::cta", "param")
_LENGTHS = {"v2": 2, "v4": 4, "v8": 8}
# Ordering and caching: they change no value of a program free of races.
_HARMLESS = {
    *("weak", "volatile", "relaxed", "acquire", "release", "cta", "gpu", "sys"),
    *("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc"),
    *("L1::evict_normal", "L1::evict_first", "L1::evict_last", "L1::no_allocate"),
    *("L1::evict_unchanged", "L2::evict_first", "L2::evict_last", "L2::evict_normal"),
    *("L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"),
}
_KINDS = ("int", "float", "opaque")


def _space(i: Instruction) -> str:
    """ "global", "shared", "param", or "" for a generic address."""
    i.allow(*_SPACES, *_LENGTHS, *_HARMLESS)
    found = [m for m in i.modifiers if m in _SPACES]
    return found[0].split("::")[0] if found else ""


def _registers(i: Instruction, operand: Operand) -> tuple[Operand, ...]:
    length = next((_LENGTHS[m] for m in i.modifiers if m in _LENGTHS), 1)
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != length:
        raise Unsupported(f"{i.name} of {len(items)} registers")
    return items


def _address(
    operand: Operand, shared: dict[str, int]
) -> Callable[[Lanes, Mask], Array]:
    if not isinstance(operand, Address):
        raise Unsupported(f"address {operand}")
    base, offset = operand.base, np.int64(operand.offset)
    kind = base.type if isinstance(base, Register) else TYPES["u64"]
    read = read_bits(base, kind, shared)
    return lambda lanes, mask: read(lanes, mask).astype(np.int64) + offset


def _is_shared(space: str, addresses: Array) -> bool:
    if space:
        return space == "shared"
    inside = addresses >= SHARED_WINDOW
    if inside.any() and not inside.all():
        raise Unsupported("one access to both global and shared memory")
    return bool(inside.any())


def _fetch(
    lanes: Lanes, mask: Mask, at: Array, space: str, size: int, length: int
) -> Array:
    """(threads or 1, length) items from global or shared memory."""
    if mask is not None and len(at) > 1:
        at = at[mask]
    if _is_shared(space, at):
        row, warp = _homes(lanes, mask)
        at = np.broadcast_to(at % SHARED_WINDOW, row.shape)
        return lanes.shared.load(row, warp, at, size, length)
    threads = lanes.count if mask is None else int(mask.sum())
    return lanes.memory.load(at, size, length, threads)


def _homes(lanes: Lanes, mask: Mask) -> tuple[Array, Array]:
    warp = lanes.thread // WARP
    return lanes.chosen(lanes.row, mask), lanes.chosen(warp, mask)


@builds(["ld"], _KINDS)
def load(i: Instruction, shared: dict[str, int]) -> Action:
    """ld from global, shared, generic or parameter memory, up to v8."""
    space, kind = _space(i), i.type
    i.expect(2, 3 if "L2::cache_hint" in i.modifiers else 2)
    writers = [write_bits(o, kind) for o in _registers(i, i.operands[0])]
    if space == "param":
        return _load_parameter(i, writers)
    address = _address(i.operands[1], shared)
    # 128 bits are fetched as two halves.
    size, halves = (8, 2) if kind.bytes == 16 else (kind.bytes, 1)

    def action(lanes: Lanes, mask: Mask) -> None:
        at = address(lanes, mask)
        items = _fetch(lanes, mask, at, space, size, halves * len(writers))
        columns = np.ascontiguousarray(items).view(kind.storage).T
        for write, column in zip(writers, columns, strict=True):
            raw = np.ascontiguousarray(column)
            if mask is not None and len(raw) > 1:
                spread = np.zeros(lanes.count, raw.dtype)
                spread[mask] = raw
                raw = spread
            write(lanes, raw, mask)

    return action


def _load_parameter(i: Instruction, writers: list) -> Action:
    kind, place = i.type, i.operands[1]
    if not isinstance(place, Address) or not isinstance(place.base, Symbol):
        raise Unsupported(f"{i.name} through a register")
    name, start = place.base.name, place.offset
    end = start + kind.bytes * len(writers)

    def action(lanes: Lanes, mask: Mask) -> None:
        content = lanes.parameters[name]
        if not 0 <= start < end <= len(content) or start % kind.bytes:
            raise MemoryFault(f"outside parameter {name}", start, lanes.count)
        items = content[start:end].view(kind.storage)
        for index, write in enumerate(writers):
            write(lanes, items[index : index + 1], mask)

    return action


@builds(["st"], _KINDS)
def store(i: Instruction, shared: dict[str, int]) -> Action:
    """st to global, shared or generic memory, up to v8."""
    space, kind = _space(i), i.type
    i.expect(2, 3 if "L2::cache_hint" in i.modifiers else 2)
    if space == "param":
        raise Unsupported(i.name)
    address = _address(i.operands[0], shared)
    readers = [read_bits(o, kind, shared) for o in _registers(i, i.operands[1])]
    size = "u8" if kind.bytes == 16 else kind.storage

    def action(lanes: Lanes, mask: Mask) -> None:
        at = address(lanes, mask)
        columns = [lanes.chosen(read(lanes, mask), mask) for read in readers]
        values = np.stack(columns, axis=1).view(size)
        _put(lanes, mask, at, space, values)

    return action


def _put(lanes: Lanes, mask: Mask, at: Array, space: str, values: Array) -> None:
    at = lanes.chosen(at, mask)
    if _is_shared(space, at):
        lanes.shared.store(*_homes(lanes, mask), at % SHARED_WINDOW, values)
    else:
        lanes.memory.store(at, values)


@builds(["cp"], [""])
def copy_async(i: Instruction, shared: dict[str, int]) -> Action:
    """cp.async and its groups. The data arrives when it is waited for, not before."""
    kind = i.modifiers[1:]
    if i.modifiers[:1] != ("async",):
        raise Unsupported(i.name)
    if kind == ("commit_group",):
        return _commit
    if kind == ("wait_all",):
        return _wait(i, 0)
    if kind == ("wait_group",) and isinstance(i.operands[0], Immediate):
        return _wait(i, integer(i.operands[0].text))
    i.allow("async", "ca", "cg", "shared", "shared::cta", "global", *_HARMLESS)
    if "global" not in i.modifiers or "L2::cache_hint" in i.modifiers:
        raise Unsupported(i.name)
    return _start_copy(i, shared)


def _start_copy(i: Instruction, shared: dict[str, int]) -> Action:
    i.expect(3, 4)
    into, source = (_address(o, shared) for o in i.operands[:2])
    length = i.operands[2]
    if not isinstance(length, Immediate) or integer(length.text) not in (4, 8, 16):
        raise Unsupported(f"{i.name}: size")
    words = integer(length.text) // 4
    fetched = read_bits(i.operands[-1], TYPES["u32"], shared)

    def action(lanes: Lanes, mask: Mask) -> None:
        to = lanes.chosen(into(lanes, mask), mask)
        start = lanes.chosen(source(lanes, mask), mask)
        size = lanes.chosen(fetched(lanes, mask), mask)
        real = size == 4 * words
        if (~real & (size != 0)).any():
            raise Unsupported(f"{i.name}: a part of the copy")
        values = np.zeros((len(to), words), np.uint32)
        if real.any():
            found = lanes.memory.load(start[real], 4, words, int(real.sum()))
            values[real] = found
        row, warp = _homes(lanes, mask)
        lanes.open_copies.append(partial(lanes.shared.store, row, warp, to, values))

    return action


def _commit(lanes: Lanes, mask: Mask) -> None:
    if mask is not None:
        raise Unsupported("cp.async.commit_group in some threads only")
    lanes.copies.append(lanes.open_copies)
    lanes.open_copies = []


def _wait(i: Instruction, pending: int) -> Action:
    def action(lanes: Lanes, mask: Mask) -> None:
        if mask is not None:
            raise Unsupported(f"{i.name} in some threads only")
        if i.modifiers[-1] == "wait_all":
            _commit(lanes, mask)
        done = len(lanes.copies) - pending
        for group in lanes.copies[: max(done, 0)]:
            for arrive in group:
                arrive()
        lanes.copies = lanes.copies[max(done, 0) :]

    return action
