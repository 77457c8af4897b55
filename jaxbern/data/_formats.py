"""Detect the format of a file from its first bytes, as names can be wrong."""

import contextlib
import errno
import gzip
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jaxbern.data._errors import DataError
from jaxbern.data._optional import optional
from jaxbern.data._published import SETS, Published
from jaxbern.data._rows import shown

ACCEPTED = (".csv", ".csv.gz", ".zip", ".parquet", ".npy")

_GZIP, _ZIP, _PARQUET, _NPY = b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"\x93NUMPY"
_DOWNLOAD_AGAIN = (
    "Delete it and download it again, with a browser or with jb.data.higgs() or "
    "jb.data.susy()."
)


class Text(NamedTuple):
    """The text of a CSV file: how to read it, and the byte offset reached in the file."""

    readinto: Callable[[Any], int]
    position: Callable[[], int]


def kind(path: Path) -> str:
    """Return ``csv``, ``parquet`` or ``npy``; compressed text is ``csv`` as well."""
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise DataError(f"{path} is empty (0 bytes). {_DOWNLOAD_AGAIN}")
    if head.startswith(_PARQUET):
        return "parquet"
    return "npy" if head.startswith(_NPY) else "csv"


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[Text]:
    """Open the text of a CSV file; gzip, zip and gzip in zip are unpacked on the fly."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_unpacking(path))
        raw = stack.enter_context(path.open("rb"))
        stream: Any = raw
        if _head(raw).startswith(_ZIP):
            archive = stack.enter_context(zipfile.ZipFile(raw))
            member = _csv_member(path, archive)
            stream = stack.enter_context(archive.open(member))
        if _head(stream).startswith(_GZIP):  # ISA-L is three times as fast as zlib
            unpacker = optional("isal.igzip").IGzipFile(fileobj=stream, mode="rb")
            stream = stack.enter_context(unpacker)
        yield Text(stream.readinto, raw.tell)


def packed(head: bytes) -> bool:
    """Return whether a file with these first bytes is gzip or zip."""
    return head.startswith((_GZIP, _ZIP))


def unpack(path: Path) -> None:
    """Read an archive to its end to verify its checksums; raise ``DataError``."""
    buffer = memoryview(bytearray(1 << 20))
    with open_text(path) as text:
        while fill(text, buffer):
            pass


def first_line(path: Path) -> bytes:
    """Return the first line of a CSV file; raise if the file is empty or a web page."""
    buffer = bytearray(1 << 16)
    with open_text(path) as text:
        filled = fill(text, memoryview(buffer))
    head = bytes(buffer[:filled])
    if not head.strip():
        raise DataError(f"{path} holds no data, only an empty text. {_DOWNLOAD_AGAIN}")
    if head.lstrip().startswith(b"<"):
        raise DataError(
            f"{path} is a web page, not data: it begins with "
            f"{shown(head.lstrip().splitlines()[0])}. A server answered with an error "
            f"or a login page. {_DOWNLOAD_AGAIN}"
        )
    return head.lstrip(b"\r\n").splitlines()[0]


def fill(text: Text, view: memoryview) -> int:
    """Read until the view is full or the text ends; return the number of bytes read."""
    filled = 0
    while filled < len(view) and (count := text.readinto(view[filled:])):
        filled += count
    return filled


def recognise(path: Path, fields: int, wanted: Published | None) -> Published:
    """Find the published set by its numbers per row; raise if it is not the wanted one."""
    found = next((p for p in SETS.values() if p.fields == fields), None)
    if found is not None and wanted in (None, found):
        return found
    known = " and ".join(
        f"{p.name.upper()} has {p.fields} (a label and {len(p.columns)} features)"
        for p in SETS.values()
    )
    advice = (
        f'Load it with jb.data.{found.name}("{path}").'
        if found
        else "Give a file as UCI publishes it: the label first, no header, no index."
    )
    what = f"{wanted.name.upper()} was asked for, but " if wanted else ""
    raise DataError(f"{what}row 1 of {path} has {fields} fields; {known}. {advice}")


def _head(file: Any) -> bytes:
    head = file.read(4)
    file.seek(0)
    return head


def _csv_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    tables = [e for e in files if e.filename.lower().endswith((".csv", ".csv.gz"))]
    tables = [e for e in tables if not e.filename.startswith("__MACOSX")]
    if len(tables) != 1:
        names = ", ".join(entry.filename for entry in files) or "nothing"
        raise DataError(
            f"{path} must hold one .csv or .csv.gz file, it holds: {names}. Unpack it "
            "and give the path of the file you want."
        )
    return tables[0]


@contextlib.contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Turn errors of a damaged archive into a ``DataError``."""
    unpacker = optional("isal.igzip_lib")
    damages = (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, unpacker.IsalError)
    try:
        yield
    except DataError:
        raise
    except EOFError as error:
        raise DataError(f"{path} ends too early: {error}. {_DOWNLOAD_AGAIN}") from error
    except (*damages, RuntimeError, ValueError, OverflowError, struct.error) as error:
        raise DataError(
            f"{path} is a damaged archive: {error}. {_DOWNLOAD_AGAIN}"
        ) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # an offset outside the file
            raise
        raise DataError(
            f"{path} is a damaged archive: it points outside of itself. {_DOWNLOAD_AGAIN}"
        ) from error
