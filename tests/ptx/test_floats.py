"""Float instructions against exact rationals."""

import itertools
import math
import random

import pytest

from . import oracle
from .cases import edge_floats, f32
from .snippet import evaluate

RANDOM = random.Random(21)


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize(
    ("name", "mode"),
    [("f16", "rn"), ("bf16", "rn"), ("f64", "rn")]
    + [("f32", mode) for mode in ("rn", "rz", "rm", "rp")],
)
@pytest.mark.parametrize("operation", EXACT)
def test_one_rounding_per_operation(operation, name, mode):
    bits, values = oracle.width(name), edge_floats(name)
    arity = 3 if operation == "fma" else 2
    rows = list(itertools.product(values, repeat=2))
    if arity == 3:
        # Addends that put the sum on, or a hair beside, a midpoint of the format.
        product = (oracle.real(a, name) * oracle.real(b, name) for a, b in rows)
        near = (
            oracle.rounded(-p * RANDOM.choice((1, 2, 65537)), name) for p in product
        )
        rows = [(*row, c) for row, c in zip(rows, near, strict=True)]
        rows += [tuple(RANDOM.choices(values, k=3)) for _ in range(400)]
        rows = [row for row in rows if oracle.real(row[2], name) is not None]
    exact = [EXACT[operation](*(oracle.real(x, name) for x in row)) for row in rows]
    operands = ", ".join(f"%{r}" for r in "abc"[:arity])
    text = f"{operation}.{mode}.{name} %d, {operands};"
    got = evaluate(text, bits, [bits] * arity, rows)
    wrong = [
        (row, hex(g))
        for row, x, g in zip(rows, exact, got, strict=True)
        if x and g != oracle.rounded(x, name, mode)
    ]
    assert not wrong
    zeros = [g for x, g in zip(exact, got, strict=True) if not x]
    assert all(g % (1 << (bits - 1)) == 0 for g in zeros)


def test_fma_rounds_once_where_rounding_twice_fails():
    # (1 + 2^-12)^2 is a midpoint of float32. What is added is lost in float64, but
    # decides which way the midpoint goes.
    x = f32(1 + 2.0**-12)
    low, high = f32(1 + 2.0**-11), f32(1 + 2.0**-11 + 2.0**-23)
    rows = [(x, x, f32(2.0**-80)), (x, x, f32(-(2.0**-80))), (x, x, 0)]
    got = evaluate("fma.rn.f32 %d, %a, %b, %c;", 32, [32] * 3, rows)
    assert got == [high, low, low]
    # The same among subnormals, whose midpoints lie elsewhere: the product is a hair
    # less than half of the smallest one.
    x, y = f32(2.0**-75 * (1 + 2.0**-23)), f32(2.0**-75 * (1 - 2.0**-23))
    addends = [f32(2.0**-130 + 2.0**-149), f32(2.0**-126 - 2.0**-149)]
    rows = [(x, y, c) for c in addends]
    assert evaluate("fma.rn.f32 %d, %a, %b, %c;", 32, [32] * 3, rows) == addends


SPECIAL = [
    ("add.f32", (math.inf, -math.inf), math.nan),
    ("add.f32", (-0.0, -0.0), -0.0),
    ("sub.f32", (1.0, 1.0), 0.0),
    ("mul.f32", (math.inf, 0.0), math.nan),
    ("mul.f32", (-math.inf, 2.0), -math.inf),
    ("fma.rn.f32", (math.inf, 0.0, 1.0), math.nan),
    ("fma.rn.f32", (math.inf, 1.0, -math.inf), math.nan),
    ("fma.rn.f32", (-1.0, 0.0, 0.0), 0.0),
    ("fma.rn.f32", (3e38, 3e38, -math.inf), -math.inf),
    ("add.ftz.f32", (1e-39, 1e-39), 0.0),
    ("add.ftz.f32", (-1e-39, -0.0), -0.0),
    ("mul.ftz.f32", (1e-30, 1e-9), 0.0),
    ("mul.ftz.f32", (-1e-30, 1e-9), -0.0),
    ("mul.f32", (2.0**-70, 2.0**-70), 2.0**-140),
    ("fma.rn.ftz.f32", (1e-39, 1e30, 1.0), 1.0),
    ("add.sat.f32", (0.75, 0.75), 1.0),
    ("add.sat.f32", (-0.75, 0.25), 0.0),
    ("add.sat.f32", (math.nan, 0.25), 0.0),
    ("min.f32", (math.nan, 2.0), 2.0),
    ("min.f32", (math.nan, math.nan), math.nan),
    ("min.NaN.f32", (2.0, math.nan), math.nan),
    ("min.f32", (0.0, -0.0), -0.0),
    ("min.f32", (-0.0, 0.0), -0.0),
    ("max.f32", (1.0, math.nan), 1.0),
    ("max.NaN.f32", (1.0, math.nan), math.nan),
    ("max.f32", (0.0, -0.0), 0.0),
    ("max.f32", (-0.0, 0.0), 0.0),
    ("max.f32", (1.0, 3.0, 2.0), 3.0),
    ("abs.f32", (-0.0,), 0.0),
    ("neg.f32", (0.0,), -0.0),
    ("abs.ftz.f32", (-1e-40,), 0.0),
    ("copysign.f32", (-1.0, 3.0), -3.0),
    ("div.rn.f32", (1.0, 3.0), 1.0 / 3.0),
    ("div.rn.f32", (-1.0, 0.0), -math.inf),
    ("div.full.f32", (1.0, 2.0**127), 2.0**-127),
    ("div.approx.f32", (1.0, 2.0**127), 0.0),
    ("div.approx.f32", (math.inf, 2.0**127), math.nan),
    ("div.approx.f32", (6.0, 3.0), 2.0),
    ("rcp.rn.f32", (3.0,), 1.0 / 3.0),
    ("rcp.approx.ftz.f32", (1e-40,), math.inf),
    ("rcp.approx.ftz.f32", (2.0**127,), 0.0),
    ("sqrt.rn.f32", (2.0,), math.sqrt(2.0)),
    ("sqrt.approx.ftz.f32", (-1.0,), math.nan),
    ("rsqrt.approx.f32", (16.0,), 0.25),
    ("ex2.approx.f32", (0.5,), math.sqrt(2.0)),
    ("ex2.approx.f32", (-math.inf,), 0.0),
    ("ex2.approx.f32", (-140.0,), 2.0**-140),
    ("ex2.approx.ftz.f32", (-140.0,), 0.0),
    ("lg2.approx.f32", (8.0,), 3.0),
    ("lg2.approx.f32", (0.0,), -math.inf),
    ("tanh.approx.f32", (0.5,), math.tanh(0.5)),
]


@pytest.mark.parametrize(("name", "operands", "expected"), SPECIAL)
def test_special_values(name, operands, expected):
    registers = ", ".join(f"%{r}" for r in "abc"[: len(operands)])
    row = tuple(map(f32, operands))
    (got,) = evaluate(f"{name} %d, {registers};", 32, [32] * len(row), [row])
    # A NaN that arithmetic makes is the canonical one, sign bit clear.
    assert got == (0x7FFFFFFF if math.isnan(expected) else f32(expected))


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("operation", EXACT)
def test_packed_halves(operation, name):
    arity = 3 if operation == "fma" else 2
    values = edge_floats(name)
    rows = [tuple(RANDOM.choices(values, k=2 * arity)) for _ in range(300)]
    packed = [
        tuple(low | high << 16 for low, high in zip(row[::2], row[1::2], strict=True))
        for row in rows
    ]
    operands = ", ".join(f"%{r}" for r in "abc"[:arity])
    got = evaluate(f"{operation}.rn.{name}x2 %d, {operands};", 32, [32] * arity, packed)
    for row, word in zip(rows, got, strict=True):
        for part, half in ((row[::2], word & 0xFFFF), (row[1::2], word >> 16)):
            exact = EXACT[operation](*(oracle.real(x, name) for x in part))
            if exact:
                assert half == oracle.rounded(exact, name)


def test_packing_conversion_puts_the_first_source_on_top():
    row = (f32(1.0), f32(-2.0))
    got = evaluate("cvt.rn.bf16x2.f32 %d, %a, %b;", 32, [32, 32], [row])
    assert got == [0x3F80C000]
    got = evaluate("cvt.rn.f16x2.f32 %d, %a, %b;", 32, [32, 32], [row])
    assert got == [0x3C00C000]
    assert evaluate("neg.bf16x2 %d, %a;", 32, [32], [(0x3F80C000,)]) == [0xBF804000]
    assert evaluate("abs.f16x2 %d, %a;", 32, [32], [(0xBC00C000,)]) == [0x3C004000]
    rows = [(0x3F80C000, 0x7FC04000)]  # NaN in the upper half of the second
    assert evaluate("max.bf16x2 %d, %a, %b;", 32, [32, 32], rows) == [0x3F804000]
    assert evaluate("max.NaN.bf16x2 %d, %a, %b;", 32, [32, 32], rows) == [0x7FFF4000]
