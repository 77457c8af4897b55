"""The figure of all features: with published events, and without."""

import numpy as np
import pytest

from experiments.data import data_command, data_plot
from jaxbern.data import collider


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """No data of the user's, and nothing left behind."""
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAXBERN_DATA", raising=False)
    return tmp_path


def write(path, data):
    np.savetxt(path, np.column_stack([data.y, data.x]), fmt="%.9e", delimiter=",")


def test_published_events_are_drawn_where_there_are_some(cache, capsys, monkeypatch):
    few = {"higgs": [8, 23], "susy": [11, 13]}  # a figure of all takes seconds
    monkeypatch.setattr(data_plot, "PANELS", few)
    monkeypatch.setattr(data_plot, "COLUMNS", 3)
    events = collider.susy(400, seed=1)
    events.x[:, 11] *= 3  # M_TR_2: what the toy now gets wrong
    write(cache / "SUSY.csv", events)
    options = ["--rows", "500", "--susy", str(cache / "SUSY.csv")]
    assert data_command.main(["plot", *options, "--out", str(cache / "out")]) == 0
    printed = capsys.readouterr().out
    assert "higgs: no published events found, the toy is drawn alone" in printed
    assert "most in M_TR_2 (" in printed
    texts = [
        (cache / "out" / f"features_{name}.svg").read_text()
        for name in data_plot.PANELS
    ]
    assert ["published" in text for text in texts] == [False, True]
    for name in data_plot.PANELS:
        assert (cache / "out" / f"features_{name}.png").stat().st_size > 10_000


def test_a_path_that_is_wrong_is_an_error(cache, capsys):
    assert (
        data_command.main(
            ["plot", "--higgs", str(cache / "no.csv"), "--out", str(cache)]
        )
        == 1
    )
    assert "no.csv" in capsys.readouterr().err


def test_every_column_has_a_panel():
    for name, make in (("higgs", collider.higgs), ("susy", collider.susy)):
        assert sorted(data_plot.PANELS[name]) == list(range(make(10).x.shape[1]))
