"""The fast reader of UCI's format: exact, and silent about everything else."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from jaxbern.data import _csv, _fixed_decimals
from tests.data import data_files


def parsed(text: bytes, fields: int):
    return _fixed_decimals.Parser(fields, len(text)).parse(memoryview(text))


def test_every_kind_of_float32_is_read_exactly():
    """Random bit patterns: all exponents, subnormal numbers, both zeros."""
    bits = np.random.default_rng(0).integers(0, 2**32, 60_000, dtype=np.uint32)
    bits[:4] = 0, 1 << 31, 1, 0x7F7FFFFF
    numbers = bits.view(np.float32)
    numbers = numbers[np.isfinite(numbers)][: 20 * 2900].reshape(-1, 20)
    x, y = numbers, np.arange(len(numbers), dtype=np.uint8) % np.uint8(2)
    found = parsed(data_files.text(x, y), 21)
    assert found is not None
    assert found[0].tobytes() == x.tobytes()
    np.testing.assert_array_equal(found[1], y)


def test_other_numbers_are_rounded_to_the_nearest():
    numbers = np.random.default_rng(1).normal(size=(2000, 4))
    found = parsed(data_files.text(numbers, np.zeros(2000, np.uint8)), 5)
    assert found is not None
    np.testing.assert_array_equal(found[0], numbers.astype(np.float32))


def middles():
    """Decimals at, just above and just below the middle of two float32 numbers."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 0x7F7FFFFF, 400, dtype=np.uint32)
    bits[:200] >>= 7  # subnormal
    bits[:3] = 0x3F800000, 0, 0x7F7FFFFF
    for low in bits.view(np.float32).tolist():
        exponent = max(math.frexp(low)[1] - 24, -149)
        middle = Fraction(low) + Fraction(2) ** exponent / 2
        written = f"{decimal.Decimal(middle.numerator) / middle.denominator:.18e}"
        digits, _, power = written.partition("e")
        for last in (-1, 0, 1):
            shifted = decimal.Decimal(digits) + last * decimal.Decimal("1e-18")
            if 1 <= shifted < 10:
                sign = rng.choice(["", "-"])
                yield f"{sign}{shifted:.18f}e{int(power):+03d}"


def test_every_number_is_rounded_once():
    """1.000000059604644776 is 1.0000001, though the nearest float64 is a middle."""
    with decimal.localcontext(prec=1000):
        numbers = ["1.000000059604644776e+00", *middles()]
    rows = [f"0.000000000000000000e+00,{number}\n" for number in numbers]
    text = "".join(rows).encode()
    found = parsed(text, 2)
    assert found is not None
    assert found[0][0, 0] == np.float32(1.0000001)
    by_arrow, _ = _csv._numbers(memoryview(text), 2)
    assert found[0].tobytes() == by_arrow.tobytes()
    for number, got in zip(numbers, found[0][:, 0], strict=True):
        exact = Fraction(number)
        if np.isfinite(got):
            with np.errstate(over="ignore"):
                beside = np.nextafter(got, np.float32([-np.inf, np.inf]))
            error = abs(Fraction(float(got)) - exact)
            for other in beside[np.isfinite(beside)]:
                assert error <= abs(Fraction(float(other)) - exact), number


def test_too_large_becomes_infinite():
    found = parsed(b"1.000000000000000000e+00,-3.500000000000000000e+38\n", 2)
    assert found is not None
    assert found[0].tolist() == [[-np.inf]]


TEXT = (
    b"1.000000000000000000e+00,-8.692932128906250000e-01,1.234567890123456789e+01\n"
    b"0.000000000000000000e+00,2.500000000000000000e-03,-9.999999999999999999e-09\n"
)


@pytest.mark.parametrize("character", b"059+-./:,\n\r eEagx(*\0\xff")
def test_one_wrong_character_anywhere(character):
    """Whatever is accepted is what Arrow reads; what Arrow refuses is never accepted."""
    accepted = 0
    for place in range(len(TEXT)):
        text = bytearray(TEXT)
        text[place] = character
        found = parsed(bytes(text), 3)
        if found is not None:
            x, labels = _csv._numbers(memoryview(text), 3)
            np.testing.assert_array_equal(found[0], x)
            np.testing.assert_array_equal(found[1], labels)
            accepted += 1
    digits = 6 * (19 + 2)
    places = digits if chr(character).isdecimal() else TEXT.count(bytes([character]))
    assert accepted == pytest.approx(places, abs=4)  # two signs can be exchanged


@pytest.mark.parametrize("pair", [b"df", b"fd", b",-", b"./"])
def test_two_wrong_characters_do_not_make_up_for_each_other(pair):
    """Each in the place of another number, where one alone would be found by counting."""
    for places in itertools.product(range(25), repeat=2):
        text = bytearray(TEXT)
        text[26 + places[0]], text[78 + places[1]] = pair
        found = parsed(bytes(text), 3)
        if found is not None:
            np.testing.assert_array_equal(found[0], _csv._numbers(text, 3)[0])


def test_one_parser_reads_many_blocks():
    """Nothing of an earlier block is left in a later one, nor changes what was read."""
    rng = np.random.default_rng(2)
    blocks = [rng.normal(size=(rows, 4)).astype(np.float32) for rows in (50, 9, 1, 50)]
    texts = [data_files.text(x, np.zeros(len(x), np.uint8)) for x in blocks]
    parser = _fixed_decimals.Parser(5, max(map(len, texts)))
    found = [parser.parse(memoryview(text)) for text in (*texts, b"1,2\n")]
    assert found.pop() is None
    for x, numbers in zip(blocks, found, strict=True):
        assert numbers is not None
        np.testing.assert_array_equal(numbers[0], x)


def test_what_a_parser_knew_of_an_earlier_block_is_forgotten():
    """The last minus here stands where the block before had an "e"."""
    number = b"1.000000000000000000e+00"
    parser = _fixed_decimals.Parser(1, 200)
    assert parser.parse(memoryview((b"-" + number + b"\n") * 4)) is not None
    plain = (number + b"\n") * 4
    assert parser.parse(memoryview(plain[:-1] + b"-\n")) is None
    assert parser.parse(memoryview(plain)) is not None


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", b"1,2,3\n", TEXT[:-1], TEXT + b"\n", TEXT + b"1", b"\n" + TEXT,
     TEXT.replace(b"\n", b"\r\n"), TEXT.replace(b",", b"\n"), TEXT[1:], TEXT[::-1],
     TEXT.replace(b"e-", b"e-0"), b"," * 100, b"-" * 24 + b"\n", TEXT.upper()],
)  # fmt: skip
def test_another_form_is_left_to_others(text):
    assert parsed(text, 3) is None
