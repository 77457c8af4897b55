"""Correct rounding: one rounding per PTX instruction, whatever NumPy offers.

Sums are formed in float64 *rounded to odd*: cut, with the last bit set if anything
was lost. Such a number lies on the same side of every float32, float16 or bfloat16
midpoint as the exact one, so rounding it once more is rounding the exact value.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .errors import Unsupported
from .values import Array, Type, decode

_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
_HALF_ULP = np.uint64(1 << 28)
_LARGE_EXPONENT = np.uint32(0x7F000000)
_BELOW_FLOAT32 = np.uint64((1 << 29) - 1)
MODES = ("rn", "rz", "rm", "rp")


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The float64 sum and what it lost, exactly (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def odd_sum(a: Array, b: Array) -> Array:
    """a + b in float64, rounded to odd (a and b are float64)."""
    total, lost = _two_sum(a, b)
    bits = total.view(np.int64)
    fix = (lost != 0) & np.isfinite(total) & ((bits & 1) == 0)
    step = np.where((lost > 0) == (total > 0), 1, -1)
    return np.where(fix, bits + step, bits).view(np.float64)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float32 with a single rounding."""
    product = a.astype(np.float64) * b  # exact: 24 + 24 bits fit in 53
    total = product + c
    result = total.astype(np.float32)
    # Rounding twice goes wrong only where the float64 sum is a float32 midpoint. Near
    # and below the smallest normal number midpoints lie elsewhere: doubt all of those.
    doubtful = (total.view(np.uint64) & _BELOW_FLOAT32) == _HALF_ULP
    tiny = (result.view(np.uint32) & _LARGE_EXPONENT) == 0
    if tiny.any():
        doubtful |= tiny & (total != 0)
    if doubtful.any():
        again = odd_sum(product, c.astype(np.float64))
        result = np.where(doubtful, again.astype(np.float32), result)
    return result


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64 with a single rounding (Boldo and Melquiond, 2008)."""
    a, b, c = np.broadcast_arrays(a, b, c)
    high = a * b
    plain = high + c
    low = _product_error(a, b, high)
    sum1, lost1 = _two_sum(c, low)
    sum2, lost2 = _two_sum(high, sum1)
    result = sum2 + odd_sum(lost1, lost2)
    sizes = [np.abs(x) for x in (a, b, c, high)]
    safe = (np.max(sizes, axis=0) < 2.0**990) & (sizes[3] > 2.0**-900)
    trivial = (a == 0) | (b == 0) | ~np.isfinite(sizes[:3]).all(axis=0)
    result = np.where(safe, result, plain)
    for lane in zip(*np.nonzero(~safe & ~trivial), strict=True):
        result[lane] = _fma_exact(*(float(x[lane]) for x in (a, b, c, plain)))
    return result


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """a * b - product, exactly (Dekker): each factor is split into 26 + 27 bits."""
    split = 2.0**27 + 1
    a1 = split * a - (split * a - a)
    b1 = split * b - (split * b - b)
    a0, b0 = a - a1, b - b1
    return ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _fma_exact(a: float, b: float, c: float, plain: float) -> float:
    """One lane where the fast way might under- or overflow: exact rationals."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else plain
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _float32_odd(x: Array) -> Array:
    """float64 to float32, rounded to odd."""
    near = x.astype(np.float32)
    bits = near.view(np.uint32)
    wide = near.astype(np.float64)
    cut = bits - (np.abs(wide) > np.abs(x)).astype(np.uint32)
    lost = (wide != x) & ~np.isnan(x)
    return (cut | lost.astype(np.uint32)).view(np.float32)


def _nearest(x: Array, kind: Type) -> Array:
    """Bits of the nearest value of type `kind`, ties to even."""
    if kind.name == "f16":
        return x.astype(np.float16).view(np.uint16)
    if kind.name == "bf16":
        narrow = x if x.dtype == np.float32 else _float32_odd(x)
        bits = narrow.view(np.uint32)
        tie = (bits >> np.uint32(16)) & np.uint32(1)
        return ((bits + np.uint32(0x7FFF) + tie) >> np.uint32(16)).astype(np.uint16)
    return x.astype(kind.value, copy=False).view(kind.storage)


def narrow(x: Array, kind: Type, mode: str = "rn") -> Array:
    """Bits of `x` (float32 or float64) rounded to `kind`; NaN becomes canonical."""
    if kind.part is not None:
        return narrow(x, kind.part, mode).view(kind.storage).reshape(-1)
    if kind.name == "tf32":
        return _tf32(x, mode)
    if mode not in MODES:
        raise Unsupported(f"rounding .{mode} to {kind.name}")
    bits = _nearest(x, kind)
    if mode != "rn":
        size, exact = np.abs(decode(kind, bits).astype(np.float64)), np.abs(x)
        inward = {"rz": True, "rm": x > 0, "rp": x < 0}[mode]
        less, more = bits - (size > exact), bits + (size < exact)
        bits = np.where(inward, less, more).astype(kind.storage)
    if kind.name in _NAN:
        nan = np.isnan(x)
        if nan.any():
            bits = np.where(nan, kind.storage.type(_NAN[kind.name]), bits)
    return bits


def _tf32(x: Array, mode: str) -> Array:
    """float32 bits with 10 bits of fraction kept: nearest, ties away or to even."""
    bits = x.view(np.uint32)
    half, drop = np.uint32(1 << 12), np.uint32(0x1FFF)
    if mode == "rna":
        moved = bits + half
    elif mode == "rn":
        moved = bits + (half - np.uint32(1)) + ((bits >> np.uint32(13)) & np.uint32(1))
    else:
        raise Unsupported(f"rounding .{mode} to tf32")
    bits = np.where(np.isfinite(x), moved & ~drop, bits)
    return np.where(np.isnan(x), np.uint32(_NAN["f32"]), bits)


def flush(x: Array, kind: Type) -> Array:
    """Subnormals become zeros of the same sign, as `.ftz` asks."""
    smallest = 2.0**-14 if (kind.part or kind).name == "f16" else 2.0**-126
    return x * (np.abs(x) >= x.dtype.type(smallest))


def integer_to_float64(x: Array, target: Type) -> Array:
    """Any integer as float64: if 53 bits do not do, rounded to odd for a narrower
    target."""
    if x.dtype.itemsize < 8 or target.name == "f64":
        return x.astype(np.float64)
    high = (x >> x.dtype.type(32)).astype(np.float64) * 2.0**32
    return odd_sum(high, (x & x.dtype.type(0xFFFFFFFF)).astype(np.float64))
