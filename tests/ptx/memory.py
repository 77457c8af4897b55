"""Global memory: every buffer alone in its own terabyte of addresses.

The address alone says which buffer a pointer was derived from, and no 32-bit index
can reach a neighbour: the redzones cost nothing and are never jumped over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .errors import MemoryFault, Race, Undefined
from .values import Array

REGION_BITS = 40
SHARED_WINDOW = 1 << 60  # where generic addresses of shared memory begin
_MIDDLE = 1 << (REGION_BITS - 1)
_POISON = 0xFF  # NaN in every float type, -1 in every signed integer
_PADDING = 32  # the widest vector access, so that typed views always fit


def pad(size: int) -> int:
    """`size` rounded up so that typed views fit."""
    return -(-size // _PADDING) * _PADDING


@dataclass
class Buffer:
    """One allocation, and what the kernel did to it."""

    label: str
    base: int
    size: int
    data: Array
    defined: Array | None  # one flag per byte; None if everything is
    writable: bool
    loaded: int = field(default=0)
    stored: int = field(default=0)

    def check(self, addresses: Array, width: int, share: int) -> None:
        """Raises if any access of `width` bytes is outside or misaligned.

        Each address stands for `share` threads.
        """
        offset = addresses - self.base
        outside = (offset < 0) | (offset + width > self.size)
        if outside.any():
            first = int(offset[outside][0])
            raise MemoryFault(
                f"{width} bytes at offset {first} of {self.label}, "
                f"which has {self.size} bytes",
                int(addresses[outside][0]),
                int(outside.sum()) * share,
            )
        crooked = addresses % width != 0
        if crooked.any():
            raise MemoryFault(
                f"{width} bytes of {self.label} at an address not a multiple of it",
                int(addresses[crooked][0]),
                int(crooked.sum()) * share,
            )


class GlobalMemory:
    """All buffers of a launch."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def allocate(
        self, label: str, size: int, content: bytes | None, *, writable: bool
    ) -> Buffer:
        """A new buffer, holding `content` or nothing that may be read yet."""
        data = np.full(pad(size), _POISON, np.uint8)
        if content is not None:
            data[:size] = np.frombuffer(content, np.uint8)
        defined = np.zeros(pad(size), bool) if content is None else None
        base = ((len(self.buffers) + 1) << REGION_BITS) + _MIDDLE
        buffer = Buffer(label, base, size, data, defined, writable)
        self.buffers.append(buffer)
        return buffer

    def load(self, addresses: Array, size: int, length: int, threads: int) -> Array:
        """`length` adjacent items of `size` bytes per address: (addresses, length).

        `threads` asked for it: one address may stand for all of them.
        """
        result = np.empty((len(addresses), length), f"u{size}")
        share = threads // len(addresses)
        for buffer, where in self._owners(addresses, size * length, share):
            rows = (addresses[where] - buffer.base) // (size * length)
            if buffer.defined is not None:
                known = buffer.defined.reshape(-1, size * length)[rows]
                if not known.all():
                    raise Undefined(f"{buffer.label} is read before it is written")
            items = buffer.data.view(result.dtype).reshape(-1, length)
            result[where] = items[rows]
            buffer.loaded += len(rows) * share * size * length
        return result

    def store(self, addresses: Array, values: Array) -> None:
        """Writes `values` (addresses, length) to adjacent items at each address."""
        size, length = values.dtype.itemsize, values.shape[1]
        for buffer, where in self._owners(addresses, size * length, 1):
            mine = values[where]
            if not buffer.writable:
                raise MemoryFault(
                    f"store to {buffer.label}, which is an input",
                    int(addresses[where][0]),
                    len(mine),
                )
            rows = (addresses[where] - buffer.base) // (size * length)
            items = buffer.data.view(values.dtype).reshape(-1, length)
            items[rows] = mine
            if (items[rows] != mine).any():
                raise Race(f"two threads store different values to {buffer.label}")
            if buffer.defined is not None:
                buffer.defined.reshape(-1, size * length)[rows] = True
            buffer.stored += mine.nbytes

    def _owners(
        self, addresses: Array, width: int, share: int
    ) -> Iterator[tuple[Buffer, Array | slice]]:
        """The buffers hit, checked, each with the positions of its addresses."""
        low, high = int(addresses.min()), int(addresses.max())
        if low >> REGION_BITS == high >> REGION_BITS:
            buffer = self._buffer(low >> REGION_BITS, addresses, share)
            inside = low >= buffer.base and high + width <= buffer.base + buffer.size
            if not inside or int(np.bitwise_or.reduce(addresses)) % width:
                buffer.check(addresses, width, share)
            yield buffer, slice(None)
            return
        regions = addresses >> REGION_BITS
        for region in np.unique(regions):
            where = np.flatnonzero(regions == region)
            buffer = self._buffer(int(region), addresses[where], share)
            buffer.check(addresses[where], width, share)
            yield buffer, where

    def _buffer(self, region: int, addresses: Array, share: int) -> Buffer:
        if 1 <= region <= len(self.buffers):
            return self.buffers[region - 1]
        what = "null pointer" if region in (0, -1) else "wild pointer"
        raise MemoryFault(what, int(addresses[0]), len(addresses) * share)
