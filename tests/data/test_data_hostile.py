"""Servers that lie: sizes, redirects, parts of other files, and never an end."""

import dataclasses
import io
import socket
import urllib.request

import pytest

import jaxbern as jb
from jaxbern.data import _download, _http
from jaxbern.data._published import SUSY, Download
from tests.data.download_cases import (
    CONTENT,
    PIECE,
    begun,
    fetched,
    ranges,
    susy,
)


def test_more_than_the_size_is_not_kept(server, monkeypatch):
    server.lengths = False
    with pytest.raises(jb.data.DataError, match=r"more than the 100,000 bytes"):
        _download.fetch(susy(server, size=100_000))
    assert not list(_download.folder().iterdir())
    monkeypatch.setattr(_download, "MOST", 120_000)  # of a size nobody knows
    with pytest.raises(jb.data.DataError, match=r"more than the 120,000 bytes"):
        _download.fetch(susy(server))
    assert not list(_download.folder().iterdir())


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/SUSY.csv.gz", "file:///etc/hosts"])
def test_redirects_to_other_schemes(server, target):
    server.redirect = target
    with pytest.raises(jb.data.DataError, match=r"not as safe|answered 302"):
        _download.fetch(susy(server))


def test_redirects_from_https_to_http():
    """Anybody on the way could change the file. (The server here has no certificate.)"""
    handler, request = (
        _http._Redirects(),
        urllib.request.Request("https://a/SUSY.csv.gz"),
    )
    for target in ("http://a/SUSY.csv.gz", "HTTP://b/c", "ftp://a/b"):
        with pytest.raises(_http.Unavailable, match="not as safe as https://a"):
            handler.redirect_request(request, io.BytesIO(), 302, "Found", {}, target)
    followed = handler.redirect_request(
        request, io.BytesIO(), 302, "Found", {}, "https://b/c"
    )
    assert followed.full_url == "https://b/c"


def test_a_server_that_drips_is_given_up(server, monkeypatch):
    monkeypatch.setattr(_http, "WINDOW", 0.2)
    server.drip = 100, 0.01
    with pytest.raises(jb.data.DataError, match="sends too slowly"):
        _download.fetch(susy(server))
    server.drip = None
    assert fetched(susy(server)) == CONTENT
    assert ranges(server)[-1] is not None  # from where it had come


def test_headers_that_never_come(server, monkeypatch):
    monkeypatch.setattr(_http, "TIMEOUT", 0.2)
    with socket.create_server(
        ("127.0.0.1", 0)
    ) as silent:  # takes the call, says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/SUSY.csv.gz"
        published = dataclasses.replace(SUSY, downloads=(Download(url),))
        with pytest.raises(jb.data.DataError, match=r"no connection: .*timed out"):
            _download.fetch(published)


@pytest.mark.parametrize(
    "header",
    [
        {"Content-Range": f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"},
        {"Content-Range": f"bytes {PIECE}-{len(CONTENT)}/{len(CONTENT)}"},
        {"Content-Range": f"bytes {PIECE}-{len(CONTENT) - 1}/{len(CONTENT) + 5}"},
        {"Content-Range": "lines 1-2/3"},
        {"ETag": '"2"'},
    ],
    ids=["start", "beyond the end", "another size", "no bytes", "another file"],
)
def test_a_part_of_another_file_is_not_taken(server, header):
    """What had come is not a beginning of it: it is thrown away, and all asked for."""
    published = begun(server)
    server.headers = header
    assert fetched(published) == CONTENT
    assert ranges(server) == [None, f"bytes={PIECE}-", None]


def test_more_than_the_server_has(server):
    """A file that became shorter, and a server that never says so but by an error."""
    server.cut, server.statuses = [PIECE], []
    published = susy(server)
    part = _download.folder() / "SUSY.csv.gz.part"
    _download.folder().mkdir(parents=True)
    with pytest.raises(_http.Cut):
        _download._transfer(published.downloads[0], part)
    server.statuses = [416]
    assert fetched(published) == CONTENT


def test_encodings(server):
    server.headers = {"Content-Encoding": "x-gzip"}  # as servers say of stored archives
    assert fetched(susy(server)) == CONTENT
    (_download.folder() / "SUSY.csv.gz").unlink()
    server.headers = {"Content-Encoding": "br"}
    with pytest.raises(jb.data.DataError, match="in the encoding 'br'"):
        _download.fetch(susy(server))
