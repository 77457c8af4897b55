"""cvt: between all integer and float types, one rounding each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .dispatch import Action, builds
from .errors import Unsupported
from .lanes import Lanes, Mask, read_value, write_bits
from .rounding import MODES, flush, integer_to_float64, narrow
from .syntax import Instruction
from .values import Array, Type

_TO_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _float_to_integer(x: Array, target: Type) -> Array:
    """`x`, already integral, clamped to the range of the target."""
    limits = np.iinfo(target.value)
    low, high = float(limits.min), float(limits.max)
    wide = x.astype(np.float64)
    # float(2**63 - 1) is 2**63: compare with >= and put the limit itself there.
    inside = np.where((wide > low) & (wide < high), wide, 0.0)
    result = np.where(wide >= high, limits.max, inside.astype(target.value))
    result = np.where(wide <= low, limits.min, result)
    if target.bits == 64 or x.dtype == np.float64:
        nan = limits.min if target.signed else 1 << (target.bits - 1)
        result = np.where(np.isnan(x), nan, result)
    return result.astype(target.value)


def _integer_to_integer(x: Array, target: Type, saturate: bool) -> Array:
    if saturate:
        limits = np.iinfo(target.value)
        own = np.iinfo(x.dtype)
        x = np.clip(x, max(limits.min, own.min), min(limits.max, own.max))
    return x.astype(target.value)


@builds(["cvt"], ["int", "float"])
def convert(i: Instruction, shared: dict[str, int]) -> Action:
    """cvt.rounding.modifiers.target.source."""
    i.allow(*MODES, *_TO_INTEGRAL, "rna", "ftz", "sat", "relu")
    if len(i.types) != 2:
        raise Unsupported(i.name)
    target, source = i.types
    if target.part is not None and source.name == "f32":
        return _pack(i, target, source, shared)
    if target.part or source.part or "pred" in (target.kind, source.kind):
        raise Unsupported(i.name)
    i.expect(2)
    read = read_value(i.operands[1], source, shared)
    write = write_bits(i.operands[0], target)
    change = _change(i, target, source)

    def action(lanes: Lanes, mask: Mask) -> None:
        write(lanes, change(read(lanes, mask)), mask)

    return action


def _change(i: Instruction, target: Type, source: Type) -> Callable[[Array], Array]:
    """The conversion itself: values of `source` to bits of `target`."""
    saturate, relu, ftz = (m in i.modifiers for m in ("sat", "relu", "ftz"))
    mode = next((m for m in i.modifiers if m in (*MODES, "rna")), "rn")
    integral = next((_TO_INTEGRAL[m] for m in i.modifiers if m in _TO_INTEGRAL), None)
    if source.kind == target.kind == "int":
        return lambda x: _integer_to_integer(x, target, saturate).view(target.storage)
    if source.kind == "int" and target.name == "f64" and mode != "rn":
        raise Unsupported(f"{i.name}: rounding")
    if target.kind == "int" and integral is None:
        raise Unsupported(f"{i.name}: no integer rounding")

    def change(x: Array) -> Array:
        if source.kind == "int":
            x = integer_to_float64(x, target)
        elif ftz and x.dtype == np.float32:
            x = flush(x, source)
        if integral is not None:
            x = integral(x)
        if target.kind == "int":
            return _float_to_integer(x, target).view(target.storage)
        if saturate:
            x = np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(x.dtype)
        if relu:
            x = np.where(x <= 0, x.dtype.type(0), x)
        bits = narrow(x, target, mode)
        if ftz and target.name == "f32":
            bits = flush(bits.view(np.float32), target).view(np.uint32)
        return bits

    return change


def _pack(i: Instruction, target: Type, source: Type, shared: dict[str, int]) -> Action:
    """cvt.rn.bf16x2.f32 d, high, low."""
    i.expect(3)
    half = target.part
    if half is None or half.bytes != 2 or "ftz" in i.modifiers:
        raise Unsupported(i.name)
    high, low = (read_value(o, source, shared) for o in i.operands[1:])
    write = write_bits(i.operands[0], target)
    change = _change(i, half, source)

    def action(lanes: Lanes, mask: Mask) -> None:
        upper = change(high(lanes, mask)).astype(np.uint32) << np.uint32(16)
        write(lanes, upper | change(low(lanes, mask)), mask)

    return action
