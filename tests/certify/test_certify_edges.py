"""What users do that is unusual: no rows, wrong shapes, dropout in training, Ctrl-C."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.certify import _attack, _programs, _search
from tests.certify.module_cases import model_of
from tests.nn.networks import network
from tests.quick import quickly

X = np.random.default_rng(0).uniform(size=(5, 4)).astype("f4")
LABELS = np.array([0, 1, 2, 0, 1])


def linear():
    return nnx.Sequential(nnx.Linear(4, 3, rngs=nnx.Rngs(0)))


def mlp():
    model = network(4, 2, 5, out_features=3)
    model.eval()
    return model


@pytest.mark.parametrize("make", [linear, mlp])
@pytest.mark.parametrize("method", ["interval", "affine"])
def test_no_boxes_have_no_bounds(make, method):
    model, box = make(), (X[:0], X[:0])
    low, high = jb.certify.bounds(model, *box, method=method)
    assert low.shape == high.shape == (0, 3)
    weights = jb.certify.margin_weights(LABELS[:0], 3)
    assert jb.certify.bounds(
        model, *box, method=method, weights=weights
    ).lower.shape == (0, 2)


def test_no_rows_have_no_verdicts():
    found = jb.certify.robustness(linear(), X[:0], LABELS[:0], 0.1, seconds=1.0)
    assert found.verdict.shape == (0,)
    assert found.margins.shape == (0, 2)
    assert found.counterexamples.shape == (0, 4)
    assert math.isnan(found.certified_accuracy)
    assert "0 rows" in str(found)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x": X[:, :3]}, r"network cannot take inputs of shape \[1, 3\]: .*\(3,\)"),
        ({"lower": 1.0, "upper": 0.0}, "lower must be at most upper"),
        ({"lower": math.nan}, "lower must be at most upper"),
        ({"lower": np.zeros(3)}, r"lower must .*\[5, 4\], got \[3\]"),
        ({"upper": "one"}, "upper must be a number"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {"x": X, "labels": LABELS, "eps": 0.1, **change}
    with pytest.raises(ValueError, match=message):
        jb.certify.robustness(linear(), **given)


def test_a_box_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"cannot take inputs of shape \[1, 3\]"):
        jb.certify.bounds(linear(), X[:, :3], X[:, :3])


def test_ends_for_each_input():
    """Numbers for each input are as good as one for all."""
    ends = {"lower": np.zeros(4), "upper": np.ones(4)}
    one, other = (
        jb.certify.robustness(linear(), X, LABELS, 0.1, attacks=0, **given)
        for given in (ends, {"lower": 0.0, "upper": 1.0})
    )
    assert (one.margins == other.margins).all()


@pytest.mark.parametrize("labels", [LABELS - 1, LABELS + 1])
def test_classes_that_are_none(labels):
    with pytest.raises(ValueError, match="labels must be from 0 to 2, got"):
        jb.certify.margin_weights(labels, 3)
    with pytest.raises(ValueError, match="labels must be from 0 to 2, got"):
        jb.certify.robust_loss(linear(), X, labels, 0.1)


def test_classes_that_a_compiled_step_closes_over():
    """They are known while it is traced, but nothing may be computed of them by JAX."""
    labels = jnp.asarray(LABELS)
    run = jax.jit(lambda x: jb.certify.robust_loss(linear(), x, labels, 0.1))
    plain = jb.certify.robust_loss(linear(), X, LABELS, 0.1)
    assert float(run(X)) == pytest.approx(float(plain), rel=1e-5)


@pytest.mark.parametrize("eps", [-0.1, math.nan, math.inf])
def test_radii_that_are_none(eps):
    with pytest.raises(ValueError, match="eps must be a finite number of at least 0"):
        jb.certify.robust_loss(linear(), X, LABELS, eps)


def test_an_unknown_operation_is_named_before_any_search(monkeypatch):
    def attacked(*_, **__):
        raise AssertionError("searched")

    monkeypatch.setattr(_attack, "attacked", attacked)
    model = nnx.Sequential(nnx.Linear(4, 3, rngs=nnx.Rngs(0)), jnp.sin)
    with pytest.raises(NotImplementedError, match="'sin'"):
        jb.certify.robustness(model, X, LABELS, 0.1)


def test_ctrl_c_leaves_no_half_a_line(monkeypatch, capsys):
    def run(self, seconds):
        self._tell("parts")
        raise KeyboardInterrupt

    monkeypatch.setattr(_search.Search, "run", run)
    with pytest.raises(KeyboardInterrupt):
        jb.certify.robustness(linear(), X, LABELS, 0.1, attacks=0, progress=True)
    assert capsys.readouterr().err.endswith(" \r")


class Dropped(nnx.Module):
    """Dropout between two linear layers."""

    def __init__(self, rngs):
        self.first, self.last = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.first(x))))


@pytest.mark.slow
def test_dropout_in_training_is_one_mask_for_all_inputs_nearby():
    """Without a radius the worst case is the clean pass, with the same mask."""
    model, other = Dropped(nnx.Rngs(3)), Dropped(nnx.Rngs(3))
    with jax.numpy_dtype_promotion("standard"):  # which Dropout needs
        found = [float(jb.certify.robust_loss(model, X, LABELS, 0.0, mix=mix))
                 for mix in (1.0, 1.0)]  # fmt: skip
        plain = []
        for _ in range(2):
            logits = np.float64(other(X))
            picked = logits[np.arange(5), LABELS]
            plain.append(np.mean(np.log(np.exp(logits).sum(1)) - picked))
    np.testing.assert_allclose(found, plain, rtol=1e-5)
    assert abs(plain[0] - plain[1]) > 1e-3  # a new mask for each call


def test_boxes_beyond_whole_batches_are_those_of_one_program():
    """So many boxes at a time, and the rest with them: not a second program for the rest."""
    model = model_of("selu")
    kind, numbers = _programs.parts(model)
    lines = []
    for count in (2 * _programs.AT_ONCE, 2 * _programs.AT_ONCE + 5):
        box = jb.certify.Bounds(*(jnp.zeros((count, 4)) + k for k in (0, 1)))
        options = {"row": (4,), "method": "interval", "splits": 0}
        made = _programs.bounds.lower(kind, numbers, box, None, None, **options)
        lines.append(made.as_text().count("\n"))
    assert lines[1] < 1.2 * lines[0]


@pytest.mark.slow
def test_boxes_beyond_whole_batches_are_all_there():
    model, count = model_of("selu"), _programs.AT_ONCE + 3
    centre = np.random.default_rng(0).normal(size=(count, 4)).astype("f4")
    weights = np.random.default_rng(1).normal(size=(count, 2, 3)).astype("f4")
    box = centre - np.float32(0.1), centre + np.float32(0.1)
    run = quickly(
        lambda *box, weights: jb.certify.bounds(
            model, *box, weights=weights, method="interval"
        )
    )
    low, high = run(*box, weights=weights)
    assert low.shape == (count, 2)
    few = slice(count - 5, count)
    again = run(*(end[few] for end in box), weights=weights[few])
    np.testing.assert_allclose(low[few], again.lower, atol=1e-5)
    np.testing.assert_allclose(high[few], again.upper, atol=1e-5)
