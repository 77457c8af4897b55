"""The study of the number of events: what is trained, and what is said of it."""

import pytest

from experiments.report.intervals import Row, interval
from experiments.sensitivity import event_report, event_study, sensitivity_command
from experiments.sensitivity.event_study import EventStudy, Trained
from experiments.sweep.grid import Cell


def at(rows, activation, *aucs):
    cell = Cell("higgs", True, 5, 16, activation)
    row = Row(cell, 1, interval(aucs), interval([0.5] * 3), 3.0, None, None)
    return Trained(rows, row, dict(enumerate(aucs)))


# The seeds differ more than the degrees: only differences seed by seed tell them apart.
FEW = [
    at(100, "relu", 0.70, 0.71, 0.72),
    at(100, "bernstein:3", 0.76, 0.78, 0.80),
    at(100, "bernstein:9", 0.75, 0.77, 0.79),
    at(100, "bernstein:25", 0.74, 0.759, 0.781),
]
MANY = [
    at(900, "relu", 0.72, 0.72, 0.72),
    at(900, "bernstein:3", 0.78, 0.80, 0.82),
    at(900, "bernstein:9", 0.79, 0.81, 0.83),
]


def test_a_turn_of_the_order_is_said():
    higher = at(900, "bernstein:25", 0.80, 0.821, 0.839)
    [line] = event_report.sentences([*FEW, *MANY, higher])
    assert line == (
        "5×16, by AUC: DBN n=3, DBN n=9, DBN n=25, ReLU on 100 events; DBN n=25, DBN n=9, "
        "DBN n=3, ReLU on 900 events. DBN n=25 minus DBN n=3, seed by seed: -0.0200 ± "
        "0.0025 on 100, +0.0200 ± 0.0025 on 900 events. The order turns."
    )


def test_the_lead_is_told_for_every_number_of_events():
    middle = [
        at(300, "bernstein:3", 0.7, 0.8, 0.9),
        at(300, "bernstein:25", 0.7, 0.8, 0.9),
    ]
    higher = at(900, "bernstein:25", 0.80, 0.821, 0.839)
    [line] = event_report.sentences([*FEW, *MANY, higher, *middle])
    assert "-0.0200 ± 0.0025 on 100, +0.0000 ± 0.0000 on 300, +0.0200" in line
    assert "ReLU on 300" not in line
    assert line.endswith("The order turns.")


def test_the_same_lead_on_all_events_is_said():
    lower = at(900, "bernstein:25", 0.77, 0.791, 0.809)
    [line] = event_report.sentences([*FEW, *MANY, lower])
    assert line.endswith("The order stays.")


def test_no_turn_is_claimed_that_depends_on_a_seed():
    doubtful = at(900, "bernstein:25", 0.79, 0.79, 0.84)
    [line] = event_report.sentences([*FEW, *MANY, doubtful])
    assert line.endswith("An interval that holds zero does not tell which is ahead.")


def test_one_number_of_events_has_a_ranking_and_no_change():
    [line] = event_report.sentences(FEW)
    assert line == "5×16, by AUC: DBN n=3, DBN n=9, DBN n=25, ReLU on 100 events."


def test_epochs_follow_the_number_of_events():
    parts = EventStudy(paper_shapes=((5, 16),)).parts()
    epochs = [dict(part.options).get("epochs") for part in parts]
    assert epochs == [60, 50, 12, 10, None]  # the last by the paper's rules
    assert parts[-1].rows == 11_000_000
    assert len(parts[0].networks) == 8
    assert len(parts[-1].networks) == 4
    limited = EventStudy(paper_shapes=((5, 16),), paper_epochs=15).parts()
    assert dict(limited[-1].options) == {"epochs": 15}


@pytest.mark.slow
def test_a_quick_study_from_the_command_line(tmp_path, capsys):
    assert sensitivity_command.main(["events", "--quick", "--out", str(tmp_path)]) == 0
    assert "on 600" in capsys.readouterr().out
    lines = (tmp_path / "events.csv").read_text().splitlines()
    assert len(lines) == 1 + 4
    assert (tmp_path / "events.svg").stat().st_size
    again = event_study.run(event_study.QUICK, tmp_path)
    assert str(again[0].row.auc.mean) in lines[1]
