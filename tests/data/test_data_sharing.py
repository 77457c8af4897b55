"""Several at once, and one that is killed: one copy, whole, for all."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxbern as jb
from jaxbern.data import _converted
from jaxbern.data._published import HIGGS
from tests.data import data_child, data_files


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "HIGGS.csv.gz"
    data_files.write_gzip(path, *data_files.events(HIGGS, rows=500))
    return path


def test_several_at_once_share_one_conversion(source, monkeypatch):
    made, write = [], _converted._write

    def slowly(*args):
        made.append(threading.get_ident())
        time.sleep(0.1)
        return write(*args)

    monkeypatch.setattr(_converted, "_write", slowly)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: jb.data.load(source), range(6)))
    assert len(made) == 1
    assert len({data.fingerprint for data in results}) == 1
    assert len(list(_converted.folder().iterdir())) == 1


# Converts, but stops for ever after the first rows are written.
_STOPS = """
import pathlib, time
from jaxbern.data import _converted, _csv
read = _csv.read
def stops(*args):
    yield next(read(*args))
    print("half-way", flush=True)
    time.sleep(600)
_csv.read = stops
_converted.convert(pathlib.Path(sys.argv[1]), None)
"""


def test_killed_while_converting(source, capfd):
    """Whoever was waiting converts; what was half-written is swept away."""
    child = data_child.start(_STOPS, str(source))
    with child, ThreadPoolExecutor(1) as pool:
        assert child.stdout is not None
        assert child.stdout.readline() == "half-way\n"
        (half,) = _converted.folder().iterdir()
        assert (half / "x.npy").exists()
        waiting = pool.submit(jb.data.load, source)
        while "waiting for another process" not in capfd.readouterr().err:
            time.sleep(0.02)
        assert not waiting.done()
        child.kill()
        data = waiting.result()
    x, y = data_files.events(HIGGS, rows=500)
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)
    (copy,) = _converted.folder().iterdir()
    assert copy.name[0] != "."
