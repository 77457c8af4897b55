"""A small SUSY data set that a test server publishes."""

import dataclasses
import gzip
import hashlib

import pytest

from jaxbern.data import _download, _http
from jaxbern.data._published import SUSY, Download
from tests.data import data_files

X, Y = data_files.events(SUSY, rows=2000)
CONTENT = gzip.compress(data_files.text(X, Y), 1)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PIECE = 40_000


def susy(server, **known):
    """Return SUSY as the server publishes it."""
    download = Download(server.url, **known)
    return dataclasses.replace(SUSY, downloads=(download,), rows=len(Y))


def begun(server):
    """Return SUSY after a download that broke off in the middle."""
    server.cut = [PIECE]
    published = susy(server)
    part = _download.folder() / "SUSY.csv.gz.part"
    _download.folder().mkdir(parents=True)
    with pytest.raises(_http.Cut):
        _download._transfer(published.downloads[0], part)
    return published


def fetched(published) -> bytes:
    path = _download.fetch(published)
    left = sorted(file.name for file in path.parent.iterdir())
    assert left == ["SUSY.csv.gz", "SUSY.csv.gz.json"]
    return path.read_bytes()


def ranges(server) -> list[str | None]:
    return [asked.get("Range") for asked in server.asked]
