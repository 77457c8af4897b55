"""Bounds and Lipschitz constants of networks against points that try to leave them."""

import functools
import math

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from jax.extend.core import jaxprs_in_params

import jaxbern as jb
from jaxbern.certify import _split_boxes
from jaxbern.certify._rounding import Bounds
from tests.nn.networks import network
from tests.oracles import casteljau
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly

# Both outputs, and the margin between them.
MARGIN = np.float32([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
# Of a network, and of its bounds: each option is somewhere.
CASES = {
    "bernstein, residual": ({"depth": 12, "degree": 5}, {}),
    "tangents": ({"depth": 4, "outside": "linear", "degree": 4}, {}),
    "tangents, intervals": ({"outside": "linear"}, {"method": "interval"}),
    "gelu": ({"activation": "gelu", "residual": False}, {"weights": MARGIN}),
    "relu": ({"depth": 1, "activation": "relu"}, {"splits": 3}),
    "bernstein": ({"residual": False, "monotone": True}, {"method": "interval"}),
    "selu": ({"activation": "selu"}, {"method": "interval"}),
    "leaky_relu": (
        {"activation": "leaky_relu", "residual": False},
        {"method": "interval", "weights": MARGIN},
    ),
}
each_case = pytest.mark.parametrize("name", CASES)
# Boxes that are bounded together: from a point to most of what the network knows.
RADII = np.float32([0, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 1.0])
CENTRE = np.float32([0.3, -0.4, 0.9])
LOWER, UPPER = CENTRE - RADII[:, None], CENTRE + RADII[:, None]


def model_of(name, seed=0, scale=1.0):
    options, _ = CASES[name]
    model = network(3, width=6, **{"depth": 3, **options}, seed=seed)
    for part in (model.first, model.hidden, model.last):
        part.kernel[...] = scale * part.kernel[...]
    model.eval()
    return model


@functools.cache
def program(name):
    """Bounds of networks with any numbers, compiled once."""
    graph = nnx.graphdef(model_of(name))

    @quickly
    def run(state, lower, upper):
        model = nnx.merge(graph, state)
        return jb.certify.bounds(model, lower, upper, **CASES[name][1])

    return lambda model, lower, upper: run(nnx.state(model), lower, upper)


def outputs(name, model, x):
    y = oracle.forward(model, x)
    weights = CASES[name][1].get("weights")
    return y if weights is None else y @ weights.T.astype(float)


def assert_inside(name, model, boxes, found, **effort):
    """Whatever the adversaries reach in each box; returns how far apart that is."""
    reached = []
    for box, ends in zip(
        zip(*boxes, strict=True), zip(*found, strict=True), strict=True
    ):
        y = outputs(name, model, oracle.adversaries(model, *box, **effort))
        lower, upper = (np.float64(end) for end in ends)
        assert (lower <= y).all(), (box, lower - y.min(axis=0))
        assert (y <= upper).all(), (box, y.max(axis=0) - upper)
        reached.append(np.ptp(y, axis=0))
    return np.stack(reached)


@each_case
def test_nothing_leaves_the_bounds(name):
    model = model_of(name)
    found = program(name)(model, LOWER, UPPER)
    reached = assert_inside(name, model, (LOWER, UPPER), found)
    widths = np.asarray(found.upper - found.lower)
    assert widths[0].max() < 3e-3  # a point is known up to rounding
    if CASES[name][1].get("method") != "interval":
        # A small box is known to first order.
        assert (widths[3] < 1.3 * reached[3] + 1e-3).all()


@settings(max_examples=12, deadline=None, database=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.1, 1.0, 5.0, 100.0]),
    name=st.sampled_from(
        ["bernstein, residual", "bernstein", "tangents", "relu", "selu"]
    ),
)
def test_nothing_leaves_the_bounds_of_any_network(seed, scale, name):
    rng = np.random.default_rng(seed)
    model = model_of(name, seed, scale)
    centre = np.float32(rng.normal(size=(len(RADII), 3)) * 10 ** rng.uniform(-2, 2))
    boxes = centre - RADII[:, None], centre + RADII[:, None]
    found = program(name)(model, *boxes)
    assert_inside(name, model, boxes, found, random=8, steps=2)


def test_affine_is_never_wider_and_mostly_much_tighter():
    name = "bernstein, residual"
    model = model_of(name)

    @quickly
    def by_intervals(lower, upper):
        return jb.certify.bounds(model, lower, upper, method="interval")

    interval = by_intervals(LOWER, UPPER)
    assert_inside(name, model, (LOWER, UPPER), interval, random=8, steps=2)
    affine = program(name)(model, LOWER, UPPER)
    assert (affine.lower >= interval.lower - 1e-4).all()
    assert (affine.upper <= interval.upper + 1e-4).all()
    width, other = (np.asarray(b.upper - b.lower) for b in (affine, interval))
    assert (width[3:5] < 0.5 * other[3:5]).all()


def test_all_inputs_at_once():
    """Behind its first layer a network of Bernstein activations is bounded anywhere."""
    name = "bernstein, residual"
    model = model_of(name)
    lower, upper = LOWER.copy(), UPPER.copy()
    lower[2], upper[2] = -math.inf, math.inf
    upper[3, 1] = math.inf
    found = program(name)(model, lower, upper)
    assert np.isfinite(found.lower).all()
    assert np.isfinite(found.upper).all()
    far = np.random.default_rng(0).normal(size=(4, 500, 3))
    y = oracle.forward(model, far * 10.0 ** np.arange(4)[:, None, None])
    assert (np.asarray(found.lower[2]) <= y).all()
    assert (y <= np.asarray(found.upper[2])).all()


def test_a_margin_is_tighter_than_its_parts():
    low, high = program("gelu")(model_of("gelu"), LOWER, UPPER)
    assert (low[4:, 2] > low[4:, 1] - high[4:, 0] + 1e-3).all()


def test_parts_cover_the_box():
    model = model_of("relu")
    split = quickly(lambda box: _split_boxes.split(lambda x: model(x[None])[0], box, 5))
    box = Bounds(jnp.asarray(LOWER[5]), jnp.asarray(UPPER[5]))
    parts = jax.tree.map(np.float64, split(box))
    assert parts.lower.shape == (32, 3)
    assert len(np.unique(np.concatenate(parts, axis=1), axis=0)) == 32
    x = np.random.default_rng(0).uniform(*box, (400, 3))
    inside = (parts.lower <= x[:, None]) & (x[:, None] <= parts.upper)
    assert inside.all(axis=2).any(axis=1).all()
    volumes = np.prod(parts.upper - parts.lower, axis=1)
    assert volumes.sum() == pytest.approx(0.6**3, rel=1e-5)


def test_programs_do_not_grow_with_depth():
    def equations(depth):
        model = network(3, depth, 4)
        model.eval()
        f = functools.partial(jb.certify.lipschitz, model)  # has the bounds in it
        return count(jax.make_jaxpr(f)(LOWER[0], UPPER[0]).jaxpr)

    assert equations(150) == equations(5)


def count(jaxpr):
    return sum(1 + sum(map(count, jaxprs_in_params(e.params))) for e in jaxpr.eqns)


def width(graph, state, method):
    model = nnx.merge(graph, state)
    low, high = jb.certify.bounds(model, LOWER[4], UPPER[4], method=method)
    return jnp.sum(high - low)


@pytest.mark.slow
def test_gradients_can_be_followed_to_tighter_bounds():
    model = network(3, 2, 4, activation="relu")
    model.eval()
    graph, state = nnx.split(model)
    of_both = jax.value_and_grad(functools.partial(width, graph))
    program = quickly(of_both, static_argnums=1)
    before, slope = jax.tree.map(np.asarray, program(state, "interval"))
    step = 0.02 * before / sum(np.sum(np.square(g)) for g in jax.tree.leaves(slope))
    moved = jax.tree.map(lambda a, g: np.asarray(a) - step * g, state, slope)
    after, _ = program(moved, "interval")
    assert float(before - after) == pytest.approx(0.02 * float(before), rel=0.2)
    # The other method has a gradient as well, which takes long to compile.
    jax.eval_shape(functools.partial(of_both, method="affine"), state)


def test_in_double_precision_rounding_is_out_of_sight(x64):
    model = network(3, 2, 4, activation="relu")
    model.eval()
    run = quickly(functools.partial(jb.certify.bounds, model, method="interval"))
    points = np.random.default_rng(0).normal(size=(5, 14, 3))  # more than 64
    low, high = run(points, points)
    assert low.dtype == np.float64
    y = oracle.forward(model, points)
    assert ((low <= y) & (y <= high)).all()
    assert (high - low < 1e-11).all()


@pytest.mark.slow
def test_lipschitz_in_a_box():
    model = model_of("bernstein, residual")
    run = quickly(functools.partial(jb.certify.lipschitz, model))
    found = np.float64(run(LOWER, UPPER))
    assert found.shape == RADII.shape
    for box, constant in zip(zip(LOWER, UPPER, strict=True), found, strict=True):
        x = oracle.adversaries(model, *box)
        steepest = np.linalg.norm(oracle.jacobian(model, x), 2, axis=(1, 2)).max()
        assert steepest <= constant
    # At a point it is the norm of the Jacobian, and it grows with the box.
    steepest = np.linalg.norm(oracle.jacobian(model, CENTRE[None])[0], 2)
    assert found[0] == pytest.approx(steepest, rel=3e-3)
    assert (np.diff(found) >= -1e-3 * found[0]).all()


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_lipschitz_everywhere(norm):
    name = "bernstein"
    model = model_of(name)
    jacobian, product = quickly(
        lambda: [
            jb.certify.lipschitz(model, norm=norm, method=method)
            for method in ("jacobian", "product")
        ]
    )()
    x, y = np.random.default_rng(0).normal(size=(2, 2000, 3))
    moved = np.linalg.norm(oracle.forward(model, x) - oracle.forward(model, y), norm, 1)
    quotients = moved / np.linalg.norm(x - y, norm, 1)
    steepest = np.linalg.norm(oracle.jacobian(model, x), norm, axis=(1, 2))
    assert max(quotients.max(), steepest.max()) <= jacobian <= product
    # The product of the norms of all layers with their steepest slopes, by hand.
    _, params = oracle._network(model)
    slopes = np.abs(np.diff(np.float64(params["coeffs"]), axis=2)).max(axis=2) * 3 / 6
    scale = slopes / np.sqrt(np.float64(model.var[...]) + model.config.epsilon)
    kernels = [params["first"]["kernel"], *params["hidden"]["kernel"]]
    norms = [
        np.linalg.norm((np.float64(k) * s).T, norm)
        for k, s in zip(kernels, scale, strict=True)
    ]
    last = np.linalg.norm(np.float64(params["last"]["kernel"]).T, norm)
    # Slopes are bounded piece by piece, so more tightly than by the coefficients.
    assert 0.3 * np.prod(norms) * last < product < 1.01 * np.prod(norms) * last


@pytest.mark.parametrize("outside", ["clamp", "linear"])
@pytest.mark.parametrize("domain", ["fixed", "learned", "batch"])
def test_an_activation_alone(domain, outside):
    rng = np.random.default_rng(0)
    coeffs = np.float32(rng.normal(size=(4, 6)))
    ends = np.array([-3.0, -2.0, -1.0, 0.0]), np.ones(4)
    act = jb.BernsteinAct(
        4, 5, domain=domain, init=lambda *_: coeffs, lower=ends[0], rngs=nnx.Rngs(0),
        upper=ends[1], outside=outside,
    )  # fmt: skip
    act.eval()
    if domain == "batch":
        act.var[...] = jnp.full(4, 4.0)
        ends = [end * np.sqrt(4 + 1e-5) for end in ends]
    columns, ends = coeffs.T[:, None], [end[None] for end in ends]
    lower = np.float32(rng.uniform(-4, 2, (2, 3, 4)))
    upper = lower + np.float32(10.0 ** rng.uniform(-6, 0.5, (2, 3, 4)))
    x = lower + np.linspace(0, 1, 40)[:, None, None, None] * (upper - lower)
    flat = x.reshape(-1, 4)
    y = casteljau.value(flat, columns, *ends).reshape(x.shape)
    slopes = np.abs(casteljau.slope(flat, columns, *ends)).reshape(x.shape)
    if outside == "linear":
        inside = np.clip(flat, *ends)
        tangents = casteljau.slope(inside, columns, *ends)
        y = y + (tangents * (flat - inside)).reshape(x.shape)
        slopes = np.abs(tangents).reshape(x.shape)
    found = jax.tree.map(np.asarray, jb.certify.bounds(act, lower, upper))
    # The ends of a learned domain and of a batch's are rounded.
    rounding = 0 if domain == "fixed" else 1e-6
    assert found.lower.shape == (2, 3, 4)
    assert (found.lower <= y + rounding).all()
    assert (y <= found.upper + rounding).all()
    assert (found.upper - found.lower < 1.3 * np.ptp(y, axis=0) + 1e-4).all()
    here, anywhere = jb.certify.lipschitz(act, lower, upper), jb.certify.lipschitz(act)
    assert here.shape == (2, 3)
    assert (slopes.max(axis=(0, 3)) <= np.asarray(here) + 10 * rounding).all()
    assert (here <= anywhere * (1 + 1e-5)).all()


MODEL = network(3, 2, 4)
MODEL.eval()
BOX = np.zeros(3, np.float32), np.ones(3, np.float32)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jb.certify.bounds(network(3, 2, 4), *BOX), ValueError,
         r"evaluation mode.*network.eval\(\)"),
        (lambda: jb.certify.lipschitz(nnx.Linear(3, 2, rngs=nnx.Rngs(0))), TypeError,
         "jaxbern.MLP or a jaxbern.BernsteinAct, got Linear"),
        (lambda: jb.certify.bounds(jnp.sin, *BOX), TypeError, "flax.nnx.Module"),
        (lambda: jb.certify.bounds(MODEL), ValueError, "a box, or a ball"),
        (lambda: jb.certify.bounds(MODEL, *BOX, rigorous=False), ValueError,
         'for training, with method="interval"'),
        (lambda: jb.certify.bounds(MODEL, *BOX, rigorous=0), TypeError, "True or False"),
        (lambda: jb.certify.bounds(MODEL, *BOX, method="exact"), ValueError,
         "method must be 'affine' or 'interval', got 'exact'"),
        (lambda: jb.certify.bounds(MODEL, BOX[1], BOX[0]), ValueError,
         "lower must be at most upper"),
        (lambda: jb.certify.bounds(MODEL, BOX[0] * np.nan, BOX[0]), ValueError, "NaN"),
        (lambda: jb.certify.bounds(MODEL, BOX[0][:2], BOX[1][:2]), ValueError,
         r"\[\.\.\., 3\].*lower has \[2\]"),
        (lambda: jb.certify.bounds(MODEL, BOX[0], BOX[1][None]), ValueError,
         r"upper has \[1, 3\]"),
        (lambda: jb.certify.bounds(MODEL, np.zeros(3, int), BOX[1]), TypeError,
         "lower must be floating point"),
        (lambda: jb.certify.bounds(MODEL, *BOX, weights=np.ones(2, "f4")), ValueError,
         r"weights must have shape \[k, 2\].*got \[2\]"),
        (lambda: jb.certify.bounds(MODEL, *BOX, weights=np.ones((3, 1, 2), "f4")),
         ValueError, r"\[k, 2\].*got \[3, 1, 2\]"),
        (lambda: jb.certify.bounds(MODEL, *BOX, splits=17), ValueError, "0 to 16"),
        (lambda: jb.certify.bounds(MODEL, *BOX, splits=1.0), TypeError, "splits .* int"),
        (lambda: jb.certify.lipschitz(MODEL, BOX[0]), ValueError, "belong together"),
        (lambda: jb.certify.lipschitz(MODEL, norm=3), ValueError, "norm must be 1 or 2 or inf"),
        (lambda: jb.certify.lipschitz(MODEL, method="affine"), ValueError,
         "'jacobian' or 'product'"),
        (lambda: jb.certify.lipschitz(MODEL, splits=2), ValueError, "splits .* box"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_an_activation():
    act = jb.BernsteinAct(3, 2, domain="batch", rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match="evaluation mode"):
        jb.certify.lipschitz(act)
    act.eval()
    with pytest.raises(ValueError, match="splits is for networks"):
        jb.certify.bounds(act, *BOX, splits=1)
