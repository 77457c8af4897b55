"""``python -m experiments sweep pack`` and ``unpack``: a store as one small file."""

import sys
from pathlib import Path

from experiments.core.options import parser as new_parser
from experiments.sweep import cell_archive, cell_store

_DESCRIPTION = """\
  python -m experiments sweep pack STORE FILE     write the completed cells into one file
  python -m experiments sweep unpack STORE FILE   add the cells of a file to a store

The file has the history of every seed and what the numbers depend on, not the networks:
a few kilobytes for a cell. A report can be made from it (report --store FILE), and a sweep
into a store it was unpacked to trains only the cells that are missing.
"""


def main(argv: list[str]) -> int:
    """Pack or unpack; returns the exit status, 1 if there is nothing to read."""
    parser = new_parser("sweep", _DESCRIPTION)
    parser.add_argument("direction", choices=("pack", "unpack"))
    parser.add_argument("store", type=Path)
    parser.add_argument("file", type=Path)
    options = parser.parse_args(argv)
    try:
        if options.direction == "pack":
            print(pack(options.store, options.file))
        else:
            print(unpack(options.store, options.file))
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def pack(store: Path, file: Path) -> str:
    """Write the completed cells of a store into a file; says how many.

    Raises:
      ValueError: there is no completed cell.
    """
    results = cell_store.read(store).results
    if not results:
        raise ValueError(f"{store} must hold a completed cell to pack, and has none")
    cell_archive.write(file, results)
    return f"packed {len(results)} cells into {file}"


def unpack(store: Path, file: Path) -> str:
    """Add the cells of a file to a store, keeping those it has; says how many.

    All of the file is read before anything is written.
    """
    if store.is_file():
        raise ValueError(f"the store must be a directory, {store} is a file")
    added, kept = 0, 0
    for result in cell_archive.read(file):
        try:
            cell_store.write(store, result)
            added += 1
        except FileExistsError:
            kept += 1
    return f"added {added} cells to {store}, which had {kept} of the file's already"
