"""``python -m tests.faults data``: load each kind of bad file and print the message.

Every file is written here and loaded with a separate cache, which must not change: an
intact data set in it still opens, and no partial files remain.
"""

import argparse
import functools
import gzip
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import jaxbern as jb
from experiments.data import uci_text
from jaxbern.data import _converted, fingerprint
from jaxbern.data._files import CACHE_VARIABLE

ROWS = 300
BAD_ROW = 217  # counted from 1


def _csv(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], Path]:
    """Return a writer of a file with one line changed by a function of its fields."""

    def write(folder: Path) -> Path:
        lines = uci_text.lines(ROWS).splitlines()
        lines[BAD_ROW - 1] = b",".join(change(lines[BAD_ROW - 1].split(b",")))
        return _write(folder, gzip.compress(b"\n".join(lines) + b"\n", 1))

    return write


def _raw(make: Callable[[], bytes], name: str = "HIGGS.csv.gz"):
    """Return a writer of a file with these bytes."""
    return lambda folder: _write(folder, make(), name)


def _packed() -> bytes:
    return gzip.compress(uci_text.lines(ROWS), 1)


def _flipped() -> bytes:
    content = bytearray(_packed())
    content[-8] ^= 1  # a bit of the checksum
    return bytes(content)


def _write(folder: Path, content: bytes, name: str = "HIGGS.csv.gz") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "higgs.zip", "w") as archive:
        archive.writestr("readme.txt", "no data here")
    return folder / "higgs.zip"


def _npy(folder: Path) -> Path:
    np.save(folder / "higgs.npy", np.zeros(29))
    return folder / "higgs.npy"


def _parquet(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = jb.data.load("collider:higgs", rows=10)
    names = ["label", *reversed(data.columns)]
    columns = [data.y, *data.x.T[::-1]]
    pq.write_table(
        pa.table(dict(zip(names, columns, strict=True))), folder / "h.parquet"
    )
    return folder / "h.parquet"


PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>503 Service Unavailable</title></head></html>"
)

# Name of the fault: a function that writes such a file into a directory.
BAD_FILES: dict[str, Callable[[Path], Path]] = {
    "a field too few": _csv(lambda fields: fields[:-1]),
    "a field too many": _csv(lambda fields: [*fields, b"1.0"]),
    "another number of columns": _raw(lambda: b"1,2,3\n" * 9, "HIGGS.csv"),
    "text in a number": _csv(lambda fields: [*fields[:3], b"12a4", *fields[4:]]),
    "an empty field": _csv(lambda fields: [*fields[:3], b"", *fields[4:]]),
    "a header": _raw(
        lambda: b",".join([b"x"] * 29) + b"\n" + uci_text.lines(9), "HIGGS.csv"
    ),
    "a label of 2": _csv(lambda fields: [b"2.0", *fields[1:]]),
    "NaN": _csv(lambda fields: [*fields[:5], b"nan", *fields[6:]]),
    "infinity": _csv(lambda fields: [*fields[:5], b"-inf", *fields[6:]]),
    "more than a float32": _csv(lambda fields: [*fields[:5], b"1e39", *fields[6:]]),
    "an empty file": _raw(lambda: b""),
    "gzip of nothing": _raw(lambda: gzip.compress(b"")),
    "truncated gzip": _raw(lambda: _packed()[:-20_000]),
    "damaged gzip": _raw(_flipped),
    "web page saved as gzip": _raw(lambda: PAGE),
    "web page, compressed": _raw(lambda: gzip.compress(PAGE)),
    "truncated zip": _raw(lambda: b"PK\x03\x04" + bytes(100), "higgs.zip"),
    "zip without a table": _zip,
    "array of one dimension": _npy,
    "parquet, other order": _parquet,
}


def told_of(write: Callable[[Path], Path], folder: Path) -> str:
    """Return the message of loading such a file."""
    try:
        return f"nothing: {jb.data.load(write(folder))}"
    except jb.data.DataError as error:
        return str(error)


def half_written(good: Path) -> str:
    """Return the message of loading a truncated copy, which is then made again."""
    copies = list(_converted.folder().glob("[!.]*"))
    os.truncate(copies[0] / "x.npy", 1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jb.data.load(good)
    return "; ".join(str(warning.message) for warning in caught)


def no_space(path: Path) -> str:
    """Return the message of loading when files are limited to 10 kB."""
    import resource  # not on Windows

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        return f"nothing: {jb.data.load(path)}"
    except jb.data.DataError as error:
        return str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def survived(good: Path, expected: str) -> bool:
    """Return whether the intact set still opens unchanged and is alone in its cache."""
    same = fingerprint(jb.data.load(good)) == expected
    return same and len(list(_converted.folder().iterdir())) == 1


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults data", description=__doc__
    )
    parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        os.environ[CACHE_VARIABLE] = str(Path(name) / "cache")
        folder = Path(name) / "bad"
        folder.mkdir()
        good = _write(Path(name), gzip.compress(uci_text.lines(ROWS, seed=1)))
        other = _write(
            folder, gzip.compress(uci_text.lines(ROWS, seed=2)), "other.csv.gz"
        )
        cases: dict[str, Callable[[], str]] = {
            what: functools.partial(told_of, write, folder)
            for what, write in BAD_FILES.items()
        }
        cases["half-written cache"] = lambda: half_written(good)
        cases["no space left"] = lambda: no_space(other)
        expected = jb.data.load(good).fingerprint
        print("| bad file | message | cache intact |\n|---|---|---|")
        failures = 0
        for what, run in cases.items():
            message = run().replace(name, "").replace("|", "\\|")
            intact = survived(good, expected)
            failures += not intact
            print(f"| {what} | {message} | {'yes' if intact else 'NO'} |")
    return 1 if failures else 0
