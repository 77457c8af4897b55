"""Shared memory of the blocks that run together, with a race detector.

Every byte remembers whether it was written at all, and which warp last wrote and
read it since the last barrier. Threads run in lockstep here, so a missing barrier
would otherwise go unnoticed.
"""

from __future__ import annotations

import numpy as np

from .errors import MemoryFault, Race, Undefined
from .memory import pad
from .values import Array

# A stamp is (barriers passed << 6) | warp; this "warp" stands for several.
_EPOCH_BITS = 6
_SEVERAL = (1 << _EPOCH_BITS) - 1


class SharedMemory:
    """`rows` blocks of `size` bytes each."""

    def __init__(self, rows: int, size: int) -> None:
        self.size = size
        self._stride = pad(self.size)
        total = rows * self._stride
        self._data = np.zeros(total, np.uint8)
        self._defined = np.zeros(total, bool)
        self._writer = np.full(total, -1, np.int32)
        self._reader = np.full(total, -1, np.int32)
        self._epoch = np.zeros(rows, np.int32)
        self.loaded = 0
        self.stored = 0

    def load(self, row: Array, warp: Array, at: Array, size: int, length: int) -> Array:
        """`length` adjacent items of `size` bytes per thread: (threads, length)."""
        width = size * length
        where = self._place(row, at, width)
        if not self._defined.reshape(-1, width)[where].all():
            raise Undefined("shared memory is read before it is written")
        mine, now = self._stamps(row, warp)
        writer = self._writer.reshape(-1, width)[where]
        self._refuse((writer >> _EPOCH_BITS == now) & (writer != mine), "written")
        readers = self._reader.reshape(-1, width)
        before = readers[where]
        several = (now << _EPOCH_BITS) | _SEVERAL
        shared = (before >> _EPOCH_BITS == now) & (before != mine)
        readers[where] = np.where(shared, several, mine)
        # Of several warps in this very access only one has left its stamp.
        lost = (readers[where] != mine).any(axis=1)
        readers[where[lost]] = several[lost]
        self.loaded += len(where) * width
        items = self._data.view(f"u{size}").reshape(-1, length)
        return items[where]

    def store(self, row: Array, warp: Array, at: Array, values: Array) -> None:
        """Writes `values` (threads, length) to adjacent items at each address."""
        length, width = values.shape[1], values.dtype.itemsize * values.shape[1]
        where = self._place(row, at, width)
        mine, now = self._stamps(row, warp)
        items = self._data.view(values.dtype).reshape(-1, length)
        changed = (items[where] != values).any(axis=1)[:, None]
        writer = self._writer.reshape(-1, width)
        reader = self._reader.reshape(-1, width)[where]
        old = writer[where]
        # Warps holding the same value may all write it: nobody can tell.
        clash = (old >> _EPOCH_BITS == now) & (old != mine) & changed
        self._refuse(clash, "written")
        clash = (reader >> _EPOCH_BITS == now) & (reader != mine) & changed
        self._refuse(clash, "read")
        items[where] = values
        if (items[where] != values).any():
            raise Race("two threads store different values to shared memory")
        writer[where] = mine
        self._defined.reshape(-1, width)[where] = True
        self.stored += values.nbytes

    def barrier(self, rows: Array | slice) -> None:
        """Orders everything before in these blocks against everything after."""
        self._epoch[rows] += 1

    def _stamps(self, row: Array, warp: Array) -> tuple[Array, Array]:
        now = self._epoch[row][:, None]
        return (now << _EPOCH_BITS) | warp[:, None].astype(np.int32), now

    def _place(self, row: Array, at: Array, width: int) -> Array:
        """Index of each access in units of its width, after checking it."""
        bad = (at < 0) | (at + width > self.size) | (at % width != 0)
        if bad.any():
            raise MemoryFault(
                f"{width} bytes outside the {self.size} bytes of shared memory, "
                "or misaligned",
                int(at[bad][0]),
                int(bad.sum()),
            )
        return (row * self._stride + at) // width

    def _refuse(self, clash: Array, what: str) -> None:
        if clash.any():
            raise Race(f"shared memory {what} by another warp since the last barrier")
