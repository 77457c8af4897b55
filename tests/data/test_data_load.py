"""Files are found, and read in every format."""

import os
import sys
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jaxbern as jb
from jaxbern.data import _csv
from jaxbern.data._load import locate
from jaxbern.data._published import HIGGS, SUSY
from tests.data import data_files

REAL = os.environ.get("JAXBERN_DATA", "")
pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.parametrize("form", data_files.FORMATS)
def test_every_format_gives_the_same_numbers(form, tmp_path):
    write, name = data_files.FORMATS[form]
    x, y = data_files.events(HIGGS)
    write(tmp_path / name, x, y)
    unfinished = form == "csv, other line ends"
    with pytest.warns(UserWarning, match="has no end") if unfinished else nullcontext():
        data = jb.data.load(tmp_path / name)
    assert (data.name, data.columns) == ("higgs", HIGGS.columns)
    # Bit for bit, the sign of zero too; nine digits are enough for a float32.
    assert data.x.tobytes() == x.tobytes()
    assert data.y.tobytes() == y.tobytes()
    expected = jb.data.Dataset.from_arrays("higgs", x, y, HIGGS.columns).fingerprint
    assert data.fingerprint == expected


def test_lines_are_whole_wherever_blocks_end(tmp_path):
    """Blocks of about one line to about all of them."""
    x, y = data_files.events(SUSY, rows=60)
    path = tmp_path / "SUSY.csv"
    data_files.write_csv(path, x, y)
    size = path.stat().st_size
    for block in [*range(600, 1800, 111), size - 1, size, size + 1]:
        rows = list(_csv.read(path, SUSY, lambda done: None, block=block))
        np.testing.assert_array_equal(np.concatenate([r.x for r in rows]), x)
        np.testing.assert_array_equal(np.concatenate([r.y for r in rows]), y)


def test_row_numbers_count_from_the_beginning_of_the_file(tmp_path):
    x, y = data_files.events(SUSY, rows=60)
    lines = data_files.text(x, y).splitlines(keepends=True)
    lines[41] = b"1,2\n"
    path = tmp_path / "SUSY.csv"
    path.write_bytes(b"\n\n" + b"".join(lines))
    with pytest.raises(jb.data.DataError, match=r"row 44 of .* has 2 fields"):
        list(_csv.read(path, SUSY, lambda done: None, block=1500))


def test_a_line_longer_than_a_block_is_refused_by_its_number(tmp_path):
    x, y = data_files.events(SUSY, rows=60)
    path = tmp_path / "SUSY.csv"
    path.write_bytes(data_files.text(x, y) + b"0" * 5000)
    with pytest.raises(jb.data.DataError, match=r"row 61 of .* longer than 2,000 byt"):
        list(_csv.read(path, SUSY, lambda done: None, block=2000))


def test_columns_as_published():
    assert len(HIGGS.columns) == 28
    assert len(SUSY.columns) == 18
    assert HIGGS.columns[5:9] == ("jet_1_pt", "jet_1_eta", "jet_1_phi", "jet_1_b-tag")
    assert HIGGS.columns[20:22] == ("jet_4_b-tag", "m_jj")
    assert HIGGS.columns[-1] == "m_wwbb"
    assert SUSY.columns[8] == "MET_rel"


def test_a_published_set_with_another_number_of_rows_is_said(tmp_path):
    data_files.write_csv(tmp_path / "susy.csv", *data_files.events(SUSY))
    message = r"susy\.csv has 200 events; SUSY as published has 5,000,000"
    for _ in range(2):
        with pytest.warns(UserWarning, match=message):
            jb.data.susy(tmp_path)


def test_a_file_that_is_cut_inside_its_last_number(tmp_path):
    x, y = data_files.events(SUSY, rows=20)
    text = data_files.text(x, y)
    for cut in (1, 2, 10):
        path = tmp_path / f"{cut}.csv"
        path.write_bytes(text[:-cut])
        with pytest.warns(
            UserWarning, match=f"the last line of .*{cut}.csv has no end"
        ):
            jb.data.load(path)


@pytest.mark.parametrize("rows", [0, -5, 2.0, "7", True])
@pytest.mark.parametrize(
    "load",
    [
        lambda folder, rows: jb.data.load("collider:susy", rows=rows),
        lambda folder, rows: jb.data.load(folder / "SUSY.csv", rows=rows),
        lambda folder, rows: jb.data.susy(folder, rows=rows),
        lambda folder, rows: jb.data.higgs(folder, rows=rows),
    ],
)
def test_rows_are_a_positive_number(load, rows, tmp_path):
    data_files.write_csv(tmp_path / "SUSY.csv", *data_files.events(SUSY, rows=20))
    with pytest.raises(ValueError, match=r"rows must be an int of at least 1.* got"):
        load(tmp_path, rows)


def test_rows_may_be_of_numpy():
    assert len(jb.data.load("collider:susy", rows=np.int64(5))) == 5


def test_page_checksums_of_parquet_are_compared(tmp_path):
    x, y = data_files.events(SUSY, rows=2000)
    path = tmp_path / "SUSY.parquet"
    columns = {"label": y, **{f"c{i}": column for i, column in enumerate(x.T)}}
    table = pa.table(columns)
    pq.write_table(table, path, write_page_checksum=True, compression="none",
                   use_dictionary=False)  # fmt: skip
    content = bytearray(path.read_bytes())
    content[content.index(x[:500, 3].tobytes()) + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        jb.data.DataError, match=r"damaged Parquet file: .*checksum|CRC"
    ):
        jb.data.load(path)


def test_order_of_places(tmp_path, monkeypatch):
    """The argument, then JAXBERN_DATA; the seeds tell which was taken."""
    expected = {}
    for seed, place in enumerate(("argument", "variable")):
        (tmp_path / place).mkdir()
        x, y = data_files.events(SUSY, seed=seed)
        data_files.write_csv(tmp_path / place / "susy.csv", x, y)
        expected[place] = x
    monkeypatch.setenv("JAXBERN_DATA", str(tmp_path / "variable"))
    np.testing.assert_array_equal(jb.data.susy().x, expected["variable"])
    argument = jb.data.susy(tmp_path / "argument")
    np.testing.assert_array_equal(argument.x, expected["argument"])
    file = tmp_path / "argument" / "susy.csv"
    monkeypatch.setenv("JAXBERN_DATA", str(file))
    np.testing.assert_array_equal(jb.data.load("susy").x, expected["argument"])
    with pytest.raises(jb.data.DataError, match="HIGGS is not here"):
        jb.data.higgs(download=False)  # the file in JAXBERN_DATA is one of SUSY


def test_first_rows(tmp_path):
    x, y = data_files.events(SUSY)
    data_files.write_csv(tmp_path / "SUSY.csv", x, y)
    whole = jb.data.susy(tmp_path)
    some = jb.data.load(tmp_path / "SUSY.csv", rows=7)
    np.testing.assert_array_equal(some.x, x[:7])
    assert some.fingerprint != whole.fingerprint
    assert jb.data.susy(tmp_path, rows=10**6).fingerprint == whole.fingerprint


def test_simulated_events_by_name():
    data = jb.data.load("collider:susy", rows=50, seed=3)
    assert len(data) == 50
    again = jb.data.collider.susy(50, 3)
    np.testing.assert_array_equal(data.x, again.x)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda folder: jb.data.load("higs"), "Did you mean 'higgs'"),
        (lambda folder: jb.data.load("collider:lhc"), "neither a file nor one of"),
        (lambda folder: jb.data.higgs(folder / "none"), "which does not exist"),
        (
            lambda folder: jb.data.higgs(folder),
            r"holds none of higgs\.csv, higgs\.csv\.gz",
        ),
        (
            lambda folder: jb.data.susy(folder / "H.csv"),
            r'jb\.data\.higgs\(".*H\.csv"\)',
        ),
        (lambda folder: jb.data.susy(download=False), "simulate with jb"),
    ],
)
def test_errors_say_what_to_write(call, message, tmp_path):
    data_files.write_csv(tmp_path / "H.csv", *data_files.events(HIGGS, rows=9))
    jb.data.load(tmp_path / "H.csv")
    with pytest.raises(jb.data.DataError, match=message):
        call(tmp_path)


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    data_files.write_csv(tmp_path / "H.csv", *data_files.events(HIGGS, rows=9))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "jaxbern\[experiments\]"'):
        jb.data.load(tmp_path / "H.csv")


@pytest.mark.skipif(not REAL, reason="needs real rows")
@pytest.mark.parametrize("name", ["higgs", "susy"])
def test_real_rows(name, monkeypatch):
    """Against NumPy's reader; some ranges are known of the published sets."""
    monkeypatch.setenv("JAXBERN_DATA", REAL)
    data = jb.data.load(name, download=False)
    path = locate({"higgs": HIGGS, "susy": SUSY}[name])
    head = np.loadtxt(path, np.float32, delimiter=",", max_rows=500)
    np.testing.assert_array_equal(data.x[:500], head[:, 1:])
    np.testing.assert_array_equal(data.y[:500], head[:, 0])
    assert 0.4 < data.y.mean() < 0.6
    assert data.x[:, 0].min() > 0.2  # pT of the lepton after a cut
    assert abs(float(data.x[:, 0].mean(dtype=np.float64)) - 1) < 0.1
