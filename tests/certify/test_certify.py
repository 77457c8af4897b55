"""Bounds of networks against points that try to leave them."""

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
from tests.certify.network_cases import CASES, LOWER, RADII, UPPER, model_of
from tests.nn.networks import network
from tests.oracles import casteljau
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly

each_case = pytest.mark.parametrize("name", CASES)


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
