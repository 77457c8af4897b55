"""Bounds in balls: points of the ball in float64, and linear networks, known exactly."""

import functools
import math

import jax
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.certify.module_cases import model_of
from tests.nn.networks import network
from tests.oracles import certify_oracle as oracle
from tests.quick import quickly

CENTRE = np.float32([[0.3, -0.4, 0.9], [0.0, 0.1, -0.2]])
RADIUS = np.float32([0.2, 0.6])


def in_ball(norm, count=3000, features=3, seed=0):
    """Points of the unit ball, many of them on its surface and some at its corners."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, features)) * rng.exponential(size=(count, features))
    x[: 2 * features] = np.concatenate([np.eye(features), -np.eye(features)])
    x = x / np.linalg.norm(x, norm, axis=1, keepdims=True)
    x[count // 2 :] *= rng.uniform(size=(count - count // 2, 1))
    return x * (1 - 1e-12)


MODELS = {
    "affine": (network(3, 3, 6, degree=4), {}),
    "interval": (network(3, 2, 6, degree=4), {"method": "interval"}),
    "relu": (network(3, 2, 6, activation="relu", residual=False), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2, math.inf])
@pytest.mark.parametrize("name", MODELS)
def test_nothing_leaves_the_bounds(name, norm):
    model, options = MODELS[name]
    model.eval()

    @quickly
    def run(centre, radius):
        ball = jb.certify.Ball(centre, radius, norm)
        box = centre - radius[:, None], centre + radius[:, None]
        return (
            jb.certify.bounds(model, ball=ball, **options),
            jb.certify.bounds(model, *box, **options),
            jb.certify.bounds(model, box[0], centre, ball=ball, **options),
        )

    balls, boxes, halves = jax.tree.map(np.float64, run(CENTRE, RADIUS))
    for k in range(2):
        away = RADIUS[k].astype(float) * in_ball(norm)
        y = oracle.forward(model, np.float64(CENTRE[k]) + away)
        assert (balls.lower[k] <= y).all()
        assert (y <= balls.upper[k]).all()
        below = y[(away <= 0).all(axis=1)]
        assert len(below) > 5
        assert (halves.lower[k] <= below).all()
        assert (below <= halves.upper[k]).all()
    widths = [np.sum(found.upper - found.lower) for found in (balls, boxes)]
    slack = 1e-3
    if norm == math.inf:
        assert widths[0] <= widths[1] + slack
    else:
        assert widths[0] < 0.95 * widths[1]


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
def test_of_a_module(norm):
    model = model_of("gelu, silu")
    centre = np.float32([[0.3, -0.4, 0.9, 0.1]])
    run = quickly(
        lambda x: jb.certify.bounds(model, ball=jb.certify.Ball(x, 0.3, norm))
    )
    low, high = map(np.float64, run(centre))
    x = np.float64(centre) + 0.3 * in_ball(norm, features=4)
    y = oracle.in_double(model)(x)
    assert (low <= y).all()
    assert (y <= high).all()
    assert (high - low < 2.5 * np.ptp(y, axis=0) + 1e-3).all()


@pytest.mark.parametrize("norm, dual", [(1, math.inf), (2, 2), (math.inf, 1)])
def test_a_linear_network_is_known_exactly(norm, dual):
    model = nnx.Sequential(
        nnx.Linear(3, 5, rngs=nnx.Rngs(0)), nnx.Linear(5, 2, rngs=nnx.Rngs(1))
    )
    kernels = [np.float64(layer.kernel[...]) for layer in model.layers]
    run = quickly(
        lambda x: jb.certify.bounds(model, ball=jb.certify.Ball(x, 0.5, norm))
    )
    low, high = run(CENTRE)
    reach = 0.5 * np.linalg.norm(kernels[0] @ kernels[1], dual, axis=0)
    np.testing.assert_allclose(high - low, 2 * np.tile(reach, (2, 1)), rtol=5e-4)


def test_lipschitz_in_norm_1_is_that_of_the_transpose():
    kernel = np.random.default_rng(0).normal(size=(4, 3)).astype("f4")
    norm = functools.partial(jb.certify._norms.upper_norm, kernel.T)
    assert float(norm(1)) == pytest.approx(np.linalg.norm(kernel.T, 1), rel=1e-5)
    assert float(norm(1)) >= np.linalg.norm(np.float64(kernel.T), 1)


MODEL = MODELS["affine"][0]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"ball": 0.1}, TypeError, r"jb.certify.Ball\(centre, radius, norm\)"),
        ({"ball": jb.certify.Ball(CENTRE, 0.1, 3)}, ValueError, "norm must be 1 or 2"),
        ({"ball": jb.certify.Ball(CENTRE, -0.1)}, ValueError, "must not be negative"),
        ({"ball": jb.certify.Ball(CENTRE, np.ones(3, "f4"))}, ValueError,
         r"radius must be a number or have shape \[2\]"),
        ({"ball": jb.certify.Ball(CENTRE[:, :2], 0.1)}, ValueError, r"\[\.\.\., 3\]"),
        ({"ball": jb.certify.Ball(CENTRE, 0.1), "lower": CENTRE}, ValueError, "both"),
    ],
)  # fmt: skip
def test_errors(options, error, message):
    MODEL.eval()
    with pytest.raises(error, match=message):
        jb.certify.bounds(MODEL, **options)
