"""Integer and bit arithmetic, as one table from dotted name to function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .dispatch import Action, builds, compute
from .errors import Unsupported
from .syntax import Immediate, Instruction
from .values import TYPES, Array, Type, integer


def _word(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _bits(x: Array) -> int:
    return 8 * x.dtype.itemsize


def _amount(x: Array, n: Array) -> Array:
    """A shift amount in the type of `x`; NumPy shifts by the full width to zero."""
    return np.minimum(n, np.uint32(_bits(x))).astype(x.dtype)


def _left(x: Array, n: Array) -> Array:
    return x << _amount(x, n)


def _right(x: Array, n: Array) -> Array:
    return x >> _amount(x, n)


def _ones(x: Array, n: Array) -> Array:
    """`n` low bits set, in the unsigned type of `x`."""
    return ~_left(~np.zeros_like(_word(x), shape=1), n)


def _wide(x: Array) -> Array:
    return x.astype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")


def _multiply_wide(a: Array, b: Array) -> Array:
    return _wide(a) * _wide(b)


def _multiply_high(a: Array, b: Array) -> Array:
    if a.dtype.itemsize < 8:
        return (_multiply_wide(a, b) >> _bits(a)).astype(a.dtype)
    # Schoolbook on 32-bit halves: the upper halves carry the sign, if there is one.
    half, low = a.dtype.type(32), a.dtype.type(0xFFFFFFFF)
    (a1, a0), (b1, b0) = ((x >> half, x & low) for x in (a, b))
    carry = (_word(a0) * _word(b0) >> np.uint64(32)).view(a.dtype)
    first = a1 * b0 + carry
    second = a0 * b1 + (first & low)
    return a1 * b1 + (first >> half) + (second >> half)


def _divide(a: Array, b: Array) -> Array:
    return (a - np.fmod(a, b)) // b  # towards zero


def _extract(a: Array, position: Array, length: Array) -> Array:
    position, length = position & np.uint32(255), length & np.uint32(255)
    bits = np.uint32(_bits(a))
    taken = np.minimum(length, bits - np.minimum(position, bits))
    keep = _ones(a, taken)
    field = _right(_word(a), position) & keep
    if a.dtype.kind == "u":
        return field
    last = np.minimum(position + length - np.uint32(1), bits - np.uint32(1))
    negative = (_right(_word(a), last) & _word(a).dtype.type(1)) != 0
    return np.where(negative & (length > 0), field | ~keep, field)


def _insert(a: Array, b: Array, position: Array, length: Array) -> Array:
    position = position & np.uint32(255)
    hole = _left(_ones(b, length & np.uint32(255)), position)
    return (b & ~hole) | (_left(a, position) & hole)


def _join(low: Array, high: Array) -> Array:
    return (high.astype(np.uint64) << np.uint64(32)) | low


def _funnel(left: bool, wrap: bool) -> Callable[..., Array]:
    def shift(low: Array, high: Array, n: Array) -> Array:
        n = n & np.uint32(31) if wrap else np.minimum(n, np.uint32(32))
        both = _join(low, high)
        moved = (both << n) >> np.uint64(32) if left else both >> n
        return moved.astype(np.uint32)

    return shift


def _permute(a: Array, b: Array, selector: Array) -> Array:
    both, result = _join(a, b), np.uint32(0)
    for place in range(0, 16, 4):
        pick = (selector >> np.uint32(place)) & np.uint32(15)
        byte = (both >> ((pick & np.uint32(7)) << np.uint32(3))).astype(np.uint8)
        sign = (byte.view(np.int8) >> np.int8(7)).view(np.uint8)  # all sign bits
        byte = np.where(pick & np.uint32(8), sign, byte).astype(np.uint32)
        result = result | (byte << np.uint32(2 * place))
    return result


def _logic3(table: int) -> Callable[..., Array]:
    def combine(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros_like(a)
        for row in (r for r in range(8) if table >> r & 1):
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b)
            result = result | (term & (c if row & 1 else ~c))
        return result

    return combine


def _leading_zeros(x: Array) -> Array:
    for shift in (1, 2, 4, 8, 16, 32)[: _bits(x).bit_length() - 1]:
        x = x | (x >> x.dtype.type(shift))
    return np.bitwise_count(~x).astype(np.uint32)


@dataclass(frozen=True)
class _Operation:
    """`sources` and `target`: "" for the instruction's type, "wide", or a name."""

    function: Callable[..., Array]
    sources: tuple[str, ...] = ("", "")
    target: str = ""


_WORD3 = ("b32", "b32", "u32")

INTEGER = {
    "add": _Operation(np.add),
    "sub": _Operation(np.subtract),
    "mul.lo": _Operation(np.multiply),
    "mul.hi": _Operation(_multiply_high),
    "mul.wide": _Operation(_multiply_wide, target="wide"),
    "mad.lo": _Operation(lambda a, b, c: a * b + c, ("", "", "")),
    "mad.hi": _Operation(lambda a, b, c: _multiply_high(a, b) + c, ("", "", "")),
    "mad.wide": _Operation(
        lambda a, b, c: _multiply_wide(a, b) + c, ("", "", "wide"), "wide"
    ),
    "div": _Operation(_divide),
    "rem": _Operation(np.fmod),
    "min": _Operation(np.minimum),
    "max": _Operation(np.maximum),
    "abs": _Operation(np.abs, ("",)),
    "neg": _Operation(np.negative, ("",)),
    "and": _Operation(np.bitwise_and),
    "or": _Operation(np.bitwise_or),
    "xor": _Operation(np.bitwise_xor),
    "not": _Operation(np.invert, ("",)),
    "shl": _Operation(_left, ("", "u32")),
    "shr": _Operation(_right, ("", "u32")),
    "bfe": _Operation(_extract, ("", "u32", "u32")),
    "bfi": _Operation(_insert, ("", "", "u32", "u32")),
    "popc": _Operation(lambda x: np.bitwise_count(x).astype("u4"), ("",), "u32"),
    "clz": _Operation(_leading_zeros, ("",), "u32"),
    "prmt": _Operation(_permute, _WORD3),
    "shf.l.wrap": _Operation(_funnel(left=True, wrap=True), _WORD3),
    "shf.l.clamp": _Operation(_funnel(left=True, wrap=False), _WORD3),
    "shf.r.wrap": _Operation(_funnel(left=False, wrap=True), _WORD3),
    "shf.r.clamp": _Operation(_funnel(left=False, wrap=False), _WORD3),
}

PREDICATE = {name: INTEGER[name] for name in ("and", "or", "xor", "not")}


def _named(name: str, own: Type) -> Type:
    if name == "wide":
        if own.bytes == 8:
            raise Unsupported(f"a product of {own.name} in 128 bits")
        return TYPES[f"{own.name[0]}{2 * own.bits}"]
    return TYPES[name] if name else own


@builds({name.split(".")[0] for name in INTEGER}, ["int"])
def integers(i: Instruction, shared: dict[str, int]) -> Action:
    """Everything in the table."""
    return _build(i, INTEGER, shared)


@builds(PREDICATE, ["pred"])
def predicates(i: Instruction, shared: dict[str, int]) -> Action:
    """Logic on predicates."""
    return _build(i, PREDICATE, shared)


def _build(
    i: Instruction, table: dict[str, _Operation], shared: dict[str, int]
) -> Action:
    operation = table.get(".".join((i.opcode, *i.modifiers)))
    if operation is None:
        raise Unsupported(f"{i.name}: unknown instruction")
    i.expect(len(operation.sources) + 1)
    kinds = [_named(name, i.type) for name in operation.sources]
    target = (i.operands[0], _named(operation.target, i.type))
    sources = zip(i.operands[1:], kinds, strict=True)
    return compute(operation.function, sources, target, shared)


@builds(["lop3"], ["int"])
def logic3(i: Instruction, shared: dict[str, int]) -> Action:
    """lop3: any function of three bits, given as a truth table."""
    i.allow()
    i.expect(5)
    table = i.operands[4]
    if not isinstance(table, Immediate):
        raise Unsupported(f"{i.name}: truth table in a register")
    sources = [(o, i.type) for o in i.operands[1:4]]
    body = _logic3(integer(table.text))
    return compute(body, sources, (i.operands[0], i.type), shared)
