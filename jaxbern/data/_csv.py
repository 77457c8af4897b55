"""CSV to numbers: unpacked in one thread, parsed in others, given in order."""

import collections
import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from jaxbern.data import _fixed
from jaxbern.data._errors import DataError
from jaxbern.data._formats import Text, fill, open_text
from jaxbern.data._optional import optional
from jaxbern.data._published import Published
from jaxbern.data._rows import Rows, checked, refuse

# Large enough to make the cost per call small, small enough for a core's cache.
BLOCK = 1 << 19


def read(
    path: Path, published: Published, report: Callable[[int], None], block: int = BLOCK
) -> Generator[Rows, None, None]:
    """The rows of a CSV file, block by block; memory does not grow with the file.

    ``report`` is told how many bytes of the file have been used.
    """
    workers = min(4, os.cpu_count() or 1)
    spare = [bytearray(block) for _ in range(2 * workers + 1)]
    pending = collections.deque()
    with open_text(path) as text, ThreadPoolExecutor(workers) as pool:
        for number, buffer, end in _blocks(path, text, spare):
            job = pool.submit(_parse, path, published, number, memoryview(buffer)[:end])
            pending.append((job, buffer))
            report(text.position())
            if not spare:  # all buffers are in use: wait for the oldest
                job, buffer = pending.popleft()
                yield job.result()
                spare.append(buffer)
        while pending:
            yield pending.popleft()[0].result()


def _blocks(
    path: Path, text: Text, spare: list[bytearray]
) -> Iterator[tuple[int, bytearray, int]]:
    """Whole lines: the number of the first, a buffer out of ``spare``, where they end."""
    rest, number, more = b"", 1, True
    while more:
        buffer = spare.pop()
        buffer[: len(rest)] = rest
        filled = len(rest) + fill(text, memoryview(buffer)[len(rest) :])
        more = filled == len(buffer)
        end = buffer.rfind(b"\n", 0, filled) + 1 if more else filled
        if more and end == 0:
            raise DataError(
                f"row {number:,} of {path} is longer than {len(buffer):,} bytes. This is "
                "not a CSV file of events; give one as UCI publishes it."
            )
        rest = bytes(memoryview(buffer)[end:filled])
        following = number + buffer.count(b"\n", 0, end)
        if end:
            yield number, buffer, end
        number = following


def _parse(path: Path, published: Published, number: int, text: memoryview) -> Rows:
    fields, problem = published.fields, "unknown reason"
    try:
        rows = checked(*(_fixed.parse(text, fields) or _numbers(text, fields)))
    except ValueError as error:  # Arrow's, whose row numbers start in this block
        rows, problem = None, str(error)
    if rows is None:
        lines = enumerate(bytes(text).split(b"\n"), number)
        filled = ((n, line) for n, line in lines if line.strip(b"\r"))
        raise refuse(path, published, filled, problem)
    return rows


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
