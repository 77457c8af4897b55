"""``python -m experiments comparison``: what is measured, and what the tables say of it."""

import csv
import dataclasses
import math

import jax
import numpy as np
import pytest

from experiments.comparison import (
    candidates,
    compared_layers,
    compared_packages,
    comparison_command,
    comparison_report,
    comparison_tasks,
    comparison_training,
    jax_engine,
)
from experiments.comparison.candidates import ACTIVATIONS, DENSE, NETWORKS, Candidate
from experiments.comparison.compared_layers import Measured
from experiments.comparison.compared_packages import Package
from experiments.comparison.comparison_training import Run, Trained

pytestmark = pytest.mark.slow

ALL_OTHERS = tuple(package.name for package in compared_packages.OTHERS)
OURS = candidates.usable(ACTIVATIONS, ALL_OTHERS)


@pytest.fixture(autouse=True)
def defaults_of_users():
    """The other packages know nothing of strict promotion."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def test_a_package_that_is_nowhere_is_named_with_the_way_to_it():
    nowhere = Package("Nowhere", "nowhere_at_all.layers", "pip install nowhere")
    assert nowhere.problem() == "not installed: pip install nowhere"
    assert nowhere.version() == "from source"
    assert compared_packages.JAXBERN.problem() is None


def test_a_package_whose_import_fails_is_told_from_a_missing_one(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('no GPU here')")
    monkeypatch.syspath_prepend(tmp_path)
    problem = Package("Broken", "broken_package", "pip install broken").problem()
    assert "its import fails: OSError('no GPU here')" in problem


def test_without_any_other_package_ours_and_relu_are_left():
    assert [c.name for c in OURS] == ["jaxbern", "ReLU in JAX"]
    for own in (ACTIVATIONS, DENSE, NETWORKS):
        left = candidates.usable(own, ALL_OTHERS)
        assert left[0].name == comparison_report.UNIT
        assert {c.package for c in left} == {compared_packages.JAXBERN}
    assert candidates.usable(ACTIVATIONS, ("PyTorch",)) == OURS


@pytest.fixture(scope="module")
def measured():
    return compared_layers.measure(OURS, rows=32, width=4, repeats=2)


def test_layers_are_measured(measured):
    bernstein, relu = measured
    assert (bernstein.parameters, relu.parameters) == (4 * 10, 0)
    assert all(0 < m.milliseconds < 1e4 for m in measured)
    x = 4 * 32 * 4
    assert bernstein.kept == 4 * 40  # the input as it is, the coefficients transposed
    assert relu.kept == 32 * 4  # where it is positive, a byte each
    assert bernstein.peak >= 2 * x + 4 * 40  # y, dx and dc
    assert relu.peak >= 2 * x


def test_what_a_backward_pass_keeps_is_counted():
    """Of ``sin``, its cosine: one array like the input."""
    from flax import nnx

    class Sine(nnx.Module):
        def __call__(self, x):
            return jax.numpy.sin(x)

    x = np.ones((8, 16), np.float32)
    step, kept, _ = jax_engine.layer(Sine(), x, 2 * x)
    y, _, dx = step()
    assert kept == x.nbytes
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(dx, 2 * np.cos(x), rtol=1e-6)


def test_ratios_are_those_of_the_times():
    made_up = [
        Measured(OURS[1], 0, 2.0, 0, 2**20),
        Measured(OURS[0], 40, 8.0, 2**19, 2**22),
    ]
    records = comparison_report.layer_records(made_up)
    assert [r["ratio"] for r in records] == [0.25, 1.0]
    relu, bernstein = comparison_report.layer_table(records).splitlines()[2:]
    assert relu == "| ReLU in JAX | nothing learned | 0 | 2.00 | 0.25 | 0.0 | 1.0 |"
    assert bernstein.endswith("| 40 | 8.00 | 1.00 | 0.5 | 4.0 |")


def test_a_loss_never_reached_is_a_dash():
    ours, relu = NETWORKS[0], NETWORKS[2]
    runs = (Run(9, 40, 2.0, 0.5), Run(9, 60, 1.5, 0.4), Run(9, 20, 3.0, 0.6))
    stopped = Run(9, math.inf, 1.0, 0.9, "stopped after 3 steps: no")
    far = (stopped, Run(9, math.inf, 1.0, 0.8), runs[0])
    records = comparison_report.training_records(
        [Trained(ours, 5, 0.01, runs), Trained(relu, 6, 0.1, far)]
    )
    assert (records[0]["steps"], records[0]["ms_per_step"]) == (40, 1.5)
    assert records[0]["seconds"] == pytest.approx(0.06)
    assert records[0]["ratio"] == 1.0
    assert math.isnan(records[1]["ratio"])
    slower = (Run(9, 80, 3.0, 0.5),) * 3
    both = [Trained(ours, 5, 0.01, runs), Trained(relu, 6, 0.1, slower)]
    assert comparison_report.training_records(both)[1]["ratio"] == pytest.approx(
        0.24 / 0.06
    )
    assert (records[0]["lowest_loss"], records[1]["lowest_loss"]) == (0.5, 0.8)
    text = comparison_report.training_table(records)
    assert "| 3 of 3 | 40 | 1.50 | 0.06 | 1.00 | 0.5 |" in text
    assert "| 1 of 3 | – | 1.00 | – | – | 0.8 |" in text
    assert text.endswith("ReLU in JAX stopped after 3 steps: no.")


class Falling:
    """A training whose loss is halved by every stretch."""

    parameters = 1

    def __init__(self, calls, name):
        self.calls, self.name, self.value = calls, name, 1.0

    def train(self, batches):
        self.calls.append((self.name, len(batches)))
        self.value /= 2

    def loss(self):
        return self.value


class Failing(Falling):
    def train(self, batches):
        raise ValueError("out of bounds")


def test_a_race_takes_turns_until_the_target():
    task = comparison_tasks.function(8, 4, 2 * comparison_training.CHECK + 5)
    calls = []
    first, second, third = NETWORKS[:3]
    runners = {
        first: Falling(calls, "a"), second: Falling(calls, "b"), third: Failing(calls, "c"),
    }  # fmt: skip
    runners[second].value = 2.0**-9
    runs = comparison_training.race(runners, task)
    full = comparison_training.CHECK
    assert calls == [("a", full), ("b", full), ("a", full), ("a", 5)]
    assert runs[second].steps == comparison_training.CHECK
    assert (runs[first].steps, runs[first].loss) == (math.inf, 0.125)
    assert runs[third].problem == "stopped after 0 steps: out of bounds"


def test_batches_hold_every_row_once_an_epoch():
    task = comparison_tasks.function(12, 4, 7)
    assert task.batches.shape == (7, 4)
    for epoch in (task.batches[:3], task.batches[3:6]):
        assert sorted(epoch.ravel()) == list(range(12))
    x = task.x.astype(np.float64)
    expected = np.e ** (np.sin(np.pi * x[:, 0])) * np.e ** (x[:, 1] ** 2)
    np.testing.assert_allclose(task.y, expected, rtol=1e-5)


def test_the_widest_network_within_the_budget():
    task = comparison_tasks.function(8, 4, 4)
    width = comparison_training.fitting_width(NETWORKS[0], task)

    def count(w):  # two layers with biases and ten coefficients a neuron, one output
        return (2 * w + w + 10 * w) + (w * w + w + 10 * w) + (w + 1)

    assert count(width) <= task.budget < count(width + 1)


@pytest.fixture(scope="module")
def trained():
    """jaxbern on the function, with a target that 40 steps can reach."""
    task = comparison_tasks.function(64, 32, 40)
    easy = dataclasses.replace(task, target=1.5, budget=200)
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.default_prng_impl("unsafe_rbg"),  # compiles in a third of the time
    ):
        return comparison_training.measure(NETWORKS[:1], easy, [0], [1e-6, 3e-2])


def test_the_better_rate_counts(trained):
    [ours] = trained
    assert ours.learning_rate == 3e-2
    assert ours.steps in (comparison_training.CHECK, 2 * comparison_training.CHECK)
    assert ours.runs[0].loss <= 1.5
    assert 0 < ours.seconds < 60


def test_the_command_writes_what_it_prints(
    measured, trained, tmp_path, monkeypatch, capsys
):
    everything = dict.fromkeys(ALL_OTHERS, "not installed: pip install it")
    monkeypatch.setattr(compared_packages, "missing", lambda: everything)
    monkeypatch.setattr(compared_layers, "measure", lambda *_: measured)
    monkeypatch.setattr(comparison_training, "measure", lambda *_: trained)
    assert comparison_command.main(["--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "comparison.md").read_text()
    assert text in capsys.readouterr().out
    assert "pykan is left out (not installed: pip install it)." in text
    with (tmp_path / "layer-activation.csv").open() as file:
        bernstein, relu = csv.DictReader(file)
    ratio = measured[1].milliseconds / measured[0].milliseconds
    assert float(bernstein["ratio"]) == 1
    assert float(relu["ratio"]) == pytest.approx(ratio, rel=1e-4)
    with (tmp_path / "training-collider.csv").open() as file:
        [ours] = csv.DictReader(file)
    assert (ours["reached"], ours["ratio"]) == ("1", "1")


def test_what_cannot_work_is_refused(capsys):
    assert comparison_command.main(["--seeds", "0"]) == 2
    assert "--seeds must be at least 1, got 0" in capsys.readouterr().err
    assert comparison_command.main(["--rows", "63"]) == 2
    assert "--rows must be at least 64, got 63" in capsys.readouterr().err


def usable_or_skip(candidate: Candidate) -> None:
    needed = [candidate.package]
    if candidate.framework == "torch":
        needed.append(compared_packages.TORCH)
    for package in needed:
        if (why := package.problem()) is not None:
            pytest.skip(f"{package.name}: {why}")


FOREIGN = [
    c for c in (*ACTIVATIONS, *DENSE) if c.package is not compared_packages.JAXBERN
]


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("candidate", FOREIGN, ids=lambda c: c.name)
def test_layer_of_another_package(candidate):
    usable_or_skip(candidate)
    ours = (ACTIVATIONS if candidate in ACTIVATIONS else DENSE)[0]
    found = compared_layers.measure([ours, candidate], rows=16, width=4, repeats=1)[1]
    assert 0 < found.milliseconds < 1e5
    assert found.peak >= 2 * 4 * 16 * 4  # y and dx
    per_function = found.parameters / (4 * 4)
    if candidate in DENSE:
        assert 10 <= per_function <= 13


def test_deepbern_computes_the_same_polynomial():
    """The same formula in another framework: the closest thing to an oracle here."""
    [candidate] = [c for c in ACTIVATIONS if c.package is compared_packages.DEEPBERN]
    usable_or_skip(candidate)
    import torch

    import jaxbern as jb

    layer = candidate.make(4, 0)
    x = np.linspace(-3, 3, 40, dtype=np.float32).reshape(10, 4)
    expected = layer(torch.tensor(x)).detach().numpy()
    found = jb.bernstein(x, layer.bern_coeffs.detach().numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "candidate",
    [c for c in NETWORKS if c.package is not compared_packages.JAXBERN],
    ids=lambda c: c.name,
)
def test_network_of_another_package_learns(candidate):
    usable_or_skip(candidate)
    task = comparison_tasks.function(64, 32, 40)
    network = candidate.make(*task.sizes, 6, 0)
    trainer = compared_layers.ENGINES[candidate.framework].Trainer(network, task, 1e-2)
    before = trainer.loss()
    trainer.train(task.batches)
    assert trainer.loss() < before
