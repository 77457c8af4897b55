"""``python -m experiments capacity``: a few seeds, a few steps, every part of it."""

import csv
import dataclasses
import io

import jax
import numpy as np
import pytest
from PIL import Image

import experiments.capacity
from experiments.__main__ import main
from experiments.capacity import (
    capacity_command,
    capacity_report,
    capacity_results,
    capacity_tasks,
    capacity_training,
)
from experiments.capacity.capacity_results import Outcome
from experiments.capacity.capacity_tasks import TASKS, Budget
from experiments.capacity.capacity_training import Trained
from tests.oracles import casteljau
from tests.quick import quickly

pytestmark = pytest.mark.slow

SMALL = Budget(
    seeds=3, seeds_of_variants=1, steps=240, snapshots=8, frames=4, batchnorm=False
)
CHOSEN = (TASKS[0], TASKS[3])  # XOR and the oscillator: a kind of task each


@pytest.fixture(scope="module")
def outcomes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity_training, "jit", quickly)
        return capacity_command.train_all(CHOSEN, SMALL)


@pytest.fixture(scope="module")
def written(outcomes, tmp_path_factory):
    """All files, from the command as it is typed, with what was trained above."""
    out = tmp_path_factory.mktemp("capacity")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity_command, "train_all", lambda *_: outcomes)
        picture = out / "there" / "xor.png"
        options = ["--quick", "--out", str(out), "--picture", str(picture)]
        assert main(["capacity", *options]) == 0
    return out


def by_hand(parameters, x):
    """The network in NumPy and double precision, polynomials by de Casteljau."""
    first, last = parameters["first"], parameters["last"]
    kernel, bias = (np.float64(first[name]) for name in ("kernel", "bias"))
    z = np.float64(x) @ kernel + bias
    if "act" in parameters:
        coeffs = np.float64(parameters["act"]["coeffs"])
        ends = np.full((1, 1), -3.0), np.full((1, 1), 3.0)
        h = casteljau.value(z, coeffs.T[:, None], *ends)
    else:
        h = np.maximum(z, 0)
    return h @ np.float64(last["kernel"]) + np.float64(last["bias"])


@pytest.mark.parametrize("kind", ["DBN", "ReLU"])
@pytest.mark.parametrize("which", [0, 1])
def test_values_are_those_of_the_last_parameters_on_held_out_points(
    outcomes, kind, which
):
    outcome, k = outcomes[which], 1
    trained, points = outcome.trained[kind], outcome.points
    state = jax.tree.map(lambda a: a[k, -1], trained.history)
    parameters = {
        part: {name: leaf.get_value() for name, leaf in of_part.items()}
        for part, of_part in state.items()
    }
    found = by_hand(parameters, points.held_out_x[k])
    if outcome.task.classification:
        value = 100 * np.mean((found[:, 1] > found[:, 0]) == points.held_out_y[k])
    else:
        value = np.mean((found[:, 0] - points.held_out_y[k]) ** 2)
    np.testing.assert_allclose(trained.value[k], value, rtol=1e-3)


def test_one_bernstein_neuron_learns_xor_and_one_relu_cannot(outcomes):
    xor = outcomes[0]
    assert xor.values(xor.task.dbn).max() == 100
    assert xor.values(xor.task.relu).max() < 80


def alone(outcome, network, **options):
    """The second seed again, in no company."""
    few = slice(1, 2)
    points = capacity_training.Points(*(array[few] for array in outcome.points))
    runs = outcome.runs[few]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity_training, "jit", quickly)
        return capacity_training.compiled(
            outcome.task, network, runs, points, SMALL, **options
        )()


def test_training_lowers_the_error_and_does_not_depend_on_company(outcomes):
    outcome = outcomes[1]
    variance = outcome.points.held_out_y.var(axis=1)
    relu = outcome.trained["ReLU"].value
    assert (relu[:3] < variance[:3]).all()
    again = alone(outcome, outcome.task.relu)
    np.testing.assert_allclose(again.value, relu[1:2], rtol=1e-2)


def test_batchnorm_keeps_inputs_inside_and_has_its_table(outcomes):
    outcome = outcomes[1]
    trained = alone(outcome, outcome.task.dbn, batchnorm=True)
    assert trained.outside == 0  # a standardised uniform x is within 1.8
    assert trained.value != outcome.trained["DBN"].value[1]
    both = {"DBN": trained, "ReLU": trained}
    page = capacity_report.markdown(
        [dataclasses.replace(outcome, normalised=both)], SMALL
    )
    assert (
        f"| {outcome.task.show(trained.value[0])} |" in page.split("With BatchNorm")[1]
    )
    assert "With BatchNorm" not in capacity_report.markdown(outcomes, SMALL)


def test_tables_say_what_the_seeds_did(outcomes, written):
    seeds = list(csv.DictReader(io.StringIO((written / "seeds.csv").read_text())))
    lines = list(csv.DictReader(io.StringIO((written / "capacity.csv").read_text())))
    assert len(lines) == 2 * len(CHOSEN)
    for line in lines:
        own = [
            float(run["held_out"])
            for run in seeds
            if (run["task"], run["network"], run["variant"])
            == (line["task"], line["network"], "")
        ]
        assert len(own) == SMALL.seeds == int(line["seeds"])
        good = max if line["metric"].startswith("accuracy") else min
        assert float(line["best"]) == good(own)
        assert own[int(line["best_seed"])] == good(own)
        assert float(line["median"]) == pytest.approx(sorted(own)[1], rel=1e-5)
        target = float(line["target"])
        there = sum(good(value, target) == value for value in own)
        assert int(line["reached"]) == there
    varied = (written / "sensitivity.csv").read_text().splitlines()
    assert len(varied) == 1 + 2 * sum(len(task.variants) for task in CHOSEN)


def test_the_page_has_the_papers_figures_and_every_picture_exists(written):
    page = (written / "capacity.md").read_text()
    for paper in ("76.50%", "2.59e-04", "4.45e-03"):
        assert paper in page
    for picture in ("xor_blobs", "damped_oscillator", "seeds"):
        assert f"({picture}.png)" in page
        assert (written / f"{picture}.svg").stat().st_size > 5_000
        with Image.open(written / f"{picture}.png") as image:
            image.verify()
    assert (written / "there" / "xor.png").read_bytes()[:4] == b"\x89PNG"
    with Image.open(written / "xor_blobs.gif") as film:
        assert 3 <= film.n_frames <= capacity_tasks.QUICK.frames


def test_the_same_numbers_give_the_same_files(outcomes, written, tmp_path):
    from experiments.capacity import capacity_figures

    for path in capacity_report.write(outcomes, tmp_path, capacity_tasks.QUICK):
        assert path.read_bytes() == (written / path.name).read_bytes()
    for path in capacity_figures.save(
        capacity_figures.draw_seeds(outcomes), tmp_path / "seeds"
    ):
        assert path.read_bytes() == (written / path.name).read_bytes()


def test_parameters_are_counted_as_they_are(outcomes):
    for outcome in outcomes:
        for network in outcome.task.networks:
            history = outcome.trained[network.kind].history
            count = sum(leaf[0, 0].size for leaf in jax.tree.leaves(history))
            assert capacity_results.parameter_count(outcome.task, network) == count


def made_up(task, value, learned, held_out_y):
    """An outcome of one seed with these numbers."""
    runs = capacity_training.runs_of(task, Budget(seeds=1, seeds_of_variants=0))
    arrays = [np.array([number]) for number in (value, learned, 0.25)]
    points = capacity_training.Points(*[np.zeros((1, 1))] * 3, held_out_y[None], 0, 0)
    return Outcome(task, runs, points, {"DBN": Trained(*arrays, None)}, {})


@pytest.mark.parametrize(
    "task, value, learned, why",
    [
        (TASKS[1], 99.5, 100.0, "held-out ones near the boundary"),
        (TASKS[1], 91.0, 90.0, "local minimum"),
        (TASKS[4], 0.09, 0.09, "near a constant"),
        (TASKS[4], 0.01, 0.01, "right shape"),
    ],
)
def test_why_a_seed_fails(task, value, learned, why):
    waves = np.sqrt(0.2) * np.sin(np.linspace(0, 20 * np.pi, 1000))  # variance 0.1
    [failure] = capacity_results.failures(made_up(task, value, learned, waves))
    assert (failure.value, failure.learned, failure.outside) == (value, learned, 0.25)
    assert why in failure.why


def test_a_seed_at_the_target_is_no_failure():
    for task, value in ((TASKS[0], 100.0), (TASKS[3], 2e-4)):
        assert not capacity_results.failures(made_up(task, value, value, np.ones(3)))


def test_run_is_there_for_other_commands(monkeypatch, outcomes, tmp_path):
    asked = {}

    def run(out, budget):
        asked.update(out=out, budget=budget)
        return [row for outcome in outcomes for row in capacity_results.rows(outcome)]

    monkeypatch.setattr(capacity_command, "run", run)
    rows = experiments.capacity.run(tmp_path, quick=True)
    assert asked == {"out": tmp_path, "budget": capacity_tasks.QUICK}
    assert [(row.task, row.network) for row in rows[:2]] == [
        ("xor_blobs", "DBN"),
        ("xor_blobs", "ReLU"),
    ]


def test_a_budget_that_cannot_be_divided_is_refused():
    with pytest.raises(ValueError, match="multiple of snapshots, got 100 and 30"):
        dataclasses.replace(SMALL, steps=100, snapshots=30)
