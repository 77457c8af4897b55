"""Integer instructions against Python's integers."""

import itertools
import random

import pytest

from . import oracle
from .snippet import evaluate

RANDOM = random.Random(20)


def edge_integers(bits):
    top = 1 << bits
    edges = [0, 1, 2, 3, 7, 31, 32, 33, 255, top // 2 - 1, top // 2, top - 2, top - 1]
    return [x % top for x in edges] + [RANDOM.randrange(top) for _ in range(8)]


def high(a, b, bits):
    return a * b >> bits


# Instruction without its type, types, number of sources, and the oracle.
INTEGER = [
    ("add", "u16 s32 u64", 2, lambda a, b, n: a + b),
    ("sub", "u16 s32 u64", 2, lambda a, b, n: a - b),
    ("mul.lo", "u16 s32 u64", 2, lambda a, b, n: a * b),
    ("mul.hi", "u16 s16 u32 s32 u64 s64", 2, high),
    ("mad.lo", "u16 s32 s64", 3, lambda a, b, c, n: a * b + c),
    ("mad.hi", "u32 s32", 3, lambda a, b, c, n: high(a, b, n) + c),
    ("div", "u16 s32 u32 s64 u64", 2, lambda a, b, n: oracle.quotient(a, b)),
    ("rem", "u16 s32 u32 s64 u64", 2, lambda a, b, n: a - oracle.quotient(a, b) * b),
    ("min", "u16 s32 u32 s64", 2, lambda a, b, n: min(a, b)),
    ("max", "u16 s32 u32 s64", 2, lambda a, b, n: max(a, b)),
    ("abs", "s16 s32 s64", 1, lambda a, n: abs(a)),
    ("neg", "s16 s32 s64", 1, lambda a, n: -a),
    ("and", "b16 b32 b64", 2, lambda a, b, n: a & b),
    ("or", "b16 b32 b64", 2, lambda a, b, n: a | b),
    ("xor", "b16 b32 b64", 2, lambda a, b, n: a ^ b),
    ("not", "b16 b32 b64", 1, lambda a, n: ~a),
]


@pytest.mark.parametrize(
    ("name", "kind", "arity", "expected"),
    [(n, k, a, f) for n, kinds, a, f in INTEGER for k in kinds.split()],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_integer_arithmetic(name, kind, arity, expected):
    bits = int(kind[1:])
    rows = list(itertools.product(edge_integers(bits), repeat=min(arity, 2)))
    rows = [(*row, RANDOM.randrange(1 << bits)) if arity == 3 else row for row in rows]
    if name in ("div", "rem"):
        rows = [row for row in rows if row[1]]
    read = (lambda x: oracle.signed(x, bits)) if kind[0] == "s" else (lambda x: x)
    operands = ", ".join(f"%{r}" for r in "abc"[:arity])
    got = evaluate(f"{name}.{kind} %d, {operands};", bits, [bits] * arity, rows)
    assert got == [expected(*map(read, row), bits) % (1 << bits) for row in rows]


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
@pytest.mark.parametrize("name", ["mul.wide", "mad.wide"])
def test_widening_products(name, kind):
    bits = int(kind[1:])
    rows = [
        (a, b, RANDOM.randrange(1 << 2 * bits))
        for a, b in itertools.product(edge_integers(bits), repeat=2)
    ]
    read = (lambda x: oracle.signed(x, bits)) if kind[0] == "s" else (lambda x: x)
    third = ", %c" if name == "mad.wide" else ""
    text = f"{name}.{kind} %d, %a, %b{third};"
    got = evaluate(text, 2 * bits, [bits, bits, 2 * bits], rows)
    assert got == [
        (read(a) * read(b) + (c if third else 0)) % (1 << 2 * bits) for a, b, c in rows
    ]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_saturate_at_the_width(bits):
    rows = list(itertools.product(edge_integers(bits), [0, 1, 15, 31, 32, 63, 64, 99]))
    sizes = [bits, 32]
    left = evaluate(f"shl.b{bits} %d, %a, %b;", bits, sizes, rows)
    assert left == [(a << b) % (1 << bits) for a, b in rows]
    logical = evaluate(f"shr.u{bits} %d, %a, %b;", bits, sizes, rows)
    assert logical == [a >> b for a, b in rows]
    arithmetic = evaluate(f"shr.s{bits} %d, %a, %b;", bits, sizes, rows)
    assert arithmetic == [(oracle.signed(a, bits) >> b) % (1 << bits) for a, b in rows]


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_fields(kind):
    bits = int(kind[1:])
    places = list(itertools.product([0, 1, 7, 31, 40, 64, 300], [0, 1, 8, 32, 64, 255]))
    rows = [(RANDOM.randrange(1 << bits), *place) for place in places for _ in range(4)]
    got = evaluate(f"bfe.{kind} %d, %a, %b, %c;", bits, [bits, 32, 32], rows)
    assert got == [oracle.bit_field(*row, bits, kind[0] == "s") for row in rows]
    rows = [(RANDOM.randrange(1 << bits), *row) for row in rows]
    text = f"bfi.b{bits} %d, %a, %b, %c, %e;"
    got = evaluate(text, bits, [bits, bits, 32, 32], rows)
    assert got == [oracle.insert_field(*row, bits) for row in rows]


def test_permute_logic_funnel_and_counts():
    words = edge_integers(32)
    rows = [(*RANDOM.sample(words, 2), RANDOM.randrange(1 << 16)) for _ in range(99)]
    got = evaluate("prmt.b32 %d, %a, %b, %c;", 32, [32] * 3, rows)
    assert got == [oracle.permute(*row) for row in rows]
    for table in (0x96, 0xE8, 0x01, 0xCA):
        got = evaluate(f"lop3.b32 %d, %a, %b, %c, {table};", 32, [32] * 3, rows)
        assert got == [
            sum(
                (table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i
                for i in range(32)
            )
            for a, b, c in rows
        ]
    rows = [(a, b, n) for a, b, _ in rows for n in (0, 5, 31, 32, 40)]
    for wrap in ("wrap", "clamp"):
        cut = [n & 31 if wrap == "wrap" else min(n, 32) for _, _, n in rows]
        both = [b << 32 | a for a, b, _ in rows]
        got = evaluate(f"shf.l.{wrap}.b32 %d, %a, %b, %c;", 32, [32] * 3, rows)
        assert got == [
            (x << n >> 32) % (1 << 32) for x, n in zip(both, cut, strict=True)
        ]
        got = evaluate(f"shf.r.{wrap}.b32 %d, %a, %b, %c;", 32, [32] * 3, rows)
        assert got == [(x >> n) % (1 << 32) for x, n in zip(both, cut, strict=True)]
    rows = [(a,) for a in words]
    assert evaluate("popc.b32 %d, %a;", 32, [32], rows) == [
        a.bit_count() for (a,) in rows
    ]
    assert evaluate("clz.b32 %d, %a;", 32, [32], rows) == [
        32 - a.bit_length() for (a,) in rows
    ]
