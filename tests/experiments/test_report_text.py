"""What the report says before any table, in place of it, and how it escapes."""

import pytest

from experiments.core import tables
from experiments.report import report_build, report_command
from experiments.report.provenance import caveats
from experiments.sweep.grid import Cell
from tests.experiments import report_stores


def test_no_store_and_no_cell_are_told(tmp_path, capsys):
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert report_command.main(options) == 1
    assert "there is no store" in capsys.readouterr().err
    (tmp_path / "store").mkdir()
    assert report_command.main(options) == 1
    assert "must hold at least one completed cell" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(report_build.NothingToReport, match="sweep --preset demo"):
        report_build.verdict_lines(tmp_path / "store")


def test_caveats_say_what_the_events_are():
    cell = Cell("higgs", True, 5, 16, "relu")

    def said(*about):
        runs = [report_stores.result(cell, [[0.5]], **changes) for changes in about]
        return " ".join(caveats(runs))

    usual = report_stores.TrainConfig(cell.network).to_dict()
    whole = {"source": "higgs", "events": 11_000_000, "config": usual}
    assert said(whole) == ""
    rules = whole | {"config": usual | {"epochs": 25, "batch_size": 1024}}
    assert "at most 25 epochs; batch size 1,024 instead of 16,384" in said(rules)
    assert "110,000 of 11,000,000 events of HIGGS" in said(whole | {"events": 110_000})
    assert "simulated" in said({"source": "collider:higgs"})
    assert "different events or by different rules" in said(
        whole, whole | {"fingerprint": "another"}
    )


def test_markdown_and_latex_escape():
    assert tables._tex("50% & a_b ×") == r"50\% \& a\_b $\times$"
    assert tables._pipes(["a|b"]) == r"| a\|b |"
