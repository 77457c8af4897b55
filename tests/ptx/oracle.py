"""What the answers should be, from Python's integers and rationals alone.

Nothing here shares code or method with the machine: it is what the machine is tested
against.
"""

from __future__ import annotations

from fractions import Fraction

# Bits of exponent and of fraction.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def width(name: str) -> int:
    """Bits in a value of the format."""
    return sum(FORMATS[name]) + 1


def real(bits: int, name: str) -> Fraction | None:
    """The number that `bits` stand for; None for infinities and NaN."""
    exponents, fraction = FORMATS[name]
    exponent = bits >> fraction & ((1 << exponents) - 1)
    digits = bits & ((1 << fraction) - 1)
    if exponent == (1 << exponents) - 1:
        return None
    if exponent:
        digits |= 1 << fraction
    else:
        exponent = 1
    shift = exponent - (1 << (exponents - 1)) + 1 - fraction
    size = Fraction(digits) * Fraction(2) ** shift
    return -size if bits >> (exponents + fraction) else size


def rounded(x: Fraction, name: str, mode: str = "rn") -> int:
    """The bits of `x` rounded once; an exact zero is positive."""
    exponents, fraction = FORMATS[name]
    if x == 0:
        return 0
    negative, size = x < 0, abs(x)
    smallest = 2 - (1 << (exponents - 1))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, smallest)
    count, rest = divmod(size / Fraction(2) ** (exponent - fraction), 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and count % 2),
        "rz": False,
        "rm": negative and rest,
        "rp": not negative and rest,
    }[mode]
    bits = ((exponent - smallest) << fraction) + int(count) + bool(up)
    infinity = ((1 << exponents) - 1) << fraction
    if bits >= infinity:
        inward = {"rn": False, "rz": True, "rm": not negative, "rp": negative}[mode]
        bits = infinity - 1 if inward else infinity
    return bits | negative << (exponents + fraction)


def signed(x: int, bits: int) -> int:
    """Two's complement."""
    return x - (1 << bits) if x >> (bits - 1) else x


def quotient(a: int, b: int) -> int:
    """Division towards zero."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def bit_field(x: int, position: int, length: int, bits: int, sign: bool) -> int:
    """bfe, bit by bit as its specification words it."""
    position, length, top = position & 255, length & 255, bits - 1
    fill = 0
    if sign and length:
        fill = x >> min(position + length - 1, top) & 1
    result = 0
    for i in range(bits):
        inside = i < length and position + i <= top
        result |= (x >> (position + i) & 1 if inside else fill) << i
    return result


def insert_field(a: int, b: int, position: int, length: int, bits: int) -> int:
    """bfi, bit by bit."""
    for i in range(length & 255):
        place = (position & 255) + i
        if place < bits:
            b = b & ~(1 << place) | (a >> i & 1) << place
    return b


def permute(a: int, b: int, selector: int) -> int:
    """prmt in its default mode."""
    source = (b << 32 | a).to_bytes(8, "little")
    result = []
    for nibble in (selector >> shift & 15 for shift in (0, 4, 8, 12)):
        byte = source[nibble & 7]
        result.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that shfl.sync reads and its predicate."""
    segment, clamp = c >> 8 & 31, c & 31
    limit = (lane & segment) | (clamp & ~segment)
    source = {
        "up": lane - b,
        "down": lane + b,
        "bfly": lane ^ b,
        "idx": (lane & segment) | (b & ~segment),
    }[mode]
    inside = source >= limit if mode == "up" else source <= limit
    return (source if inside else lane), inside
