"""Downloads: resumed where they were cut, checked, and renamed when they are whole.

Beside each file ``NAME`` there is ``NAME.json`` with its size and SHA-256, written on the
first download and compared ever after. ``NAME.part`` is an unfinished download and
``NAME.part.json`` what is needed to go on with it.
"""

import dataclasses
import datetime
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from jaxbern._version import __version__
from jaxbern.data import _files, _formats
from jaxbern.data._errors import DataError
from jaxbern.data._optional import progress
from jaxbern.data._published import Download, Published

CHUNK = 1 << 20
TIMEOUT = 60.0  # seconds without a byte
PAUSES = (1.0, 3.0, 10.0)  # seconds, before each attempt after one that brought nothing


class _Unavailable(Exception):
    """This address does not give the file; another may."""


class _Cut(Exception):
    """The connection broke; what came so far is kept."""


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What the server is about to send."""

    response: http.client.HTTPResponse
    start: int  # the first byte of it
    total: int | None  # bytes of the whole file
    validator: str | None  # changes when the file does


def folder() -> Path:
    """Where downloaded files are."""
    return _files.cache_folder() / "downloads"


def record(download: Download) -> dict:
    """Size and SHA-256 of the first download of this file; empty if there was none."""
    return _files.read_json(folder() / f"{download.filename}.json")


def downloaded(published: Published) -> Path | None:
    """The downloaded file, if it is there and as long as it was."""
    for download in published.downloads:
        path = folder() / download.filename
        if path.exists() and path.stat().st_size == record(download).get("size"):
            return path
    return None


def fetch(published: Published) -> Path:
    """Download a data set unless it is there; one process at a time."""
    with _files.lock(f"downloading {published.name}"):
        if path := downloaded(published):
            return path
        refusals = []
        for download in published.downloads:
            try:
                return _fetch(download)
            except _Unavailable as error:
                refusals.append(f"{download.url}: {error}")
    name = published.name
    raise DataError(
        f"{name.upper()} could not be downloaded. {'; '.join(refusals)}. Run again to go "
        f"on, or download it with a browser from {published.page} and give its path, "
        f'jb.data.{name}("{name.upper()}.csv.gz"), or the directory in JAXBERN_DATA. '
        f'Without a network, jb.data.load("collider:{name}") simulates such events.'
    )


def _fetch(download: Download) -> Path:
    with _files.writing():
        folder().mkdir(parents=True, exist_ok=True)
    part = folder() / f"{download.filename}.part"
    fruitless = 0
    while True:
        before = _size(part)
        try:
            total = _transfer(download, part)
        except _Cut as cut:
            fruitless = 0 if _size(part) > before else fruitless + 1
            if fruitless > len(PAUSES):
                raise _Unavailable(f"{cut} ({_size(part):,} bytes kept)") from cut
            time.sleep(PAUSES[fruitless - 1] if fruitless else 0)
        else:
            return _accept(download, part, total)


def _transfer(download: Download, part: Path) -> int | None:
    """Bring the unfinished file to its end; returns the size the server announced."""
    state = _state(part)
    known = _files.read_json(state)
    # Going on is safe if a change of the file would be noticed.
    noticed = known.get("validator") or download.sha256
    have = _size(part) if noticed and known.get("url") == download.url else 0
    if have and have == known.get("total"):
        return have
    answer = _ask(download.url, have, known.get("validator"))
    with answer.response:
        chunks = _chunks(answer.response)
        first = next(chunks, b"")
        _check(download, answer, first)
        announced = {"validator": answer.validator, "total": answer.total}
        done = answer.start
        with _files.writing(), part.open("ab" if answer.start else "wb") as out:
            _files.write_json(state, {"url": download.url, **announced})
            with progress(f"downloading {download.filename}", answer.total) as report:
                while first:
                    out.write(first)
                    report(done := done + len(first))
                    first = next(chunks, b"")
            _files.flush(out)
    if answer.total is not None and done < answer.total:
        raise _Cut(f"the connection broke at {done:,} of {answer.total:,} bytes")
    return answer.total


def _ask(url: str, have: int, validator: str | None) -> _Answer:
    headers = {"User-Agent": f"jaxbern/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        headers |= {"If-Range": validator} if validator else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (408, 429) or error.code >= 500:
            raise _Cut(f"the server answered {error.code} {error.reason}") from error
        raise _Unavailable(
            f"the server answered {error.code} {error.reason}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        # In the middle of a file it is worth waiting for the network to come back.
        kind = _Cut if have else _Unavailable
        raise kind(f"no connection: {getattr(error, 'reason', error)}") from error
    start, total = 0, response.headers.get("Content-Length")
    if response.status == http.HTTPStatus.PARTIAL_CONTENT:
        sent = response.headers.get("Content-Range", "")
        if not (match := re.fullmatch(rf"bytes {have}-\d+/(\d+|\*)", sent)):
            response.close()
            raise _Unavailable(
                f"asked for bytes from {have:,}, the server sent {sent!r}"
            )
        start, total = have, match[1]
    etag = response.headers.get("ETag", "W/")
    weak = etag.startswith("W/")
    changes = response.headers.get("Last-Modified") if weak else etag
    size = int(total) if total and total.isdigit() else None
    return _Answer(response, start, size, changes)


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(f"the connection broke: {error}") from error
        if not chunk:
            return
        yield chunk


def _check(download: Download, answer: _Answer, first: bytes) -> None:
    """Refuse what cannot be the file before anything is written."""
    if answer.start == 0 and not _formats.packed(first):
        page = first.lstrip().startswith(b"<")
        raise _Unavailable(
            "the server answered with " + ("a web page" if page else "no archive")
        )
    if download.size and answer.total and answer.total != download.size:
        raise _Unavailable(
            f"the file has {answer.total:,} bytes, it should have {download.size:,}"
        )
    free = _files.free_space(folder())
    if answer.total and answer.total - answer.start > free:
        raise DataError(
            f"{download.url} needs {answer.total - answer.start:,} bytes in {folder()}, "
            f"where {free:,} are free. Free some space, or set {_files.CACHE_VARIABLE} to "
            "a directory on another disk."
        )


def _accept(download: Download, part: Path, total: int | None) -> Path:
    """Check the finished file and give it its name."""
    digest, size = _files.file_sha256(part), _size(part)
    expected = download.sha256 or record(download).get("sha256")
    target, note = folder() / download.filename, folder() / f"{download.filename}.json"
    if expected and digest != expected:
        _discard(part)
        raise DataError(
            f"{download.url} has the SHA-256 {digest}, expected was {expected}; the "
            "download was deleted. Try again. If it stays so, the file was changed: get "
            "it with a browser, look at it, and give its path."
        )
    if total is None and not expected:  # nothing says yet that it is all
        try:
            _formats.unpack(part)
        except DataError as error:
            _discard(part)
            raise _Unavailable(f"what came is no whole archive: {error}") from error
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with _files.writing():
        # In this order: killed in between, the next call finds a finished part.
        about = {"url": download.url, "size": size, "sha256": digest, "downloaded": now}
        _files.write_json(note, about)
        part.replace(target)
        _state(part).unlink(missing_ok=True)
    return target


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _state(part).unlink(missing_ok=True)


def _state(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
