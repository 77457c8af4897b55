"""Floating-point arithmetic.

`.approx` and `.full` are computed as well as the type allows; hardware may be a few
units in the last place away. An unmarked `mul` feeding an unmarked `add` is executed
as written, though ptxas may fuse the two. An exact zero sum is +0, even under `.rm`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from .dispatch import Action, builds, compute, copy
from .errors import Unsupported
from .rounding import MODES, flush, fma32, fma64, narrow, odd_sum
from .syntax import Instruction
from .values import TYPES, Array, Type, decode

Function = Callable[..., Array]


def _exact_product(a: Array, b: Array) -> Array:
    return a.astype(np.float64) * b


def _exact_sum(a: Array, b: Array) -> Array:
    return odd_sum(*np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64)))


# Per operation: in float32, in float64, and in float64 rounded to odd, from which any
# narrower type and any rounding mode follow.
_ARITHMETIC: dict[str, tuple[int, Function, Function, Function]] = {
    "add": (2, np.add, np.add, _exact_sum),
    "sub": (2, np.subtract, np.subtract, lambda a, b: _exact_sum(a, -b)),
    "mul": (2, np.multiply, np.multiply, _exact_product),
    "fma": (3, fma32, fma64, lambda a, b, c: _exact_sum(_exact_product(a, b), c)),
}


def _minimum(a: Array, b: Array) -> Array:
    # Of equal arguments NumPy may return either; of two zeros -0 is the smaller.
    return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))


def _maximum(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))


def _numeric(function: Function) -> Function:
    """The same, but a NaN gives way to a number."""

    def choose(a: Array, b: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, function(a, b)))

    return choose


_EXTREMES = {"min": _minimum, "max": _maximum}


def _approximate_division(a: Array, b: Array) -> Array:
    """`div.approx`: the reciprocal of a divisor above 2**126 underflows to zero."""
    huge = (np.abs(b) > 2.0**126) & np.isfinite(b)
    return np.where(huge, a * np.copysign(b.dtype.type(0), b), a / b)


def _wide(function: Function) -> Function:
    """Evaluates in float64, so that the final rounding is the only visible one."""
    return lambda *x: function(*(v.astype(np.float64) for v in x))


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


# Function, and the accuracy modifiers it comes with.
_FUNCTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "rcp": (np.reciprocal, ("rn", "approx")),
    "sqrt": (np.sqrt, ("rn", "approx")),
    "rsqrt": (_wide(_reciprocal_root), ("approx",)),
    "ex2": (_wide(np.exp2), ("approx",)),
    "lg2": (_wide(np.log2), ("approx",)),
    "sin": (_wide(np.sin), ("approx",)),
    "cos": (_wide(np.cos), ("approx",)),
    "tanh": (_wide(np.tanh), ("approx",)),
}


def _saturate(x: Array) -> Array:
    return np.where(np.isnan(x), x.dtype.type(0), np.clip(x, 0, 1))


def _relu(x: Array) -> Array:
    return np.where(np.isnan(x) | (x > 0), x, x.dtype.type(0))


def _finish(i: Instruction, function: Function, shared: dict[str, int]) -> Action:
    """Puts `.ftz`, `.sat` and `.relu` around a function that rounds its result."""
    kind = i.type
    steps = []
    if "sat" in i.modifiers:
        steps.append(_saturate)
    if "relu" in i.modifiers:
        steps.append(_relu)
    ftz = "ftz" in i.modifiers
    if ftz:
        steps.append(lambda x: flush(x, kind))

    def whole(*sources: Array) -> Array:
        if ftz:
            sources = [flush(x, kind) for x in sources]
        result = function(*sources)
        for step in steps:
            result = step(result)
        return result

    sources = [(o, kind) for o in i.operands[1:]]
    return compute(whole if steps else function, sources, (i.operands[0], kind), shared)


def _rounded(function: Function, kind: Type, mode: str) -> Function:
    """The same, rounded to `kind` and read back."""
    part = kind.part or kind
    return lambda *x: decode(part, narrow(function(*x), part, mode))


def _type(i: Instruction) -> Type:
    if i.type.name == "tf32":
        raise Unsupported(i.name)
    return i.type


@builds(_ARITHMETIC, ["float"])
def arithmetic(i: Instruction, shared: dict[str, int]) -> Action:
    """add, sub, mul, fma in every float type; for f32 in every rounding mode."""
    count, single, double, exact = _ARITHMETIC[i.opcode]
    i.allow(*MODES, "ftz", "sat", "relu")
    i.expect(count + 1)
    kind = _type(i)
    name = (kind.part or kind).name
    modes = [m for m in i.modifiers if m in MODES] or ["rn"]
    if len(modes) > 1 or (name != "f32" and modes != ["rn"]):
        raise Unsupported(f"{i.name}: rounding")
    if modes == ["rn"] and name in ("f32", "f64"):
        return _finish(i, single if name == "f32" else double, shared)
    return _finish(i, _rounded(exact, kind, modes[0]), shared)


@builds(_EXTREMES, ["float"])
def extreme(i: Instruction, shared: dict[str, int]) -> Action:
    """min, max of two or three: a number wins over NaN, or with .NaN the NaN does."""
    i.allow("ftz", "NaN")
    i.expect(3, 4)
    _type(i)
    both = _EXTREMES[i.opcode]
    both = both if "NaN" in i.modifiers else _numeric(both)
    return _finish(i, lambda *sources: reduce(both, sources), shared)


@builds(["div"], ["float"])
def division(i: Instruction, shared: dict[str, int]) -> Action:
    """div.rn, div.full and div.approx."""
    i.allow("rn", "full", "approx", "ftz")
    i.expect(3)
    if _type(i).name not in ("f32", "f64"):
        raise Unsupported(i.name)
    approximate = "approx" in i.modifiers
    return _finish(i, _approximate_division if approximate else np.divide, shared)


@builds(_FUNCTIONS, ["float"])
def function(i: Instruction, shared: dict[str, int]) -> Action:
    """rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh."""
    body, accuracy = _FUNCTIONS[i.opcode]
    i.allow(*accuracy, "ftz")
    i.expect(2)
    kind = _type(i)
    if not set(accuracy) & set(i.modifiers):
        raise Unsupported(f"{i.name}: accuracy")
    if kind.name == "f64" and "rn" not in i.modifiers:
        raise Unsupported(f"{i.name}: a coarse approximation, unlike the others")
    return _finish(i, _rounded(body, kind, "rn"), shared)


# The sign bit of every element of a type, by its name.
_SIGNS = {
    **{"f16": 0x8000, "bf16": 0x8000, "f32": 1 << 31, "f64": 1 << 63},
    **{"f16x2": 0x80008000, "bf16x2": 0x80008000, "f32x2": 1 << 63 | 1 << 31},
}


@builds(["abs", "neg"], ["float"])
def sign(i: Instruction, shared: dict[str, int]) -> Action:
    """abs, neg: on the sign bit alone, unless subnormals are flushed."""
    i.allow("ftz")
    i.expect(2)
    kind = _type(i)
    if "ftz" in i.modifiers:
        return _finish(i, np.abs if i.opcode == "abs" else np.negative, shared)
    bit = kind.storage.type(_SIGNS[kind.name])
    change = (lambda raw: raw & ~bit) if i.opcode == "abs" else (lambda raw: raw ^ bit)
    return copy(change, [(i.operands[1], kind)], (i.operands[0], kind), shared)


@builds(["copysign"], ["float"])
def copysign(i: Instruction, shared: dict[str, int]) -> Action:
    """copysign: the sign of the first source on the second."""
    i.allow()
    i.expect(3)
    kind = _type(i)
    bit = kind.storage.type(_SIGNS[kind.name])
    sources = [(o, kind) for o in i.operands[1:]]
    return copy(
        lambda s, x: (s & bit) | (x & ~bit), sources, (i.operands[0], kind), shared
    )


_TESTS: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
}


@builds(["testp"], ["float"])
def test(i: Instruction, shared: dict[str, int]) -> Action:
    """testp: finite, infinite, number, notanumber."""
    i.allow(*_TESTS)
    i.expect(2)
    body = _TESTS[i.modifiers[0]]
    target = (i.operands[0], TYPES["pred"])
    return compute(body, [(i.operands[1], _type(i))], target, shared)
