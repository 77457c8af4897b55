"""The study of training methods: its choices, its page, one small training."""

import dataclasses

import jax
import numpy as np
import pytest

from experiments.certified import (
    certified_command,
    certified_report,
    certified_store,
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


def result(method, scores, note="affine, rigorous", validation=0.8):
    return certified_study.Result(method, 5e-3, 0.5, validation, np.array(scores), note)


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
    found = certified_study.one("mlp relu", setting)
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


def test_a_stopped_study_goes_on(tmp_path, monkeypatch):
    trained = []

    def one(method, setting):
        trained.append(method)
        if method == "cnn relu" and trained.count(method) == 1:
            raise KeyboardInterrupt
        return result(method, [[0.9, 0.8, len(trained) / 10]])

    monkeypatch.setattr(certified_store, "one", one)
    methods, quick = ["mlp relu", "cnn relu"], certified_study.QUICK

    def run(setting=quick):
        return certified_store.run(methods, setting, tmp_path / "new", lambda _: None)

    with pytest.raises(KeyboardInterrupt):
        run()
    first, second = run()
    assert trained == ["mlp relu", "cnn relu", "cnn relu"]
    assert (first.method, second.method) == ("mlp relu", "cnn relu")
    assert first.scores.tolist() == [[0.9, 0.8, 0.1]]
    made, kept = (
        dataclasses.asdict(r) | {"scores": None} for r in (result("mlp relu", 0), first)
    )
    assert made == kept
    run(dataclasses.replace(quick, steps=61))  # another setting, other numbers
    assert trained[3:] == methods


def test_what_is_missing_is_said_and_not_kept(tmp_path):
    if deepbern_training.problem() is None:
        pytest.skip("DeepBern-Nets is here")
    [found] = certified_store.run(
        ["mlp deepbern:3"], certified_study.QUICK, tmp_path, lambda _: None
    )
    page = certified_report.accuracies([found], certified_study.QUICK)
    row = "| mlp deepbern:3 | nan | nan | not run | not run | not run | not installed"
    assert row in page
    assert not list(tmp_path.iterdir())


def test_verdicts_need_two_standard_errors():
    ours = result("mlp bernstein:5", [[0.98, 0.92, 0.75], [0.98, 0.93, 0.77]])
    relu = result("mlp relu", [[0.97, 0.90, 0.76], [0.98, 0.90, 0.78]])
    lines = certified_report.verdicts([ours, relu])
    assert "clean: mlp bernstein:5 is level with mlp relu by +0.005" in lines[0]
    assert "ahead of mlp relu by +0.025 (standard error 0.005)" in lines[1]
    assert "level with mlp relu by -0.010" in lines[2]
    better = result("mlp deepbern:3", [[0.98, 0.95, 0.95], [0.98, 0.95, 0.95]])
    assert "behind mlp deepbern:3" in certified_report.verdicts([ours, better])[1]


def test_the_degree_is_chosen_on_validation_rows():
    lucky = result("mlp bernstein:3", [[1.0, 1.0, 1.0]] * 2, validation=0.7)
    chosen = result("mlp bernstein:9", [[0.9, 0.9, 0.9]] * 2, validation=0.75)
    relu = result("mlp relu", [[0.8, 0.8, 0.8]] * 2)
    of_images = result("cnn relu", [[0.8, 0.8, 0.8]] * 2)
    lines = certified_report.verdicts([lucky, chosen, relu, of_images])
    assert len(lines) == 3
    assert all("mlp bernstein:9 is ahead of mlp relu by +0.100" in at for at in lines)


def test_the_page(tmp_path):
    ours = result("mlp bernstein:5", [[0.98, 0.92, 0.75], [0.98, 0.93, 0.77]])
    speed = Speed(
        {"relu": (1e-3, 4e-3)}, {"relu": 1234.5}, [(0.0, 0.1, 0.2)], [(2, 1.5, 0.11)],
        {"mlp, affine": 3.14},
    )  # fmt: skip
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
    assert "| mlp, affine | 3.1 |" in text


def test_a_method_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        certified_command.main(["--methods", "mlp gelu"])
    assert "there is no 'mlp gelu'" in capsys.readouterr().err


@pytest.mark.parametrize(("bad", "trained"), [({1, 3}, 2), (set(range(1, 99)), 0)])
def test_what_diverges_is_neither_chosen_nor_judged(bad, trained, monkeypatch):
    """Of DeepBern-Nets: a rate that diverges, and seeds whose start is NaN already."""

    def train(kind, act, seed, rows, *, rate, **options):
        if rate > 0.1 or seed in bad:
            raise deepbern_training.Diverged("nan")
        return seed

    monkeypatch.setattr(deepbern_training, "problem", lambda: None)
    monkeypatch.setattr(deepbern_training, "train", train)
    monkeypatch.setattr(deepbern_training, "scores", lambda *given: [0.9, 0.8, 0.7])
    monkeypatch.setattr(certified_study, "Converted", lambda model: model)
    monkeypatch.setattr(certified_study, "_proved", lambda seed, test: [seed, 0.8, 0.7])
    setting = dataclasses.replace(certified_study.QUICK, rates=(5e-3, 2e-2))
    found = certified_study.one("mlp deepbern:3", setting)
    assert found.rate == pytest.approx(0.05)
    if trained:
        assert found.scores[:, 0].tolist() == [2, 4]
        assert "2 of 4 seeds diverged" in found.note
    else:
        assert np.isnan(found.scores).all()
        assert f"{certified_study.MOST_DIVERGED} of " in found.note
