"""The study of learning rates: what is chosen by which rows, and what is said of it."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import jaxbern as jb
from experiments.sensitivity import rate_report, rate_study, sensitivity_command
from experiments.sensitivity.rate_study import PAPERS_RATE, QUICK, RateStudy, Tuned
from experiments.sensitivity.sensitivity_training import store
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events
from tests.experiments.report_stores import on, trained

RELU = Cell("higgs", True, 50, 16, "relu")
DBN = Cell("higgs", True, 5, 16, "bernstein:3")
SAME = on(RELU, "bernstein:3")


def at(cell, rate, validation, test, loss=0.6):
    """A network whose three seeds have these AUCs."""
    result = trained(cell, [validation] * 3, [loss] * 3)
    seeds = range(3)
    return Tuned(
        result, rate, dict.fromkeys(seeds, validation), dict.fromkeys(seeds, test)
    )


STUDY = [
    at(RELU, PAPERS_RATE, 0.70, 0.69, loss=0.62),
    at(RELU, 1e-2, 0.76, 0.75, loss=0.56),
    at(RELU, 3e-2, 0.75, 0.80, loss=0.50),  # better on the test, but not chosen by it
    at(DBN, PAPERS_RATE, 0.74, 0.74, loss=0.58),
    at(DBN, 1e-2, 0.75, 0.745, loss=0.57),
    at(SAME, PAPERS_RATE, 0.77, 0.76, loss=0.57),
    at(SAME, 1e-2, 0.76, 0.78, loss=0.54),
]


def test_a_rate_is_chosen_by_validation_and_never_by_the_test():
    best = rate_study.chosen(STUDY)
    assert best[RELU].learning_rate == 1e-2
    assert best[SAME].learning_rate == PAPERS_RATE
    assert {
        each.learning_rate for each in rate_study.at_papers_rate(STUDY).values()
    } == {PAPERS_RATE}


def test_a_rate_at_which_a_seed_diverges_is_not_chosen():
    usual, high = at(RELU, 1e-2, 0.76, 0.75), at(RELU, 1e-1, 0.79, 0.78)
    for seeds in high.validation, high.test:
        del seeds[2]  # it completed no epoch
    for order in [usual, high], [high, usual]:
        assert rate_study.chosen(order)[RELU] is usual
    assert rate_study.chosen([high])[RELU] is high


def test_gains_are_against_relu_at_the_same_rate_or_at_its_own():
    [row] = (row for row in rate_report.rows(STUDY) if row.cell == SAME)
    assert row.fixed_gain.mean == pytest.approx(0.76 - 0.69)
    assert row.tuned_gain.mean == pytest.approx(0.76 - 0.75)


def test_a_tuned_baseline_takes_a_saving_away():
    [row] = (row for row in rate_report.claim_rows(STUDY) if row.depth == 50)
    small, large = DBN.parameters, RELU.parameters
    assert row.saved[0] == pytest.approx(100 * (1 - small / large))
    assert row.saved[1] == pytest.approx(
        100 * (1 - SAME.parameters / large)
    )  # none smaller
    assert row.change[0] == pytest.approx(100 * (0.57 / 0.62 - 1))
    assert row.change[1] == pytest.approx(100 * (0.57 / 0.56 - 1))
    assert row.crossover == (1.0, math.inf)
    text = " ".join(rate_report.sentences(rate_report.rows(STUDY), [row]))
    assert "end with a lower loss in 1 of 1 architectures at 0.001, in 0 of 1" in text


def test_networks_whose_best_rate_may_be_beyond_those_tried_are_counted():
    study = RateStudy(rates=(PAPERS_RATE, 1e-2))
    text = rate_report.ends(rate_report.rows(STUDY[:2] + STUDY[3:]), study)
    assert text == "Of 3 networks 1 chose the lowest rate tried and 2 the highest."


def test_rates_without_the_papers_are_refused():
    with pytest.raises(ValueError, match=r"must contain the paper's, 0\.001"):
        RateStudy(rates=(1e-2,))


@pytest.mark.slow
def test_scores_are_those_of_rows_that_no_training_saw(tmp_path, capsys):
    arguments = ["rates", "--quick", "--data", "collider", "--out", str(tmp_path)]
    assert sensitivity_command.main(arguments) == 0
    assert "own rates" in capsys.readouterr().out
    given = Events("collider:higgs", jb.data.load("collider:higgs", rows=QUICK.rows))
    tuned = rate_study.run(QUICK, given, tmp_path)
    keep = int(0.8 * QUICK.rows)
    x, y = np.asarray(given.data.x), np.asarray(given.data.y)
    known = {tuple(row) for row in x[:keep].tolist()}
    assert not known & {tuple(row) for row in x[keep:].tolist()}
    for each in tuned:
        root = store(tmp_path, rate_study.rate(each.learning_rate))
        model = jb.MLP.load(root / "cells" / each.cell.name / "best-1.npz")
        model.eval()
        rows = jb.data.split(rate_study.divided(given)[0].data, [0, 1])[1]
        logits = np.asarray(model(rows.scale(jnp.asarray(x[keep:]))))
        expected = roc_auc_score(y[keep:], logits[:, 1] - logits[:, 0])
        assert each.test[1] == pytest.approx(expected, abs=1e-6)
