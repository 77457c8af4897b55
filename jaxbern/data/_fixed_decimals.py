"""Parse UCI's number format with NumPy, several times as fast as a general parser.

UCI writes every number as ``d.dddddddddddddddddde+dd``, 24 characters, and a minus if it
is negative. Without those minus signs a file is a matrix of characters, 25 for each number
and its comma, so a few operations on whole blocks read all numbers in them at once.
"""

import numpy as np

from jaxbern.data._optional import optional

_NUMBER = b"0.000000000000000000e+00,"
_WIDTH = len(_NUMBER)
_E, _SIGN = _NUMBER.index(b"e"), _NUMBER.index(b"+")
# Largest allowed difference of each character from this template: 9 for a digit, 2 for a
# sign ("-" is two above "+"), 1 for "e" (raised by one for a negative number), else 0.
_ABOVE = {ord("0"): 9, ord("e"): 1, ord("+"): 2}

# Factors for 19 digits, indexed by the exponent, plus 200 if the exponent is negative, plus
# 1000 if the number is negative.
_SCALES = np.full(1300, np.nan)
_SCALES[:100] = [float(f"1e{e - 18}") for e in range(100)]
_SCALES[200:300] = [float(f"1e{-e - 18}") for e in range(100)]
_SCALES[1000:] = -_SCALES[:300]

# Mask of the bits that a float64 has beyond a float32; maximum error here in units of the
# last place; the smallest normal float32.
_FEWER, _OFF, _SMALLEST = 2**29 - 1, 8, 2.0**-126


class Parser:
    """Parses blocks of text one at a time, in buffers that it reuses.

    Allocating memory in every step would take longer than the steps.
    """

    def __init__(self, fields: int, size: int):
        """Prepare for lines of ``fields`` numbers, in blocks of up to ``size`` characters."""
        self._fields = fields
        self._line = np.frombuffer(_NUMBER * fields, np.uint8).copy()
        self._line[-1] = ord("\n")
        self._above = np.array([_ABOVE.get(c, 0) for c in _NUMBER] * fields, np.uint8)
        self._flags = np.empty((2, size), bool)
        self._text = np.empty(size, np.uint8)
        self._words = np.empty(3 * (size // _WIDTH), np.uint64)
        self._values = np.empty((2, size // _WIDTH))

    def parse(self, text: memoryview) -> tuple[np.ndarray, np.ndarray] | None:
        """Parse features and labels, float32; None if the text has another format."""
        characters = np.frombuffer(text, np.uint8)
        if len(characters) < len(self._line):
            return None
        plain = self._without_minus(characters)
        if len(plain) % len(self._line):
            return None
        digits = self._text[: len(plain)].reshape(-1, len(self._line))
        np.subtract(plain.reshape(digits.shape), self._line, out=digits)
        if not self._well_formed(characters, digits):
            return None
        values = self._numbers(digits)
        with np.errstate(over="ignore"):  # overflow gives infinity, which is refused
            rounded = values.astype(np.float32)
        for place in self._undecided(values):
            rounded[place] = _nearest(digits.reshape(-1, _WIDTH)[place])
        rows = rounded.reshape(-1, self._fields)
        return rows[:, 1:].copy(), rows[:, 0].copy()

    def _without_minus(self, characters: np.ndarray) -> np.ndarray:
        """Remove the minus sign of each number and turn its "e" into an "f" instead."""
        minus, other = self._flags[:, : len(characters)]
        np.equal(characters[2:], ord("."), out=minus[:-2])  # "-d.", and not "e-dd"
        minus[-2:] = False
        minus &= np.equal(characters, ord("-"), out=other)
        text = self._text[: len(characters)]
        text[: _E + 1] = characters[: _E + 1]
        flags = minus[: -_E - 1].view(np.uint8)
        np.add(characters[_E + 1 :], flags, out=text[_E + 1 :])
        return _filter(text, ~np.packbits(minus, bitorder="little"))

    def _well_formed(self, characters: np.ndarray, digits: np.ndarray) -> bool:
        if (digits.max(axis=0) > self._above).any():
            return False
        # A comma, whose code is between "+" and "-".
        if (digits[:, _SIGN::_WIDTH] == 1).any():
            return False
        # An "f" in the text itself would look like the "e" of a negative number.
        each_e = np.equal(characters, ord("e"), out=self._flags[0, : len(characters)])
        return np.count_nonzero(each_e) * _WIDTH == digits.size

    def _numbers(self, digits: np.ndarray) -> np.ndarray:
        """Convert all numbers to float64.

        The 24 bytes of each are three words, ``d.dddddd``, ``dddddddd`` and ``dddde+dd``.
        Neighbouring digits are combined to numbers of two digits, then four, then eight.
        """
        count = digits.size // _WIDTH
        words = self._words[: 3 * count].reshape(3, count)
        for i in range(3):
            words[i] = np.ndarray(count, "<u8", digits, 8 * i, _WIDTH)
        pairs = words.view("<u2")
        pairs[0, ::4] <<= 8  # "d." to ".d"
        pairs *= np.uint16(1 + (10 << 8))
        pairs >>= np.uint16(8)
        fours = words.view("<u4")
        fours *= np.uint32(1 + (100 << 16))
        fours >>= np.uint32(16)
        eights = words[:2]
        eights *= np.uint64(1 + (10_000 << 32))
        eights >>= np.uint64(32)
        first, second, third = words.view("<i8")
        second *= 10_000
        second += third & 0xFFFFFFFF
        third >>= 32  # sign, sign of the exponent, exponent: an index into the table
        values, scales = self._values[:, :count]
        np.multiply(first, 1e12, out=values)  # exact: 7 digits times 2^12 times 5^12
        values += second
        values *= _SCALES.take(third, out=scales, mode="clip")
        return values

    def _undecided(self, values: np.ndarray) -> np.ndarray:
        """Return indices of numbers whose rounding to float32 may be wrong.

        A float64 here has an error of a few units in the last place. It has 29 bits more
        than a float32: at the midpoint of two float32 numbers, the first of these bits is
        one and the others are zero. Numbers near a midpoint are ambiguous. Midpoints of
        subnormal numbers have other bits; as those are rare, all count as ambiguous.
        """
        bits = self._values[1, : len(values)].view(np.uint64)
        np.bitwise_and(values.view(np.uint64), np.uint64(_FEWER), out=bits)
        # Wraps around to a huge number if negative.
        bits -= np.uint64(_FEWER // 2 + 1 - _OFF)
        near = np.less_equal(bits, 2 * _OFF, out=self._flags[0, : len(values)])
        small = np.less(np.abs(values), _SMALLEST, out=self._flags[1, : len(values)])
        if small.any():
            exact = values[small].astype(np.float32).astype(np.float64)
            near[small] = exact != values[small]
        return np.flatnonzero(near)


def _nearest(digits: np.ndarray) -> np.ndarray:
    """Return the nearest float32 of a number given as offsets from the template."""
    text = digits + np.frombuffer(_NUMBER, np.uint8)
    sign = "-" if digits[_E] else ""
    text[_E] = ord("e")
    pa = optional("pyarrow")
    number = sign + text[:-1].tobytes().decode()
    return pa.array([number]).cast(pa.float32()).to_numpy()[0]


def _filter(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Select the bytes whose bit is set; Arrow does this three times as fast as NumPy."""
    pa = optional("pyarrow")
    array, mask = (
        pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(buffer)])
        for kind, buffer in ((pa.uint8(), values), (pa.bool_(), kept))
    )
    left = array.filter(mask)
    return np.frombuffer(left.buffers()[1], np.uint8, len(left))
