"""A store as one file: the same cells come out, and a damaged file is refused."""

import lzma

import numpy as np
import pytest

from experiments.report import report_command
from experiments.sweep import cell_archive, cell_store, sweep_command
from tests.experiments.sweep_cases import CELLS, made_up


@pytest.fixture
def packed(tmp_path):
    """A store of two cells, and its file."""
    for cell in CELLS[:2]:
        cell_store.write(tmp_path / "store", made_up(cell, source="x"))
    file = tmp_path / "folder" / "results.jsonl.xz"
    assert sweep_command.main(["pack", str(tmp_path / "store"), str(file)]) == 0
    return file


def texts(root):
    """Every file of the cells by name, as it is on the disk."""
    cells = root / "cells"
    return {str(p.relative_to(cells)): p.read_bytes() for p in cells.rglob("*.json*")}


def test_unpacked_cells_are_the_packed_ones(packed, tmp_path, capsys):
    assert sweep_command.main(["unpack", str(tmp_path / "new"), str(packed)]) == 0
    assert "added 2 cells" in capsys.readouterr().out
    assert texts(tmp_path / "new") == texts(tmp_path / "store")
    assert len(cell_store.read(tmp_path / "new", thorough=True).results) == 2


def test_values_that_are_not_finite_survive(tmp_path):
    result = made_up(source="x")
    result.history[1]["saturation"][:] = [np.nan, np.inf, -np.inf]
    cell_archive.write(tmp_path / "one.jsonl.xz", [result])
    [found] = cell_archive.read(tmp_path / "one.jsonl.xz")
    np.testing.assert_array_equal(
        found.history[1]["saturation"], [np.nan, np.inf, -np.inf]
    )


def test_cells_that_a_store_has_are_kept(packed, tmp_path, capsys):
    before = texts(tmp_path / "store")
    assert sweep_command.main(["unpack", str(tmp_path / "store"), str(packed)]) == 0
    assert "added 0 cells" in capsys.readouterr().out
    assert texts(tmp_path / "store") == before


@pytest.mark.parametrize(
    "damage", ["cut", "byte", "text", "empty", "foreign", "format"]
)
def test_a_damaged_file_is_refused_before_anything_is_written(
    packed, tmp_path, capsys, damage
):
    content = packed.read_bytes()
    lines = lzma.decompress(content)
    middle = len(content) // 2
    damaged = {
        "cut": content[:middle],
        "byte": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "text": b"cells",
        "empty": b"",
        "foreign": lzma.compress(b'{"a": 1}\n'),
        "format": lzma.compress(lines.replace(rb"\"format\": 1", rb"\"format\": 9")),
    }[damage]
    packed.write_bytes(damaged)
    assert sweep_command.main(["unpack", str(tmp_path / "new"), str(packed)]) == 1
    assert "must be an archive of cells" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    out = str(tmp_path / "report")
    assert report_command.main(["--store", str(packed), "--out", out]) == 1
    assert "must be an archive of cells" in capsys.readouterr().err


def test_nothing_is_packed_from_a_store_without_cells(tmp_path, capsys):
    (tmp_path / "store").mkdir()
    file = tmp_path / "results.jsonl.xz"
    assert sweep_command.main(["pack", str(tmp_path / "store"), str(file)]) == 1
    assert "must hold a completed cell" in capsys.readouterr().err
    assert not file.exists()


def test_a_report_from_the_file_is_that_of_the_store(packed, tmp_path):
    for source, out in ((tmp_path / "store", "one"), (packed, "two")):
        where = ["--store", str(source), "--out", str(tmp_path / out)]
        assert report_command.main(where) == 0
    for name in ("tables/models.csv", "tables/claims.csv"):
        one, two = ((tmp_path / out / name).read_text() for out in ("one", "two"))
        assert one == two
