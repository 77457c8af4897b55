"""Converted copies: each file is parsed once and memory-mapped afterwards.

A copy is a directory ``converted/KEY`` in the cache; the key is derived from the SHA-256
of the source file::

    x.npy           float32 [rows, features]
    y.npy           uint8 [rows]
    manifest.json   rows, columns, fingerprint, source, versions of the libraries
    verified.json   sizes and modification times of these when last verified

It is written under a temporary name, flushed to disk and renamed, so that no partial copy
is ever visible. One process converts; others wait and then map the same copy.
"""

import contextlib
import datetime
import platform
import shutil
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from jaxbern._version import __version__
from jaxbern.data import _csv, _files, _formats, _tables
from jaxbern.data._dataset import Dataset, Fingerprint
from jaxbern.data._errors import DataError
from jaxbern.data._optional import optional, progress
from jaxbern.data._published import SETS, Published
from jaxbern.data._rows import Rows
from jaxbern.io import flush, temporary_name

_VERIFIED_AT_ONCE = 1 << 16  # rows
FORMAT = 1  # of the copies; part of the key, so that versions do not mix


def folder() -> Path:
    """Return the folder of all copies."""
    return _files.cache_folder() / "converted"


def place(sha256: str) -> Path:
    """Return the directory for the copy of a file with this hash."""
    return folder() / f"{sha256[:32]}-{FORMAT}"


def open_copy(copy: Path) -> Dataset:
    """Map a copy into memory; raise ``DataError`` if any part is missing or changed."""
    manifest = _files.read_json(copy / "manifest.json")
    try:
        published = SETS[manifest["name"]]
        rows, features = manifest["rows"], len(published.columns)
        x = np.load(copy / "x.npy", mmap_mode="r", allow_pickle=False)
        y = np.load(copy / "y.npy", mmap_mode="r", allow_pickle=False)
        if x.shape != (rows, features) or y.shape != (rows,):
            raise ValueError(f"arrays {x.shape} and {y.shape} for {rows} rows")
        fingerprint = manifest["fingerprint"]
        _verify(copy, x, y, published, fingerprint)
        return Dataset(published.name, x, y, published.columns, fingerprint)
    except Exception as error:  # NumPy raises errors of many types on damaged bytes
        said = " ".join(repr(error).split())[:200]
        raise DataError(f"the copy in {copy} is damaged: {said}") from error


def _verify(
    copy: Path, x: np.ndarray, y: np.ndarray, published: Published, fingerprint: str
) -> None:
    """Compare the arrays with their fingerprint, unless verified since the last change."""
    note = copy / "verified.json"
    state = {
        file: [(copy / file).stat().st_size, (copy / file).stat().st_mtime_ns]
        for file in ("manifest.json", "x.npy", "y.npy")
    }
    if _files.read_json(note) == state:
        return
    lasting = all(_files.settled(changed) for _, changed in state.values())
    contents = Fingerprint(published.columns)
    for start in range(0, len(y), _VERIFIED_AT_ONCE):
        rows = slice(start, start + _VERIFIED_AT_ONCE)
        contents.update(x[rows], y[rows])
    if contents.hexdigest() != fingerprint:
        raise ValueError("its numbers have changed since they were written")
    if lasting:
        with contextlib.suppress(OSError):  # the cache may be read-only
            _files.write_json(note, state)


def convert(path: Path, wanted: Published | None) -> Dataset:
    """Return the data of a file from its copy, converting it first if there is none.

    A file of another set than the ``wanted`` one is refused.
    """
    before, sha256 = _files.last_sha256(path), _files.sha256(path)
    if before and before != sha256 and place(before).exists():
        warnings.warn(
            f"{path} has changed since it was last read: what was trained on it before was "
            "trained on other data",
            stacklevel=4,
        )
    copy = place(sha256)
    data = _intact(copy)
    if data is None:
        with _files.lock(f"converting {copy.name}"):
            data = _intact(copy) or _make(path, sha256, copy, wanted)
    _formats.recognise(path, 1 + len(data.columns), wanted)
    return data


def _intact(copy: Path) -> Dataset | None:
    try:
        return open_copy(copy)
    except DataError:
        return None


def _make(path: Path, sha256: str, copy: Path, wanted: Published | None) -> Dataset:
    if copy.exists():
        warnings.warn(
            f"the converted copy in {copy} is incomplete or damaged: {path} is converted "
            "again",
            stacklevel=3,
        )
    published, kind, read = reader(path, wanted)
    before = path.stat()
    with _files.writing(), _temporary(copy) as temporary:
        with progress(f"converting {path.name}", before.st_size) as report:
            written = _write(temporary, read(path, published, report), published)
        if not written["rows"]:
            raise DataError(f"{path} holds no rows. Get it again; it may be cut short.")
        if path.stat().st_mtime_ns != before.st_mtime_ns:
            raise DataError(f"{path} was changed while it was read. Run again.")
        source = {
            "path": str(path.resolve()),
            "format": kind,
            "size": before.st_size,
            "mtime_ns": before.st_mtime_ns,
            "sha256": sha256,
        }
        manifest = {
            "name": published.name,
            **written,
            "columns": published.columns,
            "source": source,
            "versions": _versions(),
            "created": datetime.datetime.now(datetime.UTC).isoformat(
                timespec="seconds"
            ),
        }
        _files.write_json(temporary / "manifest.json", manifest)
        if copy.exists():
            shutil.rmtree(copy)
        temporary.rename(copy)
    return open_copy(copy)


def reader(
    path: Path, wanted: Published | None
) -> tuple[Published, str, Callable[..., Generator[Rows, None, None]]]:
    """Return the published set that a file holds, its format, and its reader."""
    kind = _formats.kind(path)
    if kind == "parquet":
        fields, read = _tables.parquet_fields(path), _tables.read_parquet
    elif kind == "npy":
        fields, read = _tables.npy_fields(path), _tables.read_npy
    else:
        fields, read = _formats.first_line(path).count(b",") + 1, _csv.read
    return _formats.recognise(path, fields, wanted), kind, read


@contextlib.contextmanager
def _temporary(copy: Path) -> Iterator[Path]:
    """Create a temporary directory; remove those that killed processes left."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    for left in copy.parent.glob(f".{copy.name}.*.tmp"):
        shutil.rmtree(left)
    temporary = temporary_name(copy)
    temporary.mkdir()
    try:
        yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _write(
    directory: Path, blocks: Generator[Rows, None, None], published: Published
) -> dict:
    """Write the arrays; return their entry for the manifest."""
    shape = (len(published.columns),)
    fingerprint, rows, signal = Fingerprint(published.columns), 0, 0
    with (
        (directory / "x.npy").open("wb") as x_file,
        (directory / "y.npy").open("wb") as y_file,
        contextlib.closing(blocks) as blocks,
    ):
        _header(x_file, "<f4", (0, *shape))
        _header(y_file, "|u1", (0,))
        for x, y in blocks:
            x_file.write(x.data)
            y_file.write(y.data)
            fingerprint.update(x, y)
            rows, signal = rows + len(y), signal + int(y.sum(dtype=np.int64))
        for file, dtype, tail in ((x_file, "<f4", shape), (y_file, "|u1", ())):
            file.seek(0)
            _header(file, dtype, (rows, *tail))
            flush(file)
    return {"rows": rows, "signal": signal, "fingerprint": fingerprint.hexdigest()}


def _header(file: IO[bytes], dtype: str, shape: tuple[int, ...]) -> None:
    """Write a NumPy header, which is padded: its length is the same for any row count."""
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _versions() -> dict[str, str]:
    return {
        "jaxbern": __version__,
        "numpy": np.__version__,
        "pyarrow": optional("pyarrow").__version__,
        "python": platform.python_version(),
    }
