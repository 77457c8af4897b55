"""``python -m experiments theory``: fitted networks, slopes, files."""

import csv
import dataclasses
import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.__main__ import main
from experiments.theory import (
    exact_networks,
    theory_command,
    theory_fitting,
    theory_rate,
    theory_stability,
)
from experiments.theory.theory_fitting import TARGETS
from experiments.theory.theory_report import lessons
from tests.quick import quickly

pytestmark = pytest.mark.slow

SMALL = dataclasses.replace(theory_rate.QUICK, depths=(2,), iterations=30)


@pytest.fixture(scope="module")
def fit():
    """Each network is fitted once, for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theory_fitting, "jit", quickly)
        patch.setattr(theory_fitting, "fit", functools.cache(theory_fitting.fit))
        patch.setattr(theory_rate, "QUICK", SMALL)
        yield theory_fitting.fit


@pytest.fixture(scope="module")
def ran(fit, tmp_path_factory):
    """What a quick run found and wrote."""
    out = tmp_path_factory.mktemp("theory")
    return out, *theory_command.run(out, quick=True)


@pytest.fixture(scope="module")
def one(fit):
    """A small DBN, fitted a little."""
    return fit(2, 2, 2, seeds=2, iterations=30)


def layers_of(fitted, target, seed):
    return jax.tree.map(lambda a: a[target, seed], fitted.parameters)


def test_a_fitted_network_is_what_exact_arithmetic_says(one, x64):
    layers = layers_of(one, 0, 1)
    hidden = [
        exact_networks.Layer(
            *(
                [list(map(Fraction, map(float, row))) for row in part]
                for part in (layer["weights"][:-1].T,)
            ),
            list(map(Fraction, map(float, layer["weights"][-1]))),
            [list(map(Fraction, map(float, row))) for row in layer["coeffs"]],
            Fraction(-3),
            Fraction(3),
        )
        for layer in layers[:-1]
    ]
    *weights, bias = layers[-1]["weights"][:, 0].tolist()
    x = np.linspace(-1, 1, 9)
    found, _ = theory_fitting.forward(layers, jnp.asarray(x))
    for at, value in zip(x, found, strict=True):
        h = [Fraction(float(at))]
        for layer in hidden:
            h = layer(h)
        expected = sum(Fraction(w) * v for w, v in zip(weights, h, strict=True))
        assert float(value) == pytest.approx(
            float(expected + Fraction(bias)), abs=1e-10
        )


def test_errors_are_the_largest_and_fall(one, x64):
    x = np.linspace(-1, 1, 2001)
    for k, target in enumerate(TARGETS):
        for seed in range(2):
            found, _ = theory_fitting.forward(layers_of(one, k, seed), jnp.asarray(x))
            largest = np.abs(np.asarray(found) - target.f(x)).max()
            assert one.error[k, seed] == pytest.approx(largest, rel=0.05)
        assert one.error[k].min() < 0.2  # a constant has 0.5


def test_parameters_are_counted_as_they_are(one, x64):
    size = sum(a[0, 0].size for a in jax.tree.leaves(one.parameters))
    assert theory_fitting.parameter_count(2, 2, 2) == size
    relu = theory_fitting.start(jax.random.key(0), 3, 4, None)
    assert theory_fitting.parameter_count(3, 4, None) == sum(
        a["weights"].size for a in relu
    )


@pytest.mark.parametrize("degree", [None, 3])
def test_a_new_layer_changes_nothing_at_first(degree, x64):
    x = jnp.linspace(-1, 1, 50)
    layers = theory_fitting.start(jax.random.key(3), 2, 3, degree)
    deeper = theory_fitting.deepen(layers, x)
    assert len(deeper) == len(layers) + 1
    before, after = (
        theory_fitting.forward(layers, x)[0],
        theory_fitting.forward(deeper, x)[0],
    )
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


def test_the_best_shallower_networks_are_deepened(one, x64):
    x = jnp.linspace(-1, 1, 2001)
    starts = theory_fitting._starts(3, 2, 2, 2, one, x)
    for k, target in enumerate(TARGETS):
        deepened = jax.tree.map(lambda a, k=k: a[k, 2], starts)  # after two random ones
        error = jnp.abs(
            theory_fitting.forward(deepened, x)[0] - target.f(np.asarray(x))
        ).max()
        assert float(error) == pytest.approx(one.error[k].min(), rel=0.05)


def test_lessons_count_what_they_say():
    row = theory_rate.Row("smooth", "DBN", 1, 2, 1, 0.4, 0.4, 0.0, 0.5, 0.1)
    relu = dataclasses.replace(row, network="ReLU", degree=None, best=0.3)
    deep = [
        dataclasses.replace(row, depth=3, best=0.1),
        dataclasses.replace(relu, depth=3, best=0.15, bound=0.1),
    ]
    text = lessons([row, relu, *deep])
    assert (
        "Above their bounds are: ReLU with L = 3 on the smooth target (1.5 times)."
        in text
    )
    assert "From L = 1 to L = 3" in text
    assert "smooth: DBN n=2 4, ReLU 2." in text
    assert "No network here is above its bound." in lessons([row, relu])


def test_slopes_are_those_of_the_polynomial():
    coeffs = np.array([1.0, -2.0, 4.0])  # slopes at the ends: 2 / 6 of differences
    [row] = theory_stability.check("net", [{"coeffs": coeffs[None]}, {"weights": None}])
    assert row.measured == pytest.approx(2 * 6 / 6)
    assert row.sharp == pytest.approx(2 * 6 / 6)
    assert row.scaled == pytest.approx(2 * 2 * 4 / 6)
    assert row.paper == pytest.approx(2 * 2 * 4)
    assert row.in_coefficients == pytest.approx(1)
    assert row.holds
    for change in (
        {"measured": 2.1},
        {"sharp": 3.0},
        {"paper": 1.0},
        {"in_coefficients": 1.1},
    ):
        assert not dataclasses.replace(row, **change).holds


def test_what_limits_a_network():
    row = theory_rate.Row("smooth", "DBN", 1, 2, 1, 0.1, 0.1, 0.0, 0.1, 0.1)
    assert "as good as" in theory_rate.limited(row)
    assert "below any" in theory_rate.limited(dataclasses.replace(row, polynomial=0.2))
    assert "optimisation" in theory_rate.limited(
        dataclasses.replace(row, polynomial=0.01)
    )
    assert theory_rate.limited(dataclasses.replace(row, polynomial=None)) == ""


def test_everything_is_written_beside_its_bound(ran):
    out, found, written = ran
    assert found.holds
    assert all(path.stat().st_size for path in written)
    with (out / "rate.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.rates) == len(TARGETS) * 2
    for row in rows:
        delta = (SMALL.width * int(row["depth"])) ** -2.0
        if row["degree"]:
            delta = float(row["degree"]) ** -int(row["depth"])
        if row["target"] == "continuous":
            assert float(row["bound"]) == pytest.approx(delta**0.5, rel=0.01)
    page = (out / "theory.md").read_text()
    assert "does not vanish" in page
    assert f"Bounds broken: 0 of {len(found.neurons)} neurons" in page
    assert page.count("exactly") >= len(found.degrees)


def test_a_statement_that_fails_is_told(ran, capsys, monkeypatch, tmp_path):
    _, found, written = ran
    monkeypatch.setattr(theory_command, "run", lambda *_, **__: (found, written))
    assert main(["theory", "--quick", "--out", str(tmp_path)]) == 0
    assert "hold wherever" in capsys.readouterr().out
    wrong = dataclasses.replace(found.degrees[0], measured=1)
    broken = dataclasses.replace(found, degrees=[wrong])
    monkeypatch.setattr(theory_command, "run", lambda *_, **__: (broken, written))
    assert main(["theory", "--out", str(tmp_path)]) == 1
    assert "NOT" in capsys.readouterr().out


def test_the_table_alone(capsys):
    options = ["--width", "4", "--depth", "2", "--degree", "3", "--dimension", "1"]
    assert main(["theory", "--table", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split("|")[1:4] == [" DBN ", " n^(-L) ", " 0.111 "]
    assert "0.0156" in lines[2]  # (4 * 2)^-2
