"""CSV to numbers: unpacked in one thread, parsed in others, given in order."""

import collections
import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbern.data import _fixed
from jaxbern.data._errors import DataError
from jaxbern.data._formats import Text, fill, open_text
from jaxbern.data._optional import optional
from jaxbern.data._published import Published
from jaxbern.data._rows import Rows, checked, refuse

# Large enough to make the cost per call small, small enough for a core's cache.
BLOCK = 1 << 20


class _Block(NamedTuple):
    """Whole lines in a buffer, and how far in the file they have come.

    No line ends in the buffer if ``end`` is zero.
    """

    buffer: bytearray
    end: int
    position: int

    def text(self) -> memoryview:
        return memoryview(self.buffer)[: self.end]


class _Parsed(NamedTuple):
    """A block, its rows if they are good, how many lines it has, and what Arrow said."""

    block: _Block
    rows: Rows | None
    lines: int = 0
    problem: str = "unknown reason"


def read(
    path: Path, published: Published, report: Callable[[int], None], block: int = BLOCK
) -> Generator[Rows, None, None]:
    """The rows of a CSV file, block by block; memory does not grow with the file.

    ``report`` is told how many bytes of the file have been used.
    """
    workers = max(1, min(4, (os.cpu_count() or 1) - 1))  # the other core unpacks
    parsers = [_fixed.Parser(published.fields, block) for _ in range(workers)]
    spare = [bytearray(block) for _ in range(2 * workers + 2)]
    number, pending = 1, collections.deque()
    with (
        open_text(path) as text,
        ThreadPoolExecutor(1) as unpacker,
        ThreadPoolExecutor(workers) as pool,
    ):
        blocks = _blocks(text, spare)

        def start() -> None:
            coming = unpacker.submit(next, blocks, None)
            pending.append(pool.submit(_parse, coming, published.fields, parsers))

        for _ in range(len(spare)):
            start()
        while parsed := pending.popleft().result():
            if parsed.rows is None:
                raise _refusal(path, published, number, parsed)
            yield parsed.rows
            report(parsed.block.position)
            number += parsed.lines
            spare.append(parsed.block.buffer)
            start()


def _blocks(text: Text, spare: list[bytearray]) -> Iterator[_Block]:
    """The text, in buffers out of ``spare``."""
    rest, more = b"", True
    while more:
        buffer = spare.pop()
        buffer[: len(rest)] = rest
        filled = len(rest) + fill(text, memoryview(buffer)[len(rest) :])
        more = filled == len(buffer)
        end = buffer.rfind(b"\n", 0, filled) + 1 if more else filled
        rest = bytes(memoryview(buffer)[end:filled])
        if filled:
            yield _Block(buffer, end, text.position())


def _parse(
    coming: "Future[_Block | None]", fields: int, parsers: list[_fixed.Parser]
) -> _Parsed | None:
    """What is in the block to come; nothing after the last."""
    block = coming.result()
    if block is None:
        return None
    parser = parsers.pop()
    numbers = parser.parse(block.text())
    parsers.append(parser)
    if numbers:
        return _Parsed(block, checked(*numbers), len(numbers[0]))
    try:
        rows = checked(*_numbers(block.text(), fields))
    except ValueError as error:  # Arrow's, whose row numbers start in this block
        return _Parsed(block, None, problem=str(error))
    return _Parsed(block, rows, block.buffer.count(b"\n", 0, block.end))


def _refusal(
    path: Path, published: Published, number: int, parsed: _Parsed
) -> DataError:
    """The error for a block whose first line has this number."""
    block = parsed.block
    if not block.end:
        return DataError(
            f"row {number:,} of {path} is longer than {len(block.buffer):,} bytes. This "
            "is not a CSV file of events; give one as UCI publishes it."
        )
    lines = enumerate(bytes(block.text()).split(b"\n"), number)
    filled = ((n, line) for n, line in lines if line.strip(b"\r"))
    return refuse(path, published, filled, parsed.problem)


def _numbers(text: memoryview, fields: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, float32, of any CSV that Arrow reads."""
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
