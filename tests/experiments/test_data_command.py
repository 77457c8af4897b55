"""``python -m experiments data``: its tables, its errors and its benchmark."""

import gzip
import json
import os

import pytest

from experiments.bench import bench_data
from experiments.data import data_command, uci_text
from jaxbern.data import _converted
from jaxbern.data._published import HIGGS
from tests.data import data_files


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A directory with HIGGS in it, and an empty cache."""
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("JAXBERN_DATA", str(tmp_path / "data"))
    data_files.write_gzip(tmp_path / "data" / "HIGGS.csv.gz", *data_files.events(HIGGS))
    return tmp_path / "data"


def test_info_before_and_after_conversion(folder, capsys):
    assert data_command.main(["info"]) == 0
    before = capsys.readouterr().out
    assert f"no         {folder / 'HIGGS.csv.gz'}" in before
    assert "python -m experiments data fetch susy" in before
    assert data_command.main(["convert", "higgs"]) == 0
    assert "200 events x 28 features" in capsys.readouterr().out
    assert data_command.main(["info", "--check"]) == 0
    after = capsys.readouterr().out
    assert f"yes        {folder / 'HIGGS.csv.gz'}" in after
    assert "1 converted" in after
    assert after.rstrip().endswith("checked")


def test_check_finds_a_flipped_bit(capsys):
    data_command.main(["convert", "higgs"])
    (copy,) = _converted.folder().iterdir()
    with (copy / "x.npy").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    assert data_command.main(["info", "--check"]) == 1
    assert "DAMAGED" in capsys.readouterr().out


def test_problems_are_told_without_a_traceback(folder, capsys):
    (folder / "HIGGS.csv.gz").write_bytes(b"")
    assert data_command.main(["convert", "higgs"]) == 1
    assert "is empty (0 bytes)" in capsys.readouterr().err
    assert data_command.main(["convert", "susy"]) == 1
    assert "SUSY is not here" in capsys.readouterr().err


def test_benchmark(monkeypatch, tmp_path, capsys):
    """The table, with readers called here instead of in new processes."""
    monkeypatch.setattr(
        bench_data, "measure", lambda *args: bench_data.Run(0.5, 0.4, 120, 100)
    )
    bench_data.tables(tmp_path, rows=40, repeats=1)
    printed = capsys.readouterr().out
    assert "40 rows (40 distinct)" in printed
    assert "jb.data.load" in printed
    assert "opening the converted rows: 500.0 ms" in printed


def test_benchmark_child(tmp_path, capsys):
    uci_text.write_repeated(tmp_path / "h.csv.gz", uci_text.lines(20), times=3)
    bench_data.child("jb.data.load", str(tmp_path / "h.csv.gz"))
    run = bench_data.Run(*json.loads(capsys.readouterr().out))
    assert run.seconds > 0
    assert 0 < run.before <= run.peak


def test_repeated_text_is_one_valid_gzip(tmp_path):
    lines = uci_text.lines(20)
    uci_text.write_repeated(tmp_path / "h.csv.gz", lines, times=3)
    assert gzip.decompress((tmp_path / "h.csv.gz").read_bytes()) == lines * 3
    assert len(lines.splitlines()[0].split(b",")) == 29
    assert lines.startswith(
        (b"0.000000000000000000e+00,", b"1.000000000000000000e+00,")
    )
