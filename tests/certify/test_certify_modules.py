"""Bounds of modules as people write them, against the modules in float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.attack import attack, times
from tests.certify.module_cases import CASES, Skips, model_of
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly

RADII = np.float32([0, 1e-4, 0.02, 0.3, 2.0])
# Each output, and margins between them.
WEIGHTS = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [0, 1, -1]])
# Lines of each activation are tested in test_certify_parts; here the ways through a module.
BY_LINES = ("gelu, silu", "learned, monotone", "skips", "clipped")
QUICK = ("gelu, silu", "skips")
each_case = pytest.mark.parametrize(
    "name",
    [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in CASES],
)


@functools.cache
def program(name):
    """Outputs and margins by both methods, for any numbers, compiled once."""
    graph = nnx.graphdef(model_of(name))

    @quickly
    def run(state, lower, upper):
        model = nnx.merge(graph, state)
        return {
            method: jb.certify.bounds(
                model, lower, upper, method=method, weights=WEIGHTS
            )
            for method in ("interval", "affine")
        }

    return run


def boxes_of(name, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    centre = np.float32(scale * rng.normal(size=(len(RADII), *CASES[name][1])))
    radius = RADII.reshape(-1, *[1] * (centre.ndim - 1))
    return centre - radius, centre + radius


def violations(name, seed, scale=1.0, size=1.0):
    """Bounds of random boxes and points outside them: how many were looked at, and bad."""
    model = model_of(name, seed, size)
    lower, upper = boxes_of(name, seed, scale)
    found = program(name)(nnx.state(model), lower, upper)
    looked = bad = 0
    points = [oracle.spread(*box, seed=seed) for box in zip(lower, upper, strict=True)]
    outputs = oracle.in_double(model)(np.concatenate(points)).reshape(len(RADII), -1, 3)
    for k, y in enumerate(outputs @ WEIGHTS.T.astype(float)):
        for ends in found.values():
            low, high = (np.float64(end[k])[None] for end in ends)
            looked += y.size
            bad += int(((y < low) | (y > high)).sum())
    return looked, bad, found


@pytest.mark.slow
@each_case
def test_nothing_leaves_the_bounds(name):
    looked, bad, found = violations(name, 0)
    assert looked > 1000
    assert bad == 0
    interval, affine = (
        np.asarray(found[method].upper - found[method].lower)
        for method in ("interval", "affine")
    )
    assert np.isfinite(interval).all()
    assert (interval[0] < 2e-3).all()  # a point is known up to rounding
    assert (affine <= interval * (1 + 1e-4) + 1e-4).all()
    if name != "clipped":  # where a maximum over windows has level lines
        assert affine[2].sum() < 0.9 * interval[2].sum()
    for method in ("interval", "affine"):  # a margin is tighter than its parts
        low, high = found[method]
        assert (low[:, 3] >= low[:, 0] - high[:, 1] - 1e-3).all()
        assert (low[2:4, 3] > low[2:4, 0] - high[2:4, 1] + 1e-4).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_LINES])
def test_intervals_of_every_activation(name):
    model = model_of(name)
    lower, upper = boxes_of(name, 0)
    run = quickly(functools.partial(jb.certify.bounds, model, method="interval"))
    low, high = map(np.float64, run(lower, upper))
    for k in range(len(RADII)):
        y = oracle.in_double(model)(oracle.spread(lower[k], upper[k]))
        assert (low[k] <= y).all()
        assert (y <= high[k]).all()


@attack
@each_case
def test_any_numbers(name):
    rng = np.random.default_rng(1)
    looked = 0
    for seed in range(1, 1 + max(times(3 * len(CASES)) // len(CASES), 1)):
        size, scale = 10 ** rng.uniform(-1, 1.5), 10 ** rng.uniform(-1, 1)
        count, bad, _ = violations(name, seed, scale, size)
        assert bad == 0, (seed, size, scale)
        looked += count
    print(f"{name}: {looked} values inside")


@pytest.mark.slow
def test_the_range_is_not_far_from_the_truth():
    """A linear network, whose range is known: only rounding is left."""
    model = nnx.Sequential(
        nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.Linear(4, 2, rngs=nnx.Rngs(1))
    )
    kernel = np.float64(model.layers[0].kernel[...]) @ np.float64(
        model.layers[1].kernel[...]
    )
    low, high = jb.certify.bounds(model, -np.ones((1, 3), "f4"), np.ones((1, 3), "f4"))
    np.testing.assert_allclose(high - low, 2 * np.abs(kernel).sum(0)[None], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["interval", "affine"])
def test_rounding_of_linear_steps_is_paid_for(method):
    """At a point only rounding is left, and no activation's slack hides it."""
    model = nnx.Sequential(
        nnx.Linear(40, 30, rngs=nnx.Rngs(0)),
        nnx.BatchNorm(30, rngs=nnx.Rngs(0)),
        nnx.Linear(30, 20, rngs=nnx.Rngs(1)),
    )
    model.eval()
    x = np.random.default_rng(0).normal(size=(64, 40)).astype("f4")
    run = quickly(functools.partial(jb.certify.bounds, model, method=method))
    low, high = map(np.float64, run(x, x))
    y = oracle.in_double(model)(x)
    assert (low <= y).all()
    assert (y <= high).all()
    assert (high - low < 1e-3).all()


@pytest.mark.slow
def test_a_module_can_be_inside_another():
    inner = Skips(nnx.Rngs(0))
    model = nnx.Sequential(inner, nnx.tanh)
    model.eval()
    box = np.zeros((2, 4, 4, 1), "f4"), np.full((2, 4, 4, 1), 0.1, "f4")
    low, high = quickly(lambda *box: jb.certify.bounds(model, *box))(*box)
    y = oracle.in_double(model)(oracle.spread(box[0][0], box[1][0]))
    assert ((np.float64(low[0]) <= y) & (y <= np.float64(high[0]))).all()
    assert low.shape == (2, 3)


@pytest.mark.slow
def test_boxes_can_be_split():
    model = model_of("gelu, silu")
    lower, upper = (end[3:4] for end in boxes_of("gelu, silu", 0))
    once, often = quickly(
        lambda *box: [jb.certify.bounds(model, *box, splits=k) for k in (0, 4)]
    )(lower, upper)
    y = oracle.in_double(model)(oracle.spread(lower[0], upper[0]))
    assert (np.float64(often.lower) <= y).all()
    assert (y <= np.float64(often.upper)).all()
    assert (often.upper - often.lower).sum() < 0.95 * (once.upper - once.lower).sum()


@pytest.mark.slow
def test_weights_of_each_box():
    model = model_of("gelu, silu")
    lower, upper = boxes_of("gelu, silu", 0)
    weights = np.random.default_rng(0).normal(size=(len(RADII), 2, 3)).astype("f4")

    @quickly
    def run(lower, upper, weights):
        together = jb.certify.bounds(model, lower, upper, weights=weights)
        alone = jb.certify.bounds(model, lower[2:3], upper[2:3], weights=weights[2])
        return together, alone

    together, alone = run(lower, upper, weights)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one[2], other[0], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_number_that_is_none_says_nothing():
    model = model_of("relu, leaky_relu")
    box = np.zeros((1, 4), "f4"), np.ones((1, 4), "f4")
    run = program("relu, leaky_relu")
    for value in (np.nan, np.inf):
        model.layers[3].kernel[...] = model.layers[3].kernel[...].at[0, 0].set(value)
        boxes = [np.repeat(end, len(RADII), axis=0) for end in box]
        for found in run(nnx.state(model), *boxes).values():
            assert (found.lower == -np.inf).all()
            assert (found.upper == np.inf).all()


class Product(nnx.Module):
    def __call__(self, x):
        return x * x


class Rounded(nnx.Module):
    def __call__(self, x):
        return x.astype(jnp.bfloat16).astype(jnp.float32)


class Looped(nnx.Module):
    def __call__(self, x):
        return jax.lax.fori_loop(0, 2, lambda _, x: jnp.sin(x), x)


BOX = np.zeros((1, 4), "f4"), np.ones((1, 4), "f4")


@pytest.mark.parametrize(
    "model, error, message",
    [
        (nnx.Sequential(nnx.LayerNorm(4, rngs=nnx.Rngs(0))), NotImplementedError,
         r"layers.0 is a LayerNorm.*spread of each row.*nnx.BatchNorm"),
        (nnx.RMSNorm(4, rngs=nnx.Rngs(0)), NotImplementedError, "the network is a RMSNorm"),
        (nnx.BatchNorm(4, rngs=nnx.Rngs(0)), ValueError, r"network.eval\(\)"),
        (nnx.Sequential(nnx.Dropout(0.5, rngs=nnx.Rngs(0))), ValueError,
         r"network.eval\(\) first; layers.0 \(Dropout\) is not"),
        (Product(), NotImplementedError,
         r"product.*both depend on the input \(test_certify_modules.py, line \d+\)"),
        (Rounded(), NotImplementedError, "rounding to bfloat16"),
        (Looped(), NotImplementedError, "a loop or a branch"),
        (nnx.Sequential(jnp.sin), NotImplementedError, "'sin'.*write the network with"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(model, error, message):
    with pytest.raises(error, match=message):
        jb.certify.bounds(model, *BOX, method="interval")


def test_one_row_needs_its_batch_axis():
    with pytest.raises(
        ValueError, match=r"lower must have shape \[batch, ...\].*\[None\]"
    ):
        jb.certify.bounds(model_of("selu"), BOX[0][0], BOX[1][0])


def test_dropout_in_evaluation_is_nothing():
    model = nnx.Sequential(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), nnx.relu)
    model.eval()
    low, high = jb.certify.bounds(model, -BOX[1], BOX[1], method="interval")
    np.testing.assert_allclose(low, 0, atol=1e-5)
    np.testing.assert_allclose(high, 1, atol=1e-5)
