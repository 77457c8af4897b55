"""Downloads from a server that breaks, and is killed in the middle."""

import dataclasses
import errno
import gzip
import os
import threading
import time

import pytest

import jaxbern as jb
from jaxbern.data import _download, _files
from jaxbern.data._published import SUSY, Download
from tests.data import data_child, data_files
from tests.data.download_cases import (
    CONTENT,
    PIECE,
    SHA256,
    X,
    Y,
    begun,
    fetched,
    ranges,
    susy,
)


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
    published = begun(server)
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
    with pytest.raises(
        jb.data.DataError, match=r"not a complete archive: .* ends too early"
    ):
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
