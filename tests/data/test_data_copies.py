"""Converted copies: mapped the second time, made again when the file has changed."""

import os
import time

import numpy as np
import pytest

import jaxbern as jb
from jaxbern.data import _converted, _files
from jaxbern.data._published import HIGGS
from tests.data import data_files

pytestmark = pytest.mark.usefixtures("cache")


def test_second_time_is_a_read_only_map_without_reading_the_file(tmp_path, monkeypatch):
    x, y = data_files.events(HIGGS)
    path = tmp_path / "HIGGS.csv.gz"
    data_files.write_gzip(path, x, y)
    os.utime(path, ns=(0, time.time_ns() - 10**9))  # nobody is writing to it now
    first = jb.data.load(path)
    monkeypatch.setattr(_files, "file_sha256", None)  # would be called to read it
    monkeypatch.setattr(_converted, "reader", None)
    second = jb.data.load(path)
    assert isinstance(second.x, np.memmap)
    assert not second.x.flags.writeable
    assert second.fingerprint == first.fingerprint


def test_the_same_contents_elsewhere_are_not_converted_again(tmp_path, monkeypatch):
    x, y = data_files.events(HIGGS)
    data_files.write_csv(tmp_path / "a.csv", x, y)
    data_files.write_csv(tmp_path / "b.csv", x, y)
    first = jb.data.load(tmp_path / "a.csv")
    monkeypatch.setattr(_converted, "reader", None)
    assert jb.data.load(tmp_path / "b.csv").fingerprint == first.fingerprint


def test_a_changed_file_is_converted_again(tmp_path):
    path = tmp_path / "HIGGS.csv"
    x, y = data_files.events(HIGGS)
    data_files.write_csv(path, x, y)
    jb.data.load(path)
    x[3, 3] += 1
    data_files.write_csv(path, x, y)
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 1000))
    with pytest.warns(
        UserWarning, match=r"HIGGS\.csv has changed since it was last read"
    ):
        data = jb.data.load(path)
    np.testing.assert_array_equal(data.x, x)
    jb.data.load(path)  # said once


def test_a_file_that_changes_right_after_it_was_read(tmp_path):
    """The time of change is the same, and so is the size."""
    path = tmp_path / "HIGGS.csv"
    x, y = data_files.events(HIGGS)
    data_files.write_csv(path, x, y)
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    jb.data.load(path)
    size = path.stat().st_size
    x[:2] = x[1::-1].copy()  # two rows change places
    y[:2] = y[1::-1].copy()
    data_files.write_csv(path, x, y)
    assert path.stat().st_size == size
    os.utime(path, ns=(now, now))
    with pytest.warns(UserWarning, match="has changed since it was last read"):
        data = jb.data.load(path)
    np.testing.assert_array_equal(data.x, x)


def test_the_source_is_never_written_to(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    data_files.write_csv(folder / "HIGGS.csv", *data_files.events(HIGGS))
    folder.chmod(0o555)
    before = folder.stat().st_mtime_ns
    jb.data.higgs(folder)
    assert [file.name for file in folder.iterdir()] == ["HIGGS.csv"]
    assert folder.stat().st_mtime_ns == before
    folder.chmod(0o755)


def test_manifest_says_where_it_comes_from(tmp_path, cache):
    path = tmp_path / "HIGGS.csv"
    x, y = data_files.events(HIGGS)
    data_files.write_csv(path, x, y)
    jb.data.load(path)
    (copy,) = (cache / "converted").iterdir()
    manifest = _files.read_json(copy / "manifest.json")
    assert manifest["rows"] == len(y)
    assert manifest["signal"] == int(y.sum())
    assert manifest["columns"] == list(HIGGS.columns)
    assert manifest["source"]["size"] == path.stat().st_size
    assert len(manifest["source"]["sha256"]) == 64
    assert manifest["versions"]["numpy"] == np.__version__
    # Plain NumPy files, for whoever has nothing else.
    np.testing.assert_array_equal(np.load(copy / "x.npy"), x)
    np.testing.assert_array_equal(np.load(copy / "y.npy"), y)
