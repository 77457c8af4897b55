"""Comparisons and conversions against exact rationals."""

import itertools
import math
import random
import struct
from fractions import Fraction

import pytest

from . import oracle
from .cases import edge_floats, f32
from .snippet import evaluate

RANDOM = random.Random(22)

COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def select_on(comparison, kind):
    """d = 1 if the comparison holds, + 2 if its opposite does."""
    both = f"{comparison}.{kind} %p1|%p2, %a, %b;"
    if kind == "bf16":  # which has no second result
        both = f"{comparison}.{kind} %p1, %a, %b; not.pred %p2, %p1;"
    return f"""{both}
        selp.b32 %r1, 1, 0, %p1;
        selp.b32 %r2, 2, 0, %p2;
        or.b32 %d, %r1, %r2;"""


@pytest.mark.parametrize(
    "name", [*COMPARISONS, "equ", "neu", "ltu", "geu", "num", "nan"]
)
def test_float_comparisons(name):
    values = [0.0, -0.0, 1.0, -1.0, 1e-40, math.inf, -math.inf, math.nan]
    pairs = list(itertools.product(values, repeat=2))
    unordered = [math.isnan(a) or math.isnan(b) for a, b in pairs]
    expected = []
    for (a, b), nan in zip(pairs, unordered, strict=True):
        if name in ("num", "nan"):
            holds = nan == (name == "nan")
        else:
            holds = name.endswith("u") if nan else COMPARISONS[name[:2]](a, b)
        expected.append(1 if holds else 2)
    rows = [tuple(map(f32, pair)) for pair in pairs]
    assert evaluate(select_on(f"setp.{name}", "f32"), 32, [32, 32], rows) == expected
    wide = [
        tuple(struct.unpack("<Q", struct.pack("<d", x))[0] for x in p) for p in pairs
    ]
    assert evaluate(select_on(f"setp.{name}", "f64"), 32, [64, 64], wide) == expected
    # bfloat16 is the upper half of a float32 (1e-40 keeps a bit there).
    half = [tuple(x >> 16 for x in row) for row in rows]
    assert evaluate(select_on(f"setp.{name}", "bf16"), 32, [16, 16], half) == expected


def test_comparison_flushes_and_combines():
    rows = [(f32(a), f32(b)) for a, b in [(1e-40, 0.0), (1e-40, 1.0), (2.0, 1.0)]]
    text = select_on("setp.eq.ftz", "f32")
    assert evaluate(text, 32, [32, 32], rows) == [1, 2, 2]
    body = """setp.gt.f32 %p3, %b, 0f00000000;
        setp.lt.and.f32 %p1|%p2, %a, %b, !%p3;
        selp.b32 %r1, 1, 0, %p1;
        selp.b32 %r2, 2, 0, %p2;
        or.b32 %d, %r1, %r2;"""
    rows = [(f32(a), f32(b)) for a, b in [(-1.0, 0.0), (1.0, -1.0), (0.0, 1.0)]]
    assert evaluate(body, 32, [32, 32], rows) == [1, 2, 0]


@pytest.mark.parametrize("kind", ["s32", "u32"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_integer_comparisons(name, kind):
    rows = list(itertools.product([0, 1, 2**31 - 1, 2**31, 2**32 - 1], repeat=2))
    read = (lambda x: oracle.signed(x, 32)) if kind == "s32" else (lambda x: x)
    got = evaluate(select_on(f"setp.{name}", kind), 32, [32, 32], rows)
    holds = (COMPARISONS[name](*map(read, row)) for row in rows)
    assert got == [1 if h else 2 for h in holds]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("target", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_narrowing_conversions(source, target, mode):
    if source == target:
        return
    values = edge_floats(source) + [
        oracle.rounded(oracle.real(x, target) * scale, source)
        for x in edge_floats(target)
        for scale in (
            1,
            Fraction(3, 2),
            1 + Fraction(1, 2048),
            1 + Fraction(1, 1 << 40),
        )
    ]
    values = [x for x in values if oracle.real(x, source)]
    rows = [(x,) for x in values]
    text = f"cvt.{mode}.{target}.{source} %d, %a;"
    got = evaluate(text, oracle.width(target), [oracle.width(source)], rows)
    reals = [oracle.real(x, source) for x in values]
    sign = 1 << (oracle.width(target) - 1)
    for x, g in zip(reals, got, strict=True):
        want = oracle.rounded(x, target, mode)
        # Underflow keeps the sign, which an exact zero cannot show the oracle.
        assert g == (want | (sign if x < 0 else 0)), (x, hex(g))


def test_widening_conversions_are_exact():
    for source, target in [("f16", "f32"), ("bf16", "f32"), ("f32", "f64")]:
        rows = [(x,) for x in edge_floats(source)]
        text = f"cvt.{target}.{source} %d, %a;"
        got = evaluate(text, oracle.width(target), [oracle.width(source)], rows)
        assert [oracle.real(g, target) for g in got] == [
            oracle.real(x, source) for (x,) in rows
        ]


@pytest.mark.parametrize("target", ["f16", "f32", "f64"])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
def test_integer_to_float(source, target):
    bits = int(source[1:])
    values = [0, 1, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 513]
    values += [
        2**63 + 2**39 + 1,
        2**64 - 1,
        *(RANDOM.randrange(2**64) for _ in range(30)),
    ]
    values = [x % (1 << bits) for x in values]
    read = (lambda x: oracle.signed(x, bits)) if source[0] == "s" else (lambda x: x)
    width = oracle.width(target)
    got = evaluate(
        f"cvt.rn.{target}.{source} %d, %a;", width, [bits], [(x,) for x in values]
    )
    assert got == [oracle.rounded(Fraction(read(x)), target) for x in values]


ROUNDERS = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


@pytest.mark.parametrize("mode", ROUNDERS)
@pytest.mark.parametrize("target", ["s8", "u8", "s16", "s32", "u32", "s64", "u64"])
def test_float_to_integer_clamps(target, mode):
    bits = int(target[1:])
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1)
        if target[0] == "s"
        else (0, (1 << bits) - 1)
    )
    values = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        126.7,
        2.0**31,
        2.0**32,
        -(2.0**31),
        1e19,
        3e38,
        -3e38,
    ]
    rows = [(f32(x),) for x in values]
    text = f"cvt.{mode}.{target}.f32 %d, %a;"
    register = max(bits, 16)
    got = evaluate(text, register, [32], rows)
    expected = [
        max(low, min(high, ROUNDERS[mode](x)))
        for x in (oracle.real(x, "f32") for (x,) in rows)
    ]
    assert got == [e % (1 << register) for e in expected]
    assert evaluate(text, register, [32], [(f32(math.nan),)]) == [
        1 << 63 if bits == 64 else 0
    ]


CONVERSIONS = [
    ("cvt.s64.s32", 64, 32, 0xFFFFFFFE, 2**64 - 2),
    ("cvt.u64.u32", 64, 32, 0xFFFFFFFE, 0xFFFFFFFE),
    ("cvt.u32.u64", 32, 64, 0x1234567890, 0x34567890),
    ("cvt.u16.u32", 16, 32, 0x12345, 0x2345),
    ("cvt.s32.s8", 32, 32, 0x80, 0xFFFFFF80),
    ("cvt.sat.s8.s32", 32, 32, 300, 127),
    ("cvt.sat.u8.s32", 32, 32, 2**32 - 5, 0),
    ("cvt.sat.u32.u64", 32, 64, 2**40, 2**32 - 1),
    ("cvt.rni.f32.f32", 32, 32, f32(2.5), f32(2.0)),
    ("cvt.rzi.f32.f32", 32, 32, f32(-2.5), f32(-2.0)),
    ("cvt.rmi.ftz.f32.f32", 32, 32, f32(-1e-40), f32(-0.0)),
    ("cvt.sat.f32.f32", 32, 32, f32(1.5), f32(1.0)),
    ("cvt.sat.f32.f32", 32, 32, f32(math.nan), 0),
    ("cvt.ftz.f64.f32", 64, 32, f32(-1e-40), 1 << 63),
    ("cvt.rn.relu.bf16.f32", 16, 32, f32(-2.0), 0),
    ("cvt.rn.bf16.f32", 16, 32, f32(math.nan), 0x7FFF),
    ("cvt.rn.bf16.f32", 16, 32, f32(math.inf), 0x7F80),
    ("cvt.rn.f16.f32", 16, 32, f32(65520.0), 0x7C00),
    ("cvt.rna.tf32.f32", 32, 32, 0x3F801000, 0x3F802000),
    ("cvt.rn.tf32.f32", 32, 32, 0x3F801000, 0x3F800000),
]


@pytest.mark.parametrize(("text", "target", "source", "value", "expected"), CONVERSIONS)
def test_conversion_details(text, target, source, value, expected):
    assert evaluate(f"{text} %d, %a;", target, [source], [(value,)]) == [expected]
