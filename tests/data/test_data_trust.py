"""A download is trusted once all of it was read, and only while it stays the same."""

import errno
import gzip
import os

import numpy as np
import pytest

import jaxbern as jb
from jaxbern.data import _converted, _download
from jaxbern.data._published import SETS
from tests.data import data_files
from tests.data.download_cases import CONTENT, SHA256, X, Y, fetched, susy


def test_wrong_size(server):
    published = susy(server, size=len(CONTENT) + 1, sha256=SHA256)
    with pytest.raises(
        jb.data.DataError, match=f"{len(CONTENT):,} bytes, it should have"
    ):
        _download.fetch(published)
    assert fetched(susy(server, size=len(CONTENT))) == CONTENT


def test_wrong_checksum(server):
    with pytest.raises(jb.data.DataError, match=f"SHA-256 {SHA256}, expected 1234"):
        _download.fetch(susy(server, sha256="1234"))
    assert fetched(susy(server)) == CONTENT


def test_second_download_must_be_what_the_first_was(server, monkeypatch):
    monkeypatch.setitem(SETS, "susy", susy(server))
    jb.data.load("susy")
    (_download.folder() / "SUSY.csv.gz").unlink()
    server.content = gzip.compress(data_files.text(X + 1, Y), 1)
    with pytest.raises(jb.data.DataError, match=f"expected {SHA256}"):
        _download.fetch(susy(server))
    server.content = CONTENT
    assert fetched(susy(server)) == CONTENT


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
