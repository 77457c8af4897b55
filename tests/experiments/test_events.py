"""The study of the number of events: what is trained, and what is said of it."""

import pytest

from experiments.report.intervals import Row, interval
from experiments.sensitivity import event_report, event_study, sensitivity_command
from experiments.sensitivity.event_study import EventStudy, Trained
from experiments.sweep.grid import Cell

CELL = Cell("higgs", True, 5, 16, "bernstein:3")


def at(rows, activation, auc):
    cell = Cell("higgs", True, 5, 16, activation)
    values = [auc - 0.001, auc, auc + 0.001]
    row = Row(cell, 1, interval(values), interval([0.5] * 3), 3.0, None, None)
    return Trained(rows, row)


FOUND = [
    at(100, "relu", 0.70), at(100, "bernstein:3", 0.76), at(100, "bernstein:9", 0.74),
    at(900, "relu", 0.72), at(900, "bernstein:3", 0.78), at(900, "bernstein:9", 0.79),
]  # fmt: skip


def test_a_turn_of_the_order_is_said():
    [line] = event_report.sentences(FOUND)
    assert line == (
        "5×16, by AUC: DBN n=3, DBN n=9, ReLU on 100 events; DBN n=9, DBN n=3, ReLU on 900. "
        "The order of the degrees turns."
    )
    [line] = event_report.sentences([*FOUND[:5], at(900, "bernstein:9", 0.77)])
    assert line.endswith("The order of the degrees stays.")


def test_a_position_of_relu_alone_is_no_turn():
    more = [at(900, "bernstein:3", 0.77), at(900, "bernstein:9", 0.75)]
    kept = [at(100, "relu", 0.8), *FOUND[1:3], at(900, "relu", 0.7), *more]
    [line] = event_report.sentences(kept)
    assert line.endswith("stays.")


def test_epochs_follow_the_number_of_events():
    parts = EventStudy(paper_shapes=((5, 16),)).parts()
    epochs = [dict(part.options).get("epochs") for part in parts]
    assert epochs == [60, 50, 12, 10, None]  # the last by the paper's rules
    assert parts[-1].rows == 11_000_000
    assert len(parts[0].networks) == 8
    assert len(parts[-1].networks) == 4


@pytest.mark.slow
def test_a_quick_study_from_the_command_line(tmp_path, capsys):
    assert sensitivity_command.main(["events", "--quick", "--out", str(tmp_path)]) == 0
    assert "on 600" in capsys.readouterr().out
    lines = (tmp_path / "events.csv").read_text().splitlines()
    assert len(lines) == 1 + 4
    assert (tmp_path / "events.svg").stat().st_size
    again = event_study.run(event_study.QUICK, tmp_path)
    assert str(again[0].row.auc.mean) in lines[1]
