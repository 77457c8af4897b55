"""The study of drop-ins: paired intervals, one program per network, the page."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from scipy import stats

from experiments.dropin import (
    dropin_command,
    dropin_data,
    dropin_report,
    dropin_store,
    dropin_study,
)
from experiments.dropin.dropin_methods import METHODS
from experiments.dropin.dropin_networks import Cnn
from experiments.dropin.dropin_tasks import tasks
from experiments.dropin.dropin_training import Program, Scores, _schedule

TINY = dropin_study.Setting(True, (1e-3, 1e-2), 1, 2, 2.0)


def result(test, method="gelu", kind="steps", task="waves", **options):
    scores = np.asarray(test, float)
    given = {"rate": 1e-3, "width": 8, "steps": 5, "parameters": 10} | options
    return dropin_study.Result(
        task, method, kind, **given, validation=scores, test=scores
    )


def waves(steps=6):
    task = next(t for t in tasks(None, quick=True) if t.name == "waves")
    return dataclasses.replace(
        task, steps=(steps, steps), width=4,
        load=lambda: dropin_data.function(dropin_data.waves, 60),
    )  # fmt: skip


@pytest.mark.parametrize("higher", [True, False])
def test_intervals_are_those_of_the_paired_t_test(higher):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 6)) + np.array([[0.3], [0.0]])
    found = dropin_report.difference(result(a), result(b), higher=higher)
    sign = 1 if higher else -1
    test = stats.ttest_rel(sign * a, sign * b)
    low, high = test.confidence_interval(0.95)
    np.testing.assert_allclose(
        [found.mean - found.half, found.mean + found.half], [low, high]
    )
    assert (found.verdict != "tie") == (test.pvalue < 0.05)


def test_one_row_of_a_test_set_is_no_win():
    more, less = result([0.93, 0.94, 0.95]), result([0.92, 0.93, 0.94])
    assert dropin_report.difference(more, less, higher=True).verdict == "win"
    counted = dataclasses.replace(more, finest=0.01)
    assert dropin_report.difference(counted, less, higher=True).verdict == "tie"


@pytest.mark.parametrize("mean, half, verdict", [
    (1.0, 0.5, "win"), (-1.0, 0.5, "loss"), (0.2, 0.5, "tie"), (math.nan, 1.0, "loss"),
])  # fmt: skip
def test_verdicts(mean, half, verdict):
    assert dropin_report.Difference(mean, half, 1.0).verdict == verdict


def test_the_best_rival_is_by_the_direction_of_the_score_and_never_one_that_diverged():
    study = dropin_study.Study(TINY)
    study.results += [
        result([0.3, 0.3], "relu"), result([np.nan, 0.1], "gelu"),
        result([0.2, 0.2], "silu"), result([0.0, 0.0], "bernstein"),
    ]  # fmt: skip
    best = dropin_study.best_rival(study, waves())
    assert best is not None
    assert best.method == "silu"
    higher = dataclasses.replace(waves(), higher=True)
    best = dropin_study.best_rival(study, higher)
    assert best is not None
    assert best.method == "relu"


@pytest.mark.slow
@jax.numpy_dtype_promotion("standard")  # optax.adam raises a float to an int power
def test_runs_side_by_side_are_those_one_by_one():
    task, parts = waves(), waves().load()
    make = METHODS["bernstein"].make
    many = Program(task, make, 4, 3, parts).train([5, 6, 7, 8], [1e-2] * 4, 6)
    alone = Program(task, make, 4, 1, parts).train([8, 5], [1e-2] * 2, 6)
    np.testing.assert_allclose(alone.test, many.test[[3, 0]], rtol=1e-4)
    assert len(set(many.test.round(6))) == 4


def test_the_rate_rises_then_falls_to_zero():
    done = np.linspace(0, 1, 101)
    factors = np.asarray(_schedule(done))
    assert factors[0] == 0
    assert factors[-1] < 1e-6
    assert done[factors.argmax()] == pytest.approx(0.05, abs=0.011)
    np.testing.assert_allclose(factors.max(), 1, rtol=1e-3)


def test_parameters_are_counted():
    counts = {
        name: Program(waves(), METHODS[name].make, 4, 1, waves().load()).parameters
        for name in ("gelu", "bernstein", "shared")
    }
    linears = (2 + 1) * 4 + 2 * (4 + 1) * 4 + (4 + 1) * 1
    assert counts == {
        "gelu": linears, "bernstein": linears + 3 * 4 * 10, "shared": linears + 3 * 10,
    }  # fmt: skip


@pytest.mark.slow
@jax.numpy_dtype_promotion("standard")
def test_a_small_study_and_its_page(tmp_path):
    missing = next(t for t in tasks(None, quick=True) if t.name == "mnist")
    said = []
    study = dropin_study.run(
        [waves(), missing], ["relu", "bernstein"], TINY, said.append
    )
    assert len(said) == 6
    assert "t10k-images" in study.missing["mnist"]
    kinds = [(r.method, r.kind) for r in study.results]
    assert kinds == [
        ("relu", "steps"), ("bernstein", "steps"), ("relu", "time"),
        ("relu", "parameters"),
    ]  # fmt: skip
    ours, equal = study.results[1], study.results[3]
    assert equal.parameters >= ours.parameters
    assert equal.width > ours.width
    longer = study.results[2].steps
    assert ours.steps <= longer <= 2 * ours.steps
    page = dropin_report.write(
        study, [waves(), missing], tmp_path, "COMMAND"
    ).read_text()
    assert "| waves | relu |" in page
    assert "COMMAND" in page
    assert "Left out: **mnist**" in page
    assert (tmp_path / "dropin.png").stat().st_size > 1000
    lines = (tmp_path / "dropin.csv").read_text().splitlines()
    assert len(lines) == 1 + 4 * 2


class Pretended:
    """Scores by a formula: the best rate of the validation rows is 1 / steps."""

    width, parameters, test_rows = 4, 10, 100

    def train(self, seeds, rates, steps):
        errors = np.abs(np.asarray(rates) - 1 / steps)
        return Scores(errors, np.asarray(seeds) + errors)


@pytest.mark.parametrize("steps, rate", [(1000, 1e-3), (100, 1e-2), (10, 1e-1)])
def test_every_comparison_has_its_own_rate_from_validation_rows(steps, rate):
    setting = dataclasses.replace(TINY, rates=(1e-3, 1e-2, 1e-1), tuning_seeds=2)
    study = dropin_study.Study(setting)
    dropin_study._judge(study, waves(), "gelu", "time", Pretended(), steps)  # type: ignore
    (found,) = study.results
    assert (found.rate, found.steps, found.kind) == (rate, steps, "time")
    np.testing.assert_allclose(found.test, [0, 1], atol=1e-9)  # fresh seeds


def test_rates_at_an_end_of_those_tried_are_named():
    setting = dataclasses.replace(TINY, rates=(1e-3, 1e-2, 1e-1))
    study = dropin_study.Study(setting)
    study.results += [
        result([0, 1], "relu", rate=1e-2), result([0, 1], "gelu", rate=1e-1),
        result([0, 1], "gelu", kind="time", rate=1e-1),
    ]  # fmt: skip
    (line,) = dropin_report.edges(study)
    assert line.endswith("tried: waves gelu 0.1")
    study.results.pop(1)
    assert not dropin_report.edges(study)


def test_finished_tasks_are_kept_and_used_only_for_the_same_study(tmp_path):
    methods = ["relu", "gelu"]
    study = dropin_study.Study(TINY)
    study.results += [
        result([0.25, 0.5], "relu"), result([np.nan, 0.1], "gelu", finest=0.01),
        result([1.0, 2.0], task="edges"),
    ]  # fmt: skip
    study.seconds[("waves", "relu")] = 0.5
    dropin_store.save(tmp_path, study, waves(), methods)
    again = dropin_study.Study(TINY)
    assert dropin_store.load(tmp_path, again, waves(), methods)
    assert again.seconds == study.seconds
    assert dropin_study.as_records(again)[:2] == dropin_study.as_records(study)[:2]
    np.testing.assert_array_equal(again.results[1].test, [np.nan, 0.1])
    assert len(again.results) == 2
    more = dropin_study.Study(dataclasses.replace(TINY, seeds=3))
    assert not dropin_store.load(tmp_path, more, waves(), methods)
    assert not dropin_store.load(tmp_path, again, waves(steps=7), methods)
    assert not dropin_store.load(tmp_path, again, waves(), ["relu"])
    assert not more.results


def test_a_study_goes_on_after_the_tasks_that_are_done():
    def load(study, task):
        study.results.append(result([0.1, 0.2], "relu", task=task.name))
        return True

    said = []
    study = dropin_study.run([waves()], ["relu"], TINY, said.append, load=load)
    assert said == ["waves relu: done before", "waves equal: done before"]
    assert len(study.results) == 1


def test_text_is_the_librarys_with_the_next_character_as_target():
    parts = dropin_data.python_sources(5000)
    x, y = parts.train
    assert x.shape[1] == dropin_data.CONTEXT
    assert 0 <= int(x.min()) <= int(x.max()) < dropin_data.LETTERS
    np.testing.assert_array_equal(x[:, 1:], y[:, :-1])


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        dropin_command.main(["--quick", "--tasks", "wave"])
    assert "there is no 'wave'" in capsys.readouterr().err


def test_the_cnn_is_one_of_flax_layers():
    """Its products and reshapes compute what nnx.Conv and nnx.max_pool do."""
    cnn = Cnn(8, 2, lambda width, rngs: nnx.relu, nnx.Rngs(0))
    images = jax.random.normal(jax.random.key(1), (3, 8, 8, 1))
    x = images
    for conv in (cnn.first, cnn.second):
        x = nnx.max_pool(nnx.relu(conv(x)), (2, 2), (2, 2))
    wanted = cnn.last(nnx.relu(cnn.hidden(x.reshape(3, -1))))
    np.testing.assert_allclose(cnn(images), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@jax.numpy_dtype_promotion("standard")
def test_runs_in_turn_are_the_vmapped_ones():
    """On a CPU runs follow one another; each is the same training as side by side."""
    task = waves()
    program = Program(task, lambda width, rngs: jnp.tanh, 4, 2, task.load())
    seeds, rates = jnp.arange(2), jnp.float32([0.01, 0.02])
    together = jax.vmap(program._run, in_axes=(0, 0, None))(seeds, rates, 5)
    found = program.train([0, 1], [0.01, 0.02], 5)
    in_turn = np.stack([found.validation, found.test], axis=1)
    np.testing.assert_allclose(in_turn, together, rtol=1e-4)
