"""Bad files, damaged caches, full disks: told in words, and nothing is lost."""

import errno
import gzip
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import jaxbern as jb
from experiments.data import uci_text
from jaxbern.data import _converted, _files, fingerprint
from tests.faults import data_faults

EXPECTED = {
    "a field too few": r"row 217 of .* has 28 fields, not the 29 of HIGGS.*: '[01]\.0",
    "a field too many": r"row 217 of .* has 30 fields.* \.\.\. .*,1\.0'",
    "another number of columns": "row 1 of .* has 3 fields; HIGGS has 29 .* SUSY has 19",
    "text in a number": "row 217 of .* has '12a4' for lepton_phi, which is not a number",
    "an empty field": "row 217 of .* has '' for lepton_phi",
    "a header": "row 1 of .* If this is a header, remove it",
    "a label of 2": r"row 217 of .* has the label '2\.0', which must be 0 or 1",
    "NaN": "row 217 of .* has 'nan' for missing_energy_phi, which is not a finite",
    "infinity": "row 217 of .* has '-inf' for missing_energy_phi",
    "more than a float32": "row 217 of .* has '1e39' for missing_energy_phi",
    "an empty file": r"is empty \(0 bytes\)\. Delete it and download it again",
    "gzip of nothing": "holds no data",
    "truncated gzip": "ends too early: .* Delete it and download it again",
    "damaged gzip": "is a damaged archive: CRC check failed",
    "web page saved as gzip": "is a web page, not data: it begins with '<!DOCTYPE html>'",
    "web page, compressed": "is a web page, not data",
    "truncated zip": "is a damaged archive",
    "zip without a table": r"it holds: readme\.txt",
    "array of one dimension": r"it holds float64 \[29\]",
    "parquet, other order": "column 2 of .* is 'm_wwbb', but HIGGS has 'lepton_pT' there",
}


@pytest.fixture(scope="module")
def converted(tmp_path_factory) -> Path:
    """A directory with an intact file and a cache where it is converted."""
    folder = tmp_path_factory.mktemp("converted")
    (folder / "good.csv.gz").write_bytes(gzip.compress(uci_text.lines(50, seed=1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXBERN_CACHE", str(folder / "cache"))
        jb.data.load(folder / "good.csv.gz")
    return folder


@pytest.fixture
def good(converted, tmp_path, monkeypatch) -> Path:
    """The intact file, in a directory and with a cache of its own."""
    shutil.copytree(converted, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "good.csv.gz"


def test_every_bad_file_has_an_expectation():
    assert EXPECTED.keys() == data_faults.BAD_FILES.keys()


@pytest.mark.parametrize("what", EXPECTED)
def test_bad_file_is_explained_and_the_cache_survives(what, good, tmp_path):
    expected = jb.data.load(good).fingerprint
    bad = data_faults.BAD_FILES[what](tmp_path)
    for _ in range(2):  # nothing is remembered that should not be
        with pytest.raises(jb.data.DataError, match=EXPECTED[what]) as caught:
            jb.data.load(bad)
    assert "\n" not in str(caught.value)
    assert data_faults.survived(good, expected)


def damage(copy: Path, how: str) -> None:
    if how == "x cut":
        os.truncate(copy / "x.npy", 1000)
    elif how == "x one byte short":
        os.truncate(copy / "x.npy", (copy / "x.npy").stat().st_size - 1)
    elif how == "y missing":
        (copy / "y.npy").unlink()
    elif how == "y empty":
        os.truncate(copy / "y.npy", 0)
    elif how == "manifest cut":
        os.truncate(copy / "manifest.json", 40)
    elif how == "manifest of more rows":
        manifest = _files.read_json(copy / "manifest.json")
        _files.write_json(copy / "manifest.json", {**manifest, "rows": 51})
    elif how.endswith("bit"):
        file = copy / f"{how[0]}.npy"
        content = bytearray(file.read_bytes())
        content[-7] ^= 1
        file.write_bytes(content)
    elif how == "another fingerprint":
        manifest = _files.read_json(copy / "manifest.json")
        manifest["fingerprint"] = "0" * 16
        _files.write_json(copy / "manifest.json", manifest)
    else:
        shutil.rmtree(copy)
        copy.mkdir()


@pytest.mark.parametrize(
    "how",
    ["x cut", "x one byte short", "y missing", "y empty", "manifest cut",
     "manifest of more rows", "nothing but a name", "x another bit", "y another bit",
     "another fingerprint"],
)  # fmt: skip
def test_half_written_copy_is_noticed_and_made_again(how, good):
    expected = jb.data.load(good).fingerprint
    (copy,) = _converted.folder().iterdir()
    damage(copy, how)
    with pytest.warns(
        UserWarning, match="is incomplete or damaged: .* is converted again"
    ):
        again = jb.data.load(good)
    assert fingerprint(again) == expected
    assert data_faults.survived(good, expected)


def test_a_copy_is_compared_once_for_each_state_of_its_files(good, monkeypatch):
    compared = []
    update = _converted.Fingerprint.update

    def counted(self, x, y):
        compared.append(len(y))
        update(self, x, y)

    jb.data.load(good)
    (copy,) = _converted.folder().iterdir()
    os.utime(copy / "x.npy", ns=(0, time.time_ns() - 10**9))
    monkeypatch.setattr(_converted.Fingerprint, "update", counted)
    jb.data.load(good)
    assert compared == [50]
    jb.data.load(good)
    assert compared == [50]
    os.utime(copy / "x.npy", ns=(0, time.time_ns()))  # may be written to in this moment
    jb.data.load(good)
    jb.data.load(good)
    assert compared == [50] * 3


def test_damaged_record_of_a_source_is_made_again(good):
    expected = jb.data.load(good).fingerprint
    for record in (_files.cache_folder() / "sources").iterdir():
        record.write_bytes(b"[1, 2")
    assert jb.data.load(good).fingerprint == expected


def test_no_space_left(good, tmp_path):
    """With a limit of the operating system."""
    expected = jb.data.load(good).fingerprint
    other = tmp_path / "other.csv.gz"
    other.write_bytes(gzip.compress(uci_text.lines(200, seed=2), 1))
    message = data_faults.no_space(other)
    assert message.startswith("no space left in ")
    assert "set JAXBERN_CACHE to a directory on another disk" in message
    assert data_faults.survived(good, expected)
    assert len(jb.data.load(other)) == 200  # with space again


@pytest.mark.parametrize("moment", ["rows", "manifest", "disk"])
def test_no_space_left_at_any_moment(moment, good, tmp_path, monkeypatch):
    expected = jb.data.load(good).fingerprint
    other = tmp_path / "other.csv.gz"
    other.write_bytes(gzip.compress(uci_text.lines(20, seed=2)))
    _files.sha256(other)

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if moment == "rows":
            patch.setattr(_converted.Fingerprint, "update", full)
        elif moment == "manifest":
            patch.setattr(_files, "write_json", full)
        else:
            patch.setattr(os, "fsync", full)
        with pytest.raises(jb.data.DataError, match="no space left"):
            jb.data.load(other)
    assert data_faults.survived(good, expected)
    assert len(jb.data.load(other)) == 20


def test_cache_that_cannot_be_written_to(good, tmp_path, monkeypatch):
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where the cache should be")
    monkeypatch.setenv("JAXBERN_CACHE", str(occupied))
    with pytest.raises(
        jb.data.DataError, match=r"cannot write to .* set JAXBERN_CACHE"
    ):
        jb.data.load(good)


def test_other_numbers_of_a_parquet_file_are_refused(good, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "h.parquet"
    columns = {str(i): np.zeros(3) for i in range(29)}
    pq.write_table(pa.table({**columns, "7": ["a", "b", "c"]}), path)
    with pytest.raises(jb.data.DataError, match=r"column '7' of .* is string"):
        jb.data.load(path)
    pq.write_table(pa.table({**columns, "7": [0.0, None, 2.0]}), path)
    with pytest.raises(jb.data.DataError, match=r"row 2 of .* has 'nan' for jet_1_eta"):
        jb.data.load(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(jb.data.DataError, match="damaged Parquet file"):
        jb.data.load(path)


def test_other_numbers_of_a_npy_file_are_refused(good, tmp_path):
    path = tmp_path / "h.npy"
    numbers = np.zeros((5, 29))
    numbers[3, 2] = 1e39
    np.save(path, numbers)
    with pytest.raises(
        jb.data.DataError, match=r"row 4 of .* has '1e\+39' for lepton_eta"
    ):
        jb.data.load(path)
    numbers[3, 2], numbers[1, 0] = 0, 0.5
    np.save(path, numbers)
    with pytest.raises(jb.data.DataError, match=r"row 2 of .* has the label '0\.5'"):
        jb.data.load(path)
    os.truncate(path, 600)
    with pytest.raises(jb.data.DataError, match=r"damaged \.npy file"):
        jb.data.load(path)
