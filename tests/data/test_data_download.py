"""Downloads from a server that breaks, lies, and is killed in the middle."""

import dataclasses
import errno
import gzip
import hashlib
import io
import os
import socket
import threading
import time
import urllib.request

import numpy as np
import pytest

import jaxbern as jb
from jaxbern.data import _converted, _download, _files, _http
from jaxbern.data._published import SETS, SUSY, Download
from tests.data import data_child, data_files, data_server

X, Y = data_files.events(SUSY, rows=2000)
CONTENT = gzip.compress(data_files.text(X, Y), 1)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PIECE = 40_000


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server with the file, and no waiting between attempts."""
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path))
    monkeypatch.delenv("JAXBERN_DATA", raising=False)
    monkeypatch.setattr(_download, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(_http, "CHUNK", 10_000)
    with data_server.running() as server:
        server.content = CONTENT
        yield server


def susy(server, **known):
    """SUSY as that server publishes it."""
    download = Download(server.url, **known)
    return dataclasses.replace(SUSY, downloads=(download,), rows=len(Y))


def fetched(published) -> bytes:
    path = _download.fetch(published)
    left = sorted(file.name for file in path.parent.iterdir())
    assert left == ["SUSY.csv.gz", "SUSY.csv.gz.json"]
    return path.read_bytes()


def ranges(server) -> list[str | None]:
    return [asked.get("Range") for asked in server.asked]


def test_download_is_recorded_and_not_repeated(server):
    assert fetched(susy(server)) == CONTENT
    record = _download.record(susy(server).downloads[0])
    assert (record["size"], record["sha256"]) == (len(CONTENT), SHA256)
    assert fetched(susy(server)) == CONTENT
    assert len(server.asked) == 1


def test_cut_connections_are_resumed(server):
    server.cut = [PIECE, PIECE, PIECE]
    assert fetched(susy(server)) == CONTENT
    wanted = [None, f"bytes={PIECE}-", f"bytes={2 * PIECE}-", f"bytes={3 * PIECE}-"]
    assert ranges(server) == wanted
    assert [asked.get("If-Range") for asked in server.asked] == [None, *['"1"'] * 3]


def test_a_later_call_goes_on(server):
    server.cut = [PIECE, 0, 0, 0]
    with pytest.raises(
        jb.data.DataError, match=r"40,000 bytes kept.*Run again to go on"
    ):
        _download.fetch(susy(server))
    server.asked.clear()
    assert fetched(susy(server)) == CONTENT
    assert ranges(server) == [f"bytes={PIECE}-"]


def test_server_without_resumption(server):
    server.ranges, server.cut = False, [PIECE]
    assert fetched(susy(server)) == CONTENT


def test_file_that_changes_between_two_attempts_is_started_anew(server):
    server.cut = [PIECE]
    published = susy(server)
    part = _download.folder() / "SUSY.csv.gz.part"
    _download.folder().mkdir(parents=True)
    with pytest.raises(_http.Cut):
        _download._transfer(published.downloads[0], part)
    other = gzip.compress(data_files.text(X + 1, Y), 1)
    server.content, server.etag = other, '"2"'
    assert fetched(published) == other


def test_without_a_sign_of_change_nothing_is_resumed(server):
    server.etag, server.cut = None, [PIECE]
    assert fetched(susy(server)) == CONTENT
    assert ranges(server) == [None, None]


def test_with_a_known_checksum_it_is_resumed_all_the_same(server):
    server.etag, server.cut = None, [PIECE]
    assert fetched(susy(server, sha256=SHA256)) == CONTENT
    assert ranges(server) == [None, f"bytes={PIECE}-"]


def test_size_that_nobody_announced(server):
    server.lengths = False
    assert fetched(susy(server)) == CONTENT


def test_unannounced_size_and_a_cut_are_noticed(server):
    server.lengths, server.cut = False, [PIECE]
    with pytest.raises(jb.data.DataError, match=r"no whole archive: .* ends too early"):
        _download.fetch(susy(server))
    assert fetched(susy(server)) == CONTENT


def test_busy_server_is_asked_again(server):
    server.statuses = [503, 429]
    assert fetched(susy(server)) == CONTENT


@pytest.mark.parametrize(
    "change, message",
    [
        ({"statuses": [404]}, "answered 404 Not Found"),
        ({"statuses": [503] * 9}, "answered 503 Service Unavailable"),
        ({"content": b"<html><body>Log in</body></html>"}, "answered with a web page"),
        ({"content": b"1,2,3"}, "answered with no archive"),
        ({"content": b""}, "answered with no archive"),
    ],
)
def test_what_is_no_file_is_refused(server, change, message):
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(jb.data.DataError, match=message) as caught:
        _download.fetch(susy(server))
    assert "download it with a browser from https://" in str(caught.value)
    assert 'jb.data.load("collider:susy")' in str(caught.value)
    assert "\n" not in str(caught.value)
    server.statuses, server.content = [], CONTENT
    assert fetched(susy(server)) == CONTENT


def test_nobody_there(server):
    download = Download("http://127.0.0.1:9/SUSY.csv.gz")  # where nothing listens
    with pytest.raises(jb.data.DataError, match=r"no connection: .*refused"):
        _download.fetch(dataclasses.replace(SUSY, downloads=(download,)))


def test_second_address_is_tried(server):
    server.paths = {"/old/SUSY.csv.gz": 404}
    base = server.url.rsplit("/", 1)[0]
    addresses = (Download(f"{base}/old/SUSY.csv.gz"), Download(server.url))
    published = dataclasses.replace(SUSY, downloads=addresses)
    assert fetched(published) == CONTENT


def test_wrong_size(server):
    published = susy(server, size=len(CONTENT) + 1, sha256=SHA256)
    with pytest.raises(
        jb.data.DataError, match=f"{len(CONTENT):,} bytes, it should have"
    ):
        _download.fetch(published)
    assert fetched(susy(server, size=len(CONTENT))) == CONTENT


def test_wrong_checksum(server):
    with pytest.raises(jb.data.DataError, match=f"SHA-256 {SHA256}, expected was 1234"):
        _download.fetch(susy(server, sha256="1234"))
    assert fetched(susy(server)) == CONTENT


def test_second_download_must_be_what_the_first_was(server, monkeypatch):
    monkeypatch.setitem(SETS, "susy", susy(server))
    jb.data.load("susy")
    (_download.folder() / "SUSY.csv.gz").unlink()
    server.content = gzip.compress(data_files.text(X + 1, Y), 1)
    with pytest.raises(jb.data.DataError, match=f"expected was {SHA256}"):
        _download.fetch(susy(server))
    server.content = CONTENT
    assert fetched(susy(server)) == CONTENT


def test_too_large_for_the_disk(server, monkeypatch):
    monkeypatch.setattr(_files, "free_space", lambda folder: 1000)
    message = f"needs {len(CONTENT):,} bytes in .* where 1,000 are free.*JAXBERN_CACHE"
    with pytest.raises(jb.data.DataError, match=message):
        _download.fetch(susy(server))


def test_disk_that_fills_up_on_the_way(server, monkeypatch):
    """What was written stays, and the next call goes on from there."""
    flush = _download.flush

    def full(file):
        if file.name.endswith(".part"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(file)

    with monkeypatch.context() as patch:
        patch.setattr(_download, "flush", full)
        server.cut = [PIECE]
        with pytest.raises(jb.data.DataError, match="no space left in"):
            _download.fetch(susy(server))
    assert fetched(susy(server)) == CONTENT
    assert ranges(server) == [None, f"bytes={PIECE}-"]


def test_downloaded_once_converted_once(server, monkeypatch):
    """From the address to the arrays, and without the download once it is deleted."""
    monkeypatch.setitem(SETS, "susy", susy(server))
    data = jb.data.load("susy")
    np.testing.assert_array_equal(data.x, X)
    assert jb.data.load("susy").fingerprint == data.fingerprint
    (_download.folder() / "SUSY.csv.gz").unlink()
    assert jb.data.load("susy", download=False).fingerprint == data.fingerprint
    assert len(server.asked) == 1


def test_changed_download_is_refused(server, monkeypatch):
    monkeypatch.setitem(SETS, "susy", susy(server))
    jb.data.load("susy")
    path = _download.folder() / "SUSY.csv.gz"
    content = bytearray(CONTENT)
    content[5000] ^= 1
    path.write_bytes(content)
    with pytest.raises(jb.data.DataError, match="has changed since it was downloaded"):
        jb.data.load("susy")
    path.unlink()
    np.testing.assert_array_equal(jb.data.load("susy").x, X)


def short(rows=300) -> bytes:
    return gzip.compress(data_files.text(X[:rows], Y[:rows]), 1)


@pytest.mark.parametrize(
    "content, message",
    [
        (CONTENT[: len(CONTENT) // 2], "not all could be read: .* ends too early"),
        (short(), "300 events could be read, SUSY has 2,000"),
        (gzip.compress(b"1.0,2.0\n" * 2000), "not all could be read: .* has 2 fields"),
        (gzip.compress(CONTENT[:3000]), "not all could be read"),
    ],
    ids=["cut, with a length that agrees", "too few rows", "other columns", "nested"],
)
def test_a_bad_first_download_is_not_trusted(server, monkeypatch, content, message):
    """It is deleted, and a good one is taken the next time."""
    monkeypatch.setitem(SETS, "susy", susy(server))
    server.content = content
    for _ in range(2):
        with pytest.raises(jb.data.DataError, match=message) as caught:
            jb.data.load("susy")
        assert "It was deleted; run again to download it again." in str(caught.value)
        assert not list(_download.folder().iterdir())
    server.content = CONTENT
    np.testing.assert_array_equal(jb.data.load("susy").x, X)
    assert _download.trusted(SETS["susy"], SETS["susy"].downloads[0])["rows"] == len(Y)


def test_a_full_disk_deletes_no_download(server, monkeypatch):
    monkeypatch.setitem(SETS, "susy", susy(server))

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(_converted.Fingerprint, "update", full)
        with pytest.raises(jb.data.DataError, match="no space left"):
            jb.data.load("susy")
    np.testing.assert_array_equal(jb.data.load("susy").x, X)
    assert len(server.asked) == 1


@pytest.mark.parametrize("damage", ["cut", "rows", "sha256", "empty"])
def test_a_damaged_record_is_said(server, monkeypatch, damage):
    monkeypatch.setitem(SETS, "susy", susy(server))
    jb.data.load("susy")
    (_download.folder() / "SUSY.csv.gz").unlink()
    note = _download.folder() / "SUSY.csv.gz.json"
    text = note.read_text()
    digit = text.index('"sha256": "') + 12
    changes = {
        "cut": text[:-20],
        "rows": text.replace('"rows": 2000', '"rows": 2001'),
        "sha256": text[:digit]
        + ("1" if text[digit] != "1" else "2")
        + text[digit + 1 :],
        "empty": "",
    }
    assert changes[damage] != text
    note.write_text(changes[damage])
    with pytest.warns(UserWarning, match=r"record of an earlier download, is damaged"):
        jb.data.load("susy")


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
    server.cut = [PIECE]
    published = susy(server)
    part = _download.folder() / "SUSY.csv.gz.part"
    _download.folder().mkdir(parents=True)
    with pytest.raises(_http.Cut):
        _download._transfer(published.downloads[0], part)
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


def test_killed_in_the_middle(server, tmp_path):
    """What had arrived is kept; whoever waited goes on at once, from there."""
    server.cut, server.hold = [PIECE], threading.Event()
    code = (
        "import dataclasses; from jaxbern.data import _download, _http, _published as p\n"
        "_http.CHUNK = 10_000\n"
        "there = (p.Download(sys.argv[1]),)\n"
        "_download.fetch(dataclasses.replace(p.SUSY, downloads=there))"
    )
    child = data_child.start(code, server.url)
    part = _download.folder() / "SUSY.csv.gz.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size == PIECE):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    result = []
    waiting = threading.Thread(target=lambda: result.append(fetched(susy(server))))
    waiting.start()
    child.kill()
    child.communicate()
    server.hold.set()
    waiting.join()
    assert result == [CONTENT]
    assert ranges(server) == [None, f"bytes={PIECE}-"]
