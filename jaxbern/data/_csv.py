"""Parse CSV files: threads unpack blocks in turn and parse them in parallel."""

import collections
import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbern.data import _fixed_decimals
from jaxbern.data._errors import DataError
from jaxbern.data._formats import Text, fill, open_text
from jaxbern.data._optional import optional
from jaxbern.data._published import Published
from jaxbern.data._rows import Rows, checked, refuse

# Bytes of text. Every step takes Python's lock, so steps should be long; but the data of a
# block should fit into the last-level cache.
BLOCK = 1 << 22


class _Block(NamedTuple):
    """Rows of some complete lines, and the byte offset reached in the file.

    If they could not be parsed: the text (empty if a line is too long) and Arrow's error.
    """

    position: int
    lines: int
    rows: Rows | None
    text: bytes = b""
    problem: str = "unknown reason"


def read(
    path: Path, published: Published, report: Callable[[int], None], block: int = BLOCK
) -> Generator[Rows, None, None]:
    """Yield the rows of a CSV file block by block; memory does not grow with the file.

    ``report`` is called with the number of bytes of the file used so far.
    """
    number, workers = 1, min(4, os.cpu_count() or 1)
    with open_text(path) as text:
        blocks = _Blocks(text, published.fields, block)
        with ThreadPoolExecutor(workers, initializer=blocks.prepare) as pool:
            for found in _in_turns(pool, blocks.next, ahead=2 * workers):
                if found is None:
                    if blocks.unfinished:
                        _warn_of_no_line_end(path)
                    return
                if found.rows is None:
                    raise _refusal(path, published, number, block, found)
                yield found.rows
                report(found.position)
                number += found.lines


def _in_turns(
    pool: ThreadPoolExecutor,
    take: Callable[[threading.Event, threading.Event], _Block | None],
    ahead: int,
) -> Iterator[_Block | None]:
    """Yield results of calls in order while a fixed number of later calls is under way."""
    pending, turn = collections.deque(), threading.Event()
    turn.set()
    while True:
        while len(pending) < ahead:
            following = threading.Event()
            pending.append(pool.submit(take, turn, following))
            turn = following
        yield pending.popleft().result()


class _Blocks:
    """The blocks of a text. Each thread has its own buffers, local to its core."""

    def __init__(self, text: Text, fields: int, size: int):
        self._text, self._fields, self._size = text, fields, size
        self._rest, self._more = b"", True
        self.unfinished = False  # whether the last line lacks a line end
        self._own = threading.local()

    def prepare(self) -> None:
        """Allocate the buffers of a thread; runs when the thread starts."""
        self._own.buffer = bytearray(self._size)
        self._own.parser = _fixed_decimals.Parser(self._fields, self._size)

    def next(self, turn: threading.Event, following: threading.Event) -> _Block | None:
        """Wait for the turn, unpack the next block and parse it; None at the end."""
        turn.wait()
        try:
            end = self._unpack(self._own.buffer) if self._more else None
            position = self._text.position()
        finally:
            following.set()
        if end is None:
            return None
        return self._parse(memoryview(self._own.buffer)[:end], position)

    def _unpack(self, buffer: bytearray) -> int | None:
        """Fill the buffer; return where the last complete line ends, None at the end."""
        rest = len(self._rest)
        buffer[:rest] = self._rest
        filled = rest + fill(self._text, memoryview(buffer)[rest:])
        self._more = filled == len(buffer)
        end = buffer.rfind(b"\n", 0, filled) + 1 if self._more else filled
        if filled:
            self.unfinished = buffer[filled - 1] not in b"\r\n"
        self._rest = bytes(memoryview(buffer)[end:filled])
        return end if filled else None

    def _parse(self, text: memoryview, position: int) -> _Block:
        problem = "unknown reason"
        if numbers := self._own.parser.parse(text):
            lines, rows = len(numbers[0]), checked(*numbers)
        else:
            lines = bytes(text).count(b"\n")
            try:
                rows = checked(*_numbers(text, self._fields))
            # Arrow counts rows from the start of this block.
            except ValueError as error:
                rows, problem = None, str(error)
        left = bytes(text) if rows is None else b""
        return _Block(position, lines, rows, left, problem)


def _warn_of_no_line_end(path: Path) -> None:
    warnings.warn(
        f"the last line of {path} has no end: if the file was cut short there, its last "
        "number is wrong. Compare its size with that of the original, or end the line",
        stacklevel=2,
    )


def _refusal(
    path: Path, published: Published, number: int, size: int, block: _Block
) -> DataError:
    """Return the error for a block whose first line has this number."""
    if not block.text:
        return DataError(
            f"row {number:,} of {path} is longer than {size:,} bytes. This is not a CSV "
            "file of events; give one as UCI publishes it."
        )
    lines = enumerate(block.text.split(b"\n"), number)
    filled = ((n, line) for n, line in lines if line.strip(b"\r"))
    return refuse(path, published, filled, block.problem)


def _numbers(text: memoryview, fields: int) -> tuple[np.ndarray, np.ndarray]:
    """Parse features and labels, float32, from any CSV that Arrow reads."""
    pa, csv = optional("pyarrow"), optional("pyarrow.csv")
    names = [str(i) for i in range(fields)]
    table = csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(
            column_names=names, block_size=len(text) + 1, use_threads=False
        ),
        csv.ParseOptions(quote_char=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.float32()), null_values=[]
        ),
    )
    x = np.empty((table.num_rows, fields - 1), np.float32)
    for i in range(fields - 1):
        x[:, i] = table.column(i + 1).to_numpy()
    return x, table.column(0).to_numpy()
