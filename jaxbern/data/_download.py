"""Download data sets: resume interrupted downloads, verify them, rename when complete.

Next to each file ``NAME`` there is ``NAME.json`` with its size and SHA-256, and with the
number of events once all of them have been read: from then on every download must have
that SHA-256. ``NAME.part`` is an unfinished download, and ``NAME.part.json`` has what is
needed to resume it.
"""

import datetime
import hashlib
import json
import time
import warnings
from pathlib import Path

from jaxbern.data import _files, _formats, _http
from jaxbern.data._errors import DataError
from jaxbern.data._optional import progress
from jaxbern.data._published import Download, Published
from jaxbern.io import flush

# All files are smaller than this; without an announced size a download stops here.
MOST = 10 << 30
# Retry without a pause after an attempt that brought this many bytes.
PROGRESS = 1 << 15
# Seconds before each retry after an attempt that brought less.
PAUSES = (1.0, 3.0, 10.0)


def folder() -> Path:
    """Return the folder of downloaded files."""
    return _files.cache_folder() / "downloads"


def record(download: Download) -> dict:
    """Return the record of a downloaded file; empty if there is none."""
    note = _note(download)
    known = _files.read_json(note)
    whole = known.pop("checksum", None) == _checksum(known)
    if note.exists() and not whole:
        warnings.warn(
            f"{note}, the record of an earlier download, is damaged: a download can no "
            "longer be compared with that one",
            stacklevel=2,
        )
    return known if whole else {}


def trusted(published: Published, download: Download) -> dict:
    """Return the record of a file whose events were all read; else an empty one."""
    known = record(download)
    return known if known.get("rows") == published.rows else {}


def settle(published: Published, file: Path, rows: int | None) -> None:
    """Trust a download if all its events were read, otherwise delete it.

    ``rows`` is the number of events read, None if reading failed. A file whose SHA-256 was
    known beforehand or is already trusted is kept in any case.
    """
    download = of(published, file)
    if download is None or trusted(published, download):
        return
    if rows == published.rows:
        with _files.writing():
            _write_record(download, {**record(download), "rows": rows})
    elif not download.sha256:
        file.unlink(missing_ok=True)
        _note(download).unlink(missing_ok=True)


def of(published: Published, file: Path) -> Download | None:
    """Return the address that a file was downloaded from; None if it was not."""
    for download in published.downloads:
        if file == folder() / download.filename:
            return download
    return None


def downloaded(published: Published) -> Path | None:
    """Return the downloaded file if it exists and its size has not changed."""
    for download in published.downloads:
        path = folder() / download.filename
        if path.exists() and path.stat().st_size == record(download).get("size"):
            return path
    return None


def fetch(published: Published) -> Path:
    """Download a data set unless it exists; one process at a time."""
    with _files.lock(f"downloading {published.name}"):
        if path := downloaded(published):
            return path
        refusals = []
        for download in published.downloads:
            try:
                return _fetch(published, download)
            except _http.Unavailable as error:
                refusals.append(f"{download.url}: {error}")
    name = published.name
    raise DataError(
        f"{name.upper()} could not be downloaded. {'; '.join(refusals)}. Run again to go "
        f"on, or download it with a browser from {published.page} and give its path, "
        f'jb.data.{name}("{name.upper()}.csv.gz"), or the directory in JAXBERN_DATA. '
        f'Without a network, jb.data.load("collider:{name}") simulates such events.'
    )


def _fetch(published: Published, download: Download) -> Path:
    with _files.writing():
        folder().mkdir(parents=True, exist_ok=True)
    part = folder() / f"{download.filename}.part"
    fruitless = 0
    while True:
        before = _size(part)
        try:
            total = _transfer(download, part)
        except _http.Cut as cut:
            fruitless = 0 if _size(part) >= before + PROGRESS else fruitless + 1
            if fruitless > len(PAUSES):
                raise _http.Unavailable(f"{cut} ({_size(part):,} bytes kept)") from cut
            time.sleep(PAUSES[fruitless - 1] if fruitless else 0)
        else:
            return _accept(published, download, part, total)


def _transfer(download: Download, part: Path) -> int | None:
    """Complete an unfinished file; return the size that the server announced."""
    state = _state(part)
    known = _files.read_json(state)
    # Resuming is safe if a change of the file on the server would be noticed.
    noticed = known.get("validator") or download.sha256
    have = _size(part) if noticed and known.get("url") == download.url else 0
    if have and have == known.get("total"):
        return have
    try:
        answer = _http.ask(download.url, have, known)
    except _http.Stale:
        _discard(part)
        raise
    limit = download.size or answer.total or MOST
    with answer.response:
        chunks = _http.chunks(answer.response)
        first = next(chunks, b"")
        _check(download, answer, first)
        announced = {"validator": answer.validator, "total": answer.total}
        done = answer.start
        with _files.writing(), part.open("ab" if answer.start else "wb") as out:
            _files.write_json(state, {"url": download.url, **announced})
            with progress(f"downloading {download.filename}", answer.total) as report:
                while first:
                    if done + len(first) > limit:
                        out.close()
                        _discard(part)
                        raise _http.Unavailable(
                            f"the server sent more than the {limit:,} bytes of the file"
                        )
                    out.write(first)
                    out.flush()  # if killed now, the download resumes from here
                    report(done := done + len(first))
                    first = next(chunks, b"")
            flush(out)
    if answer.total is not None and done < answer.total:
        raise _http.Cut(f"the connection broke at {done:,} of {answer.total:,} bytes")
    return answer.total


def _check(download: Download, answer: _http.Answer, first: bytes) -> None:
    """Raise, before anything is written, if the answer cannot be the file."""
    if answer.start == 0 and not _formats.packed(first):
        page = first.lstrip().startswith(b"<")
        raise _http.Unavailable(
            "the server answered with " + ("a web page" if page else "no archive")
        )
    if download.size and answer.total and answer.total != download.size:
        raise _http.Unavailable(
            f"the file has {answer.total:,} bytes, it should have {download.size:,}"
        )
    free = _files.free_space(folder())
    if answer.total and answer.total - answer.start > free:
        raise DataError(
            f"{download.url} needs {answer.total - answer.start:,} bytes in {folder()}, "
            f"where {free:,} are free. Free some space, or set {_files.CACHE_VARIABLE} to "
            "a directory on another disk."
        )


def _accept(
    published: Published, download: Download, part: Path, total: int | None
) -> Path:
    """Verify the finished file and rename it."""
    digest, size = _files.file_sha256(part), _size(part)
    earlier = trusted(published, download)
    expected = download.sha256 or earlier.get("sha256")
    target = folder() / download.filename
    if expected and digest != expected:
        _discard(part)
        raise DataError(
            f"{download.url} has the SHA-256 {digest}, expected {expected}; the "
            "download was deleted. Try again. If it stays so, the file was changed: get "
            "it with a browser, look at it, and give its path."
        )
    if total is None and not expected:  # no size or hash shows that it is complete
        try:
            _formats.unpack(part)
        except DataError as error:
            _discard(part)
            raise _http.Unavailable(
                f"the download is not a complete archive: {error}"
            ) from error
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with _files.writing():
        # In this order: if killed in between, the next call finds a finished part.
        about = {"url": download.url, "size": size, "sha256": digest, "downloaded": now}
        _write_record(download, {**earlier, **about})
        part.replace(target)
        _state(part).unlink(missing_ok=True)
    return target


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _state(part).unlink(missing_ok=True)


def _write_record(download: Download, about: dict) -> None:
    _files.write_json(_note(download), {**about, "checksum": _checksum(about)})


def _checksum(about: dict) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _note(download: Download) -> Path:
    return folder() / f"{download.filename}.json"


def _state(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
