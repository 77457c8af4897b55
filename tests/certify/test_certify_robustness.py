"""Verdicts against dense grids, linear models, and inputs that meet given limits."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.certify import _graphs, _programs, _search
from jaxbern.certify._backward import affine
from jaxbern.certify._nodes import ACTIVATIONS
from jaxbern.certify._rounding import Bounds
from tests.certify.module_cases import model_of
from tests.nn.networks import network
from tests.oracles import casteljau
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly

EPS = 0.15


@functools.cache
def curved():
    """Two inputs, three classes, boundaries that bend."""
    model = network(2, 2, 6, degree=4, residual=False, out_features=3, seed=3)
    for part in (model.first, model.hidden):
        part.kernel[...] = 2.5 * part.kernel[...]
    model.eval()
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (40, 2)).astype("f4")
    middle = oracle.forward(model, x).mean(axis=0)
    model.last.bias[...] = model.last.bias[...] - jnp.asarray(middle, jnp.float32)
    labels = oracle.forward(model, x).argmax(1)
    labels[0] = (labels[0] + 1) % 3  # wrong from the start
    return model, x, labels


def nearby(norm, count=41):
    """A grid of the ball of radius EPS."""
    line = np.linspace(-EPS, EPS, count)
    away = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    return away[np.linalg.norm(away, norm, axis=1) <= EPS]


@functools.cache
def found_for(norm, seconds):
    model, x, labels = curved()
    return jb.certify.robustness(
        model, x, labels, EPS, norm=norm, lower=-1.0, upper=1.0, seconds=seconds
    )


@pytest.mark.parametrize(
    "norm",
    [math.inf, *(pytest.param(norm, marks=pytest.mark.slow) for norm in (2, 1))],
)
def test_verdicts_are_true(norm):
    model, x, labels = curved()
    # The second time has enough for all rows: it ends when they are decided.
    once, often = found_for(norm, 0.0), found_for(norm, 60.0)
    for found in (once, often):
        for k in np.flatnonzero(found.proved):
            inputs = np.clip(np.float64(x[k]) + nearby(norm), -1, 1)
            assert (oracle.forward(model, inputs).argmax(1) == labels[k]).all()
            assert (found.margins[k] > 0).all()
        for k in np.flatnonzero(found.broken):
            example = found.counterexamples[k]
            away = np.linalg.norm(np.float64(example) - np.float64(x[k]), norm)
            assert away <= EPS
            assert (np.abs(example) <= 1).all()
            logits = np.asarray(model(example[None]))[0]
            assert np.delete(logits, labels[k]).max() >= logits[labels[k]]
        assert np.isnan(found.counterexamples[~found.broken]).all()
        assert found.broken[0]
        assert found.parts.min() >= 1
    assert (once.proved <= often.proved).all()
    assert (often.verdict != "unknown").sum() > (once.verdict != "unknown").sum()
    assert (often.verdict != "unknown").all()


def test_cutting_goes_both_ways():
    """Rows may choose inputs or activations; either way alone decides all rows."""
    model, x, labels = curved()
    verdicts = []
    for way in (True, False):
        kind, numbers = _programs.parts(model)
        region = jb.certify._robustness._region(
            x, EPS, math.inf, -1.0, 1.0, np.dtype("f4")
        )
        search = _search.Search(kind, numbers, region, labels, progress=False)
        search.first_pass(x)
        search.by_input = dict.fromkeys(search.open, way)
        search.run(60.0)
        verdicts.append(search.verdicts())
    # Without an attack a few broken rows may stay open near a boundary.
    both = (verdicts[0] != "unknown") & (verdicts[1] != "unknown")
    assert (verdicts[0][both] == verdicts[1][both]).all()
    for verdict in verdicts:
        expected = found_for(math.inf, 60.0).verdict
        assert (verdict == expected)[verdict != "unknown"].all()
        assert (verdict != "unknown").mean() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("norm, dual", [(1, math.inf), (2, 2), (math.inf, 1)])
def test_a_linear_model_is_decided_exactly(norm, dual):
    model = nnx.Linear(5, 3, rngs=nnx.Rngs(0))
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(60, 5)).astype("f4"), rng.integers(0, 3, 60)
    found = jb.certify.robustness(model, x, labels, 0.3, norm=norm)
    kernel = np.float64(model.kernel[...])
    logits = np.float64(x) @ kernel + np.float64(model.bias[...])
    least = np.full(60, np.inf)
    for k, label in enumerate(labels):
        for other in set(range(3)) - {label}:
            reach = 0.3 * np.linalg.norm(kernel[:, label] - kernel[:, other], dual)
            least[k] = min(least[k], logits[k, label] - logits[k, other] - reach)
    clear = np.abs(least) > 1e-3
    assert clear.sum() > 55
    assert (found.proved == (least > 0))[clear].all()
    assert (found.margins.min(1) <= least + 1e-12).all()
    np.testing.assert_allclose(found.margins.min(1), least, atol=1e-3)
    wrong = logits.argmax(1) != labels
    assert found.broken[wrong].all()
    if norm != 1:  # where the attack of a linear function is exact
        assert (found.broken == (least < 0))[clear].all()


@pytest.mark.slow
def test_limits_hold_for_the_inputs_that_meet_them():
    """Bounds with limits on activations, against points that are inside these."""
    model = network(3, 3, 6, degree=4, out_features=2)
    model.eval()
    kind, numbers = _programs.parts(model)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 3))
    hidden = preactivations(model, x)
    y = oracle.forward(model, x)

    @quickly
    def run(lower, upper):
        whole = _graphs.of_network(kind, numbers, (1, 3), jnp.float32)
        graph, output = whole.graph, whole.output
        steps = [
            k for k in graph.needed(output) if isinstance(graph.steps[k], ACTIVATIONS)
        ]
        limits = {
            k: Bounds(lower[j][None], upper[j][None]) for j, k in enumerate(steps)
        }
        box = Bounds(-jnp.ones((1, 3)), jnp.ones((1, 3)))
        found = affine(graph, output, box, None, limits)
        return found.boxes[output], found.empty

    met = 0
    for _ in range(30):
        lower = np.full((3, 6), -np.inf, "f4")
        upper = np.full((3, 6), np.inf, "f4")
        for _ in range(3):
            layer, neuron = rng.integers(3), rng.integers(6)
            value = np.float32(
                np.quantile(hidden[layer][:, neuron], rng.uniform(0.2, 0.8))
            )
            (lower if rng.integers(2) else upper)[layer, neuron] = value
        inside = np.ones(len(x), bool)
        for z, low, high in zip(hidden, lower, upper, strict=True):
            inside &= ((low <= z) & (z <= high)).all(axis=1)
        (low, high), empty = jax.tree.map(np.float64, run(lower, upper))
        met += inside.sum()
        if inside.any():
            assert not empty
            assert (low <= y[inside]).all()
            assert (y[inside] <= high).all()
    assert met > 5000
    nothing = np.full((3, 6), 1e3, "f4")
    assert run(nothing, np.full((3, 6), np.inf, "f4"))[1]


def preactivations(model, x):
    """What goes into the activations of a residual network, in float64."""
    params = jax.tree.map(np.float64, model.params())
    mean, var = np.float64(model.mean[...]), np.float64(model.var[...])
    found, h = [], x
    for k in range(model.config.depth):
        part = params["first"]
        if k:
            part = jax.tree.map(lambda a, k=k: a[k - 1], params["hidden"])
        z = h @ part["kernel"] + part["bias"]
        z = (z - mean[k]) / np.sqrt(var[k] + model.config.epsilon)
        found.append(z)
        columns = params["coeffs"][k].T[:, None]
        y = casteljau.value(z, columns, np.full((1, 6), -3.0), np.full((1, 6), 3.0))
        h = h + y if k else y
    return found


@pytest.mark.slow
def test_a_module_with_images():
    model = model_of("skips")
    x = np.random.default_rng(0).uniform(size=(6, 4, 4, 1)).astype("f4")
    labels = oracle.in_double(model)(x).argmax(1)
    found = jb.certify.robustness(model, x, labels, 0.02, seconds=1.0)
    assert found.counterexamples.shape == x.shape
    assert found.proved.any()
    for k in np.flatnonzero(found.proved):
        inputs = oracle.spread(x[k] - 0.02, x[k] + 0.02)
        assert (oracle.in_double(model)(inputs).argmax(1) == labels[k]).all()


def test_the_table():
    text = str(found_for(math.inf, 60.0))
    assert text.splitlines()[0].startswith("40 rows, eps 0.15 in the norm inf")
    found = found_for(math.inf, 60.0)
    for name in ("proved", "broken", "unknown"):
        [line] = [line for line in text.splitlines() if line.startswith(name)]
        assert int(line.split()[1]) == (found.verdict == name).sum()
    assert found.certified_accuracy == found.proved.mean()


def test_progress_is_shown_if_asked_for(capsys):
    model, x, labels = curved()
    jb.certify.robustness(model, x, labels, EPS, progress=True, attacks=0)
    assert "rows decided" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"eps": -1.0}, ValueError, "eps must be a finite number"),
        ({"eps": np.nan}, ValueError, "eps must be a finite number"),
        ({"norm": 3}, ValueError, "norm must be 1 or 2 or inf"),
        ({"labels": np.zeros(3, int)}, ValueError, r"labels \[rows\]"),
        ({"labels": np.full(40, 3)}, ValueError, "labels must be from 0 to 2"),
        ({"lower": 0.5}, ValueError, "x must lie between lower=0.5"),
        ({"x": np.zeros((40, 3), "f4")}, ValueError, r"x must have shape \[rows, 2\]"),
        ({"x": np.zeros((40, 2), int)}, TypeError, "x must be floating point"),
        ({"x": np.full((40, 2), np.nan, "f4")}, ValueError, "x must"),
        ({"seconds": -1}, ValueError, "seconds must be"),
        ({"attacks": 1.5}, ValueError, "attacks must be an int"),
        ({"model": network(2, 2, 6, out_features=3)}, ValueError, "evaluation mode"),
    ],
)
def test_errors(change, error, message):
    model, x, labels = curved()
    given = {"model": model, "x": x, "labels": labels, "eps": 0.1, **change}
    with pytest.raises(error, match=message):
        jb.certify.robustness(**given)
