"""Values worth testing with."""

from __future__ import annotations

import random
import struct

from . import oracle


def f32(x: float) -> int:
    """The bits of x as a float32."""
    return struct.unpack("<I", struct.pack("<f", x))[0]


def edge_floats(name: str) -> list[int]:
    """Bits of finite values around every boundary of the format, and of others."""
    dice = random.Random(name)
    exponents, fraction = oracle.FORMATS[name]
    one = ((1 << exponents - 1) - 1) << fraction
    normal = 1 << fraction
    largest = (((1 << exponents) - 1) << fraction) - 1
    sizes = [1, 3, normal - 1, normal, normal + 1, one - 1, one, one + 1, largest]
    sizes += [one + 3 * normal // 2, one - (fraction + 1) * normal]
    sizes += [dice.randrange(1, largest) for _ in range(4)]
    sign = 1 << (exponents + fraction)
    return [s | negative for s in sizes for negative in (0, sign)]
