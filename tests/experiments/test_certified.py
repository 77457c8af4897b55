"""The study of training methods: its choices, its page, one small training."""

import dataclasses

import jax
import numpy as np
import pytest

from experiments.certified import (
    certified_command,
    certified_report,
    certified_study,
    certified_training,
    deepbern_training,
)
from experiments.certified.certified_networks import digits
from experiments.certified.certified_speed import Speed

pytest.importorskip("sklearn")


@pytest.fixture(autouse=True)
def as_optax_needs_it():
    with jax.numpy_dtype_promotion("standard"):
        yield


def result(method, scores, note="affine, rigorous"):
    return certified_study.Result(method, 5e-3, 0.5, np.array(scores), note)


def test_rows_are_disjoint_and_scaled():
    data = digits()
    assert [len(rows.x) for rows in data] == [1000, 297, 500]
    everything = np.concatenate([rows.x for rows in data])
    assert everything.min() == 0
    assert everything.max() == 1


@pytest.mark.slow
def test_a_method_is_trained_chosen_and_certified():
    setting = dataclasses.replace(
        certified_study.QUICK, steps=60, rates=(1e-4, 2e-2), seeds=2, rows=64
    )
    seen = []
    [found] = certified_study.run(["mlp relu"], setting, seen.append)
    assert seen == ["mlp relu"]
    assert found.rate == 2e-2  # the other one has learned nothing in so few steps
    assert found.scores.shape == (2, 3)
    clean, near, far = found.scores.mean(axis=0)
    assert clean > 0.6
    assert clean >= near >= far


@pytest.mark.slow
def test_a_training_is_the_same_again():
    given = {"steps": 3, "rate": 1e-2, "eps": 0.1, "mix": 0.5}
    rows = digits().train
    models = [
        certified_training.train("mlp", "relu", s, rows, **given) for s in (0, 0, 1)
    ]
    kernels = [np.asarray(model.first.kernel[...]) for model in models]
    assert (kernels[0] == kernels[1]).all()
    assert (kernels[0] != kernels[2]).any()


def test_what_is_missing_is_said():
    if deepbern_training.problem() is None:
        pytest.skip("DeepBern-Nets is here")
    [found] = certified_study.run(["deepbern 3"], certified_study.QUICK, lambda _: None)
    page = certified_report.accuracies([found], certified_study.QUICK)
    assert (
        "| deepbern 3 | nan | nan | not run | not run | not run | not installed" in page
    )


def test_verdicts_need_two_standard_errors():
    ours = result("mlp bernstein:5", [[0.98, 0.92, 0.75], [0.98, 0.93, 0.77]])
    relu = result("mlp relu", [[0.98, 0.90, 0.76], [0.98, 0.90, 0.78]])
    lines = certified_report.verdicts([ours, relu])
    assert "ahead of mlp relu by +0.025 (standard error 0.005)" in lines[0]
    assert "level with mlp relu by -0.010" in lines[1]
    worse = result("deepbern 3", [[0.98, 0.95, 0.95], [0.98, 0.95, 0.95]])
    assert "behind deepbern 3" in certified_report.verdicts([ours, worse])[0]


def test_the_page(tmp_path):
    ours = result("mlp bernstein:5", [[0.98, 0.92, 0.75], [0.98, 0.93, 0.77]])
    speed = Speed(
        {"relu": (1e-3, 4e-3)}, {"relu": 1234.5}, [(0.0, 0.1, 0.2)], [(2, 1.5, 0.11)]
    )
    parts = [
        certified_report.accuracies([ours], certified_study.QUICK),
        certified_report.speed(speed),
    ]
    text = certified_report.write(parts, tmp_path / "new", "the command").read_text()
    assert "`the command`" in text
    assert "0.980 ± 0.000 | 0.925 ± 0.005 | 0.760 ± 0.010" in text
    assert "| relu | 1.00 ms | 4.00 ms | 4.0 |" in text
    assert "| relu | 1,234 |" in text
    assert "| 0 | 10.0% | 20.0% |" in text
    assert "| 2 | 1.5 | 11.0% |" in text


def test_a_method_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        certified_command.main(["--methods", "mlp gelu"])
    assert "there is no 'mlp gelu'" in capsys.readouterr().err
