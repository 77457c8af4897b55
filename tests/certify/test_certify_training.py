"""Bounds and losses for training: values by hand in NumPy, gradients by differences."""

import functools
from fractions import Fraction

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from hypothesis import given, settings

import jaxbern as jb
from jaxbern.certify import _fixed, _hull
from jaxbern.certify._rounding import Bounds
from tests.certify.module_cases import CASES, Skips, model_of
from tests.nn.networks import network
from tests.oracles import certify_oracle as oracle
from tests.oracles.poly_oracle import exact_restrict, rational
from tests.quick import quickly

X = np.random.default_rng(0).uniform(size=(6, 3)).astype("f4")
LABELS = np.array([0, 1, 2, 2, 1, 0])


@quickly
def hulls(coeffs, lower, upper):
    ends = jnp.full((1,), -3.0), jnp.full((1,), 3.0)
    box = Bounds(lower, upper)
    return _hull.hull(coeffs, *ends, box, "clamp")


@settings(max_examples=25, deadline=None, database=None)
@given(
    st.lists(st.floats(-8, 8, width=32), min_size=6, max_size=6),
    st.floats(-5, 5, width=32),
    st.floats(-5, 5, width=32),
)
def test_the_hull_is_that_of_the_exact_coefficients(coeffs, one, other):
    start, stop = sorted((one, other))
    given = np.float32(coeffs)[:, None], np.float32([start]), np.float32([stop])
    found = hulls(*given)
    a, b = ((Fraction(min(max(end, -3), 3)) + 3) / 6 for end in (start, stop))
    exact = [float(c) for c in exact_restrict(rational(np.float32(coeffs)), a, b)]
    assert float(found.lower[0]) == pytest.approx(min(exact), abs=2e-4)
    assert float(found.upper[0]) == pytest.approx(max(exact), abs=2e-4)


@pytest.mark.parametrize("degree", [0, 1, 12])
def test_hulls_of_other_degrees_hold_the_values(degree):
    """Above degree 10 there is another program; tangents go on outside."""
    rng = np.random.default_rng(0)
    act = jb.BernsteinAct(64, degree, init="smooth", rngs=nnx.Rngs(0))
    lower = np.float32(rng.uniform(-6, 5, 64))
    upper = lower + np.float32(10 ** rng.uniform(-3, 1, 64))
    coeffs = act.coeffs[...].T
    ends = jnp.full((1,), -4.0), jnp.full((1,), 4.0)
    run = quickly(lambda *box: _hull.hull(coeffs, *ends, Bounds(*box), "linear"))
    low, high = map(np.asarray, run(lower, upper))
    x = lower + np.linspace(0, 1, 50)[:, None] * (upper - lower)
    y = oracle.in_double(act)(x)
    assert (low <= y + 1e-4).all()
    assert (y <= high + 1e-4).all()
    beside = (lower > 4) | (upper < -4)
    assert beside.any()
    np.testing.assert_allclose((high - low)[beside], np.ptp(y, 0)[beside], atol=1e-4)


@pytest.mark.parametrize("name", _fixed.FUNCTIONS)
def test_ranges_of_fixed_activations_are_exact(name):
    rng = np.random.default_rng(0)
    lower = np.float32(rng.uniform(-6, 4, 200))
    upper = lower + np.float32(10 ** rng.uniform(-3, 1, 200))
    low, high = _fixed.ends(name, Bounds(jnp.asarray(lower), jnp.asarray(upper)))
    x = np.linspace(lower, upper, 2001, dtype=np.float32)
    y = np.asarray(_fixed.FUNCTIONS[name].value(x))
    np.testing.assert_allclose(low, y.min(0), atol=3e-5)
    np.testing.assert_allclose(high, y.max(0), atol=3e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gelu, silu", "batch, shared", "skips", "clipped"])
def test_fast_bounds_hold_what_modules_give(name):
    model = model_of(name)
    rng = np.random.default_rng(0)
    lower = rng.normal(size=(4, *CASES[name][1])).astype("f4")
    upper = lower + np.float32(0.3)
    run = quickly(
        functools.partial(jb.certify.bounds, model, method="interval", rigorous=False)
    )
    low, high = map(np.asarray, run(lower, upper))
    for k in range(4):
        y = oracle.in_double(model)(oracle.spread(lower[k], upper[k]))
        assert (low[k] <= y + 1e-4).all()
        assert (y <= high[k] + 1e-4).all()


def ibp_margins(model, x, labels, eps):
    """Interval bounds of the margins of a relu network, by hand in float64."""
    lower, upper = (
        np.clip(np.float64(x) - eps, 0, 1),
        np.clip(np.float64(x) + eps, 0, 1),
    )
    params = jax.tree.map(np.float64, model.params())
    mean, var = np.float64(model.mean[...]), np.float64(model.var[...])
    for k in range(2):
        part = params["first"]
        if k:
            part = jax.tree.map(lambda a: a[0], params["hidden"])
        scale = 1 / np.sqrt(var[k] + model.config.epsilon)
        kernel, bias = part["kernel"] * scale, (part["bias"] - mean[k]) * scale
        plus, minus = np.maximum(kernel, 0), np.minimum(kernel, 0)
        ends = lower @ plus + upper @ minus + bias, upper @ plus + lower @ minus + bias
        lower, upper = (np.maximum(end, 0) for end in ends)
    rows = np.float64(jb.certify.margin_weights(labels, 3))
    kernel = np.einsum("bko,wo->bkw", rows, params["last"]["kernel"])
    least = np.einsum("bkw,bw->bk", np.maximum(kernel, 0), lower)
    least += np.einsum("bkw,bw->bk", np.minimum(kernel, 0), upper)
    return least + rows @ params["last"]["bias"]


def relu_network():
    model = network(3, 2, 5, activation="relu", residual=False, out_features=3)
    model.eval()
    return model


def cross_entropy(logits, labels):
    logits = np.float64(logits)
    return np.mean(np.log(np.exp(logits).sum(1)) - logits[range(len(labels)), labels])


@pytest.mark.slow
def test_the_loss_is_what_it_says():
    model = relu_network()
    run = quickly(
        lambda eps, mix: jb.certify.robust_loss(
            model, X, LABELS, eps, mix=mix, lower=0.0, upper=1.0
        )
    )
    margins = ibp_margins(model, X, LABELS, 0.1)
    robust = np.mean(np.log(1 + np.exp(-margins).sum(1)))
    plain = cross_entropy(oracle.forward(model, X), LABELS)
    for mix in (0.0, 0.3, 1.0):
        expected = (1 - mix) * plain + mix * robust
        assert float(run(0.1, mix)) == pytest.approx(expected, rel=1e-5)
    assert robust > plain + 0.01


def modules_in_training():
    yield network(3, 2, 5, out_features=3, outside="linear"), X
    for name in ("default", "batch, shared"):
        yield model_of(name), np.random.default_rng(0).normal(size=(6, 4)).astype("f4")
    images = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype("f4")
    yield Skips(nnx.Rngs(0)), images


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
def test_without_a_radius_it_is_the_plain_loss_in_training(which):
    """Which holds only if the bounds use the statistics of the clean pass."""
    model, x = list(modules_in_training())[which]
    model.train()
    graph, state = nnx.split(model)

    @quickly
    def both(state):
        model, other = nnx.merge(graph, state), nnx.merge(graph, state)
        found = jb.certify.robust_loss(model, x, LABELS, 0.0, mix=0.8)
        return found, other(x), nnx.state(model), nnx.state(other)

    loss, logits, changed, expected = both(state)
    assert float(loss) == pytest.approx(cross_entropy(logits, LABELS), rel=2e-4)
    # Running statistics move as in a call of the model.
    for one, other in zip(*map(jax.tree.leaves, (changed, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def smooth_modules():
    options = {"out_features": 3, "residual": False}
    yield network(3, 1, 5, degree=4, **options), X
    yield relu_network(), X
    yield (
        model_of("gelu, silu"),
        np.random.default_rng(0).normal(size=(6, 4)).astype("f4"),
    )
    images = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype("f4")
    yield Skips(nnx.Rngs(0)), images


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
def test_gradients_against_differences(which, x64):
    model, x = list(smooth_modules())[which]
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    params, rest = jax.tree.map(oracle.widened, (params, rest))
    x = jnp.asarray(np.float64(x))

    def loss(params, eps):
        model = nnx.merge(graph, params, jax.tree.map(jnp.asarray, rest))
        with jax.numpy_dtype_promotion("standard"):  # which BatchNorm needs in float64
            return jb.certify.robust_loss(model, x, LABELS, eps, mix=0.8)

    run = quickly(jax.value_and_grad(loss, argnums=(0, 1)))
    at = params, jnp.asarray(0.03)
    _, slope = run(*at)
    rng = np.random.default_rng(0)
    for _ in range(6):
        way = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), at)
        way = way[0], 0.01 * way[1]
        step = 1e-6
        ends = [
            run(*jax.tree.map(lambda a, w, h=h: a + h * w, at, way))[0]
            for h in (-step, step)
        ]
        moved = float(ends[1] - ends[0]) / (2 * step)
        parts = jax.tree.map(lambda g, w: jnp.sum(g * w), slope, way)
        assert moved == pytest.approx(float(sum(jax.tree.leaves(parts))), rel=1e-5)


@pytest.mark.slow
def test_a_training_step_as_users_write_it():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(64, 2)).astype("f4")
    labels = (x[:, 0] > x[:, 1]).astype("int32")
    model = network(2, 1, 8)
    optimizer = nnx.Optimizer(model, optax.adam(2e-2), wrt=nnx.Param)
    schedule = jb.certify.RobustSchedule(0.05, steps=60, mix=0.5)

    @nnx.jit
    def step(model, optimizer, count):
        eps, mix = schedule(count)

        def loss(model):
            return jb.certify.robust_loss(model, x, labels, eps, mix=mix)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        values = [float(step(model, optimizer, k)) for k in range(60)]
    assert values[-1] < 0.8 * values[0]
    assert not np.allclose(model.mean[...], 0)  # running statistics were kept
    model.eval()
    weights = jb.certify.margin_weights(labels, 2)
    box = x - np.float32(0.02), x + np.float32(0.02)
    low, _ = jb.certify.bounds(model, *box, method="interval", weights=weights)
    assert (np.asarray(low) > 0).mean() > 0.5


@pytest.mark.slow
def test_weights_of_each_box_are_those_of_one():
    model = relu_network()
    weights = np.asarray(jb.certify.margin_weights(LABELS, 3))
    lower, upper = X - np.float32(0.1), X + np.float32(0.1)

    @quickly
    def run(lower, upper, weights):
        options = {"method": "interval"}
        each = functools.partial(jb.certify.bounds, model, **options)
        together = each(lower, upper, weights=weights)
        alone = [
            each(*box, weights=w) for *box, w in zip(lower, upper, weights, strict=True)
        ]
        fast = each(lower, upper, weights=weights, rigorous=False)
        return together, alone, fast

    together, alone, fast = run(lower, upper, weights)
    for k, (low, high) in enumerate(alone):
        np.testing.assert_allclose(together.lower[k], low, atol=1e-5)
        np.testing.assert_allclose(together.upper[k], high, atol=1e-5)
    np.testing.assert_allclose(fast.lower, together.lower, atol=1e-3)


def test_schedules():
    schedule = jb.certify.RobustSchedule(0.2, 100, mix=0.5, begin=0.2, end=0.6)
    seen = [tuple(map(float, schedule(step))) for step in (0, 20, 40, 60, 99)]
    expected = [(0, 0), (0, 0), (0.1, 0.25), (0.2, 0.5), (0.2, 0.5)]
    np.testing.assert_allclose(seen, expected, atol=1e-6)
    at_once = jb.certify.RobustSchedule(0.2, 100, end=0.0)
    assert float(at_once(1)[0]) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jb.certify.RobustSchedule(-1.0, 10), ValueError, "eps must be at least 0"),
        (lambda: jb.certify.RobustSchedule("a", 10), TypeError, "eps must be a number"),
        (lambda: jb.certify.RobustSchedule(0.1, 0), ValueError, "steps must be at least 1"),
        (lambda: jb.certify.RobustSchedule(0.1, 1.5), TypeError, "steps must be an int"),
        (lambda: jb.certify.RobustSchedule(0.1, 9, mix=2), ValueError, "mix must be from 0"),
        (lambda: jb.certify.RobustSchedule(0.1, 9, begin=0.5, end=0.1), ValueError,
         "0 <= begin <= end"),
        (lambda: jb.certify.robust_loss(relu_network(), X, LABELS[:2], 0.1), ValueError,
         r"labels \[batch\].*shape \[2\]"),
        (lambda: jb.certify.robust_loss(relu_network(), X, X[:, 0], 0.1), ValueError,
         "whole numbers"),
        (lambda: jb.certify.robust_loss(nnx.relu, X, LABELS, 0.1), TypeError, "nnx.Module"),
        (lambda: jb.certify.margin_weights(LABELS, 1), ValueError, "at least 2"),
        (lambda: jb.certify.margin_weights(X, 3), TypeError, "whole numbers"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
