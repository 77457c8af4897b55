"""Completed cells in one file, without their networks: to publish, or to carry elsewhere.

The file is JSON, a line for each cell with the texts of its ``cell.json`` and
``history.jsonl``, compressed by xz, which also keeps a checksum.
"""

import json
import lzma
from collections.abc import Iterable
from pathlib import Path

from experiments.sweep import cell_record
from experiments.sweep.cell_record import CellResult
from jaxbern.io import replacing

SUFFIX = ".jsonl.xz"


def write(path: Path, results: Iterable[CellResult]) -> None:
    """Replace ``path`` by an archive of the cells, all of it or nothing."""
    lines = (json.dumps(cell_record.texts(result)) + "\n" for result in results)
    with replacing(path, "wb") as file:
        file.write(lzma.compress("".join(lines).encode()))


def read(path: Path) -> list[CellResult]:
    """Read the cells of an archive, in the order of :class:`experiments.sweep.grid.Cell`.

    Raises:
      ValueError: the file is not an archive, is cut off, or has changed.
    """
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        results = [cell_record.parsed(json.loads(line)) for line in lines]
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"{path} must be an archive of cells, as python -m experiments sweep pack "
            f"writes it, and cannot be read ({type(problem).__name__}: {problem})"
        ) from problem
    return sorted(results, key=lambda result: result.cell)
