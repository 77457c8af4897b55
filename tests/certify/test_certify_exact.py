"""Certificates against exact rational arithmetic, where float32 is at its limits."""

import functools
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.attack import attack, times
from tests.nn.networks import network
from tests.oracles import certify_oracle as oracle
from tests.oracles.poly_oracle import exact_derivative, exact_value, rational
from tests.quick import quickly

# Ends that are not float32 numbers, some far from zero for their width.
AWKWARD = [(0.1, 0.10001), (10.1, 10.2), (1000.1, 1000.7), (-0.3, 0.7), (-1e6, -999999)]
TOO_EXTREME = [(-1e38, 1e38), (1e-38, 3e-38), (0.0, 1e-37), (-3e38, 3e38)]


def activation(lower, upper, coeffs, outside="clamp"):
    return jb.BernsteinAct(
        1,
        coeffs.shape[-1] - 1,
        lower=lower,
        upper=upper,
        outside=outside,
        init=lambda *_: jnp.asarray(coeffs, jnp.float32),
        rngs=nnx.Rngs(0),
    )


def stored(act):
    """What the layer promises: its coefficients and the ends it says it has."""
    return (
        rational(act.coeffs[...]),
        Fraction(act.config.lower),
        Fraction(act.config.upper),
    )


def outside(act, start, stop, places=9):
    """How many points of a box are outside the bounds, in exact arithmetic."""
    box = jnp.asarray([start], jnp.float32), jnp.asarray([stop], jnp.float32)
    found = [Fraction(*float(end[0]).as_integer_ratio()) if np.isfinite(end[0]) else end
             for end in jb.certify.bounds(act, *box)]  # fmt: skip
    steepest = float(jb.certify.lipschitz(act, *box))
    coeffs, lower, upper = stored(act)
    steps = exact_derivative(coeffs, upper - lower, 1)
    bad = 0
    for place in range(places):
        left, right = (Fraction(float(end[0])) for end in box)
        x = left + Fraction(place, places - 1) * (right - left)
        inside = min(max(x, lower), upper)
        t = (inside - lower) / (upper - lower)
        slope = exact_value(steps, t)
        if act.config.outside == "clamp":
            slope = slope if lower <= x <= upper else 0
        y = exact_value(coeffs, t) + slope * (x - inside)
        bad += not (found[0] <= y <= found[1])
        bad += bool(abs(slope) > steepest)
    return bad


@pytest.mark.slow
@pytest.mark.parametrize("lower, upper", AWKWARD)
def test_ends_that_are_not_float32_numbers(lower, upper):
    rng = np.random.default_rng(0)
    for degree in (1, 9):
        act = activation(lower, upper, rng.normal(size=(1, degree + 1)))
        inner = np.sort(rng.uniform(lower, upper, (4, 2)))
        for start, stop in [(lower, upper), (lower, lower), (upper, upper), *inner]:
            assert not outside(act, start, stop)


@pytest.mark.parametrize("half", [1e-25, 1.0, 5e36])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_tangents_whose_slope_a_float_cannot_hold(half, size):
    coeffs = size * np.random.default_rng(0).normal(size=(1, 10))
    act = activation(-half, half, coeffs, "linear")
    for start, stop in [(-3, -2), (-2, 0.5), (0, 7), (5, 6), (1, 1)]:
        assert not outside(act, start * half, stop * half)


@pytest.mark.parametrize("lower, upper", TOO_EXTREME)
def test_an_interval_that_float32_cannot_carry_is_refused(lower, upper):
    message = "upper - lower must be from"
    with pytest.raises(ValueError, match=message):
        activation(lower, upper, np.ones((1, 3)))
    with pytest.raises(ValueError, match=message):
        jb.train.NetworkConfig(2, 2, 2, lower=lower, upper=upper)
    with pytest.raises(ValueError, match=message):
        jb.poly.derivative(jnp.ones(3), lower=lower, upper=upper)


@attack
def test_layers_on_intervals_of_every_size():
    rng = np.random.default_rng(0)
    made = refused = 0
    while made < times(80):
        width, away = 10 ** rng.uniform(-37, 37), 10 ** rng.uniform(-6, 6)
        middle = rng.choice([-away, 0, away])
        lower, upper = middle - width / 2, middle + width / 2
        # Each is compiled, and few do for a few layers.
        degree = rng.choice([0, 1, 2, 3, 5, 9, 25] if times(0) else [1, 9])
        coeffs = rng.normal(size=(1, degree + 1)) * 10 ** rng.uniform(-6, 6)
        try:
            act = activation(lower, upper, coeffs, rng.choice(["clamp", "linear"]))
        except ValueError:
            refused += 1
            continue
        made += 1
        for reach in (0.7, 0.7, 5.0):
            ends = middle + width * rng.uniform(-reach, reach, 2)
            assert not outside(act, *np.sort(np.float32(ends)), places=5)
    print(f"{made} layers on intervals of every size, {refused} refused")
    assert refused < 4 * made


MODEL = network(3, 2, 4)
MODEL.eval()
REVERSED = np.float32([0, 1, 0]), np.float32([1, 0, 1])
NAN = np.float32([0, np.nan, 0]), np.float32([1, 1, 1])


@pytest.mark.slow
def test_of_a_box_that_is_none_nothing_is_known():
    act = jb.BernsteinAct(3, 4, rngs=nnx.Rngs(0))
    good = np.zeros(3, np.float32), np.ones(3, np.float32)
    boxes = [np.stack(ends) for ends in zip(good, REVERSED, NAN, strict=True)]

    @quickly
    def run(lower, upper):
        bounds = (
            *jb.certify.bounds(MODEL, lower, upper, method="interval"),
            *jb.certify.bounds(act, lower, upper),
        )
        slopes = (
            jb.certify.lipschitz(MODEL, lower, upper, method="product"),
            jb.certify.lipschitz(act, lower, upper),
        )
        return bounds, slopes

    (low, high, act_low, act_high), slopes = jax.tree.map(np.asarray, run(*boxes))
    assert np.isfinite([low[0], high[0]]).all()
    assert (low[1:] == -np.inf).all()
    assert (high[1:] == np.inf).all()
    assert np.isfinite([act_low[0], act_high[0]]).all()
    # Of an activation the other neurons have boxes of their own.
    assert (act_low[1:] == np.where([0, 1, 0], -np.inf, act_low[0])).all()
    assert (act_high[1:] == np.where([0, 1, 0], np.inf, act_high[0])).all()
    for slope in slopes:
        assert np.isfinite(slope[0])
        assert (slope[1:] == np.inf).all()


@functools.cache
def quick_certificates():
    graph = nnx.graphdef(MODEL)

    @quickly
    def run(state, lower, upper):
        model = nnx.merge(graph, state)
        return (
            jb.certify.bounds(model, lower, upper, method="interval"),
            jb.certify.lipschitz(model, method="product"),
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["first.bias", "hidden.kernel", "last.kernel", "coeffs", "mean", "var"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5])
def test_of_a_network_that_gives_nan_nothing_is_known(part, value):
    state = nnx.state(MODEL)
    graph = nnx.graphdef(MODEL)
    model = nnx.merge(graph, jax.tree.map(jnp.array, state))
    variable = functools.reduce(getattr, part.split("."), model)
    array = np.array(variable[...])
    array.flat[0] = value
    variable[...] = jnp.asarray(array)
    box = np.zeros(3, np.float32), np.ones(3, np.float32)
    (low, high), slope = quick_certificates()(nnx.state(model), *box)
    if value == -0.5 and part != "var":
        assert np.isfinite([*low, *high, slope]).all()
    else:
        assert (low == -np.inf).all()
        assert (high == np.inf).all()
        assert slope == np.inf


def test_splits_may_be_of_numpy():
    jb.certify._arguments.check_splits(np.int64(1))
    with pytest.raises(TypeError, match="splits must be an int, got True"):
        jb.certify._arguments.check_splits(True)


def test_an_activation_with_a_nan():
    act = activation(-3.0, 3.0, np.array([[0.0, np.nan, 1.0]]))
    low, high = jb.certify.bounds(act, np.zeros(1), np.ones(1))
    assert low == -np.inf
    assert high == np.inf
    assert jb.certify.lipschitz(act) == np.inf


@pytest.mark.parametrize("end", [0.1, 1 / 3, -1e6 / 3, 1e-50, 1e39, -1e39])
def test_a_box_in_float64_is_rounded_outward(end):
    lower, upper = jb.certify._arguments.box_of([end], np.array([end]), (1,))
    assert float(lower[0]) <= end <= float(upper[0])
    ends = np.float32([lower[0], upper[0]])
    assert np.isinf(ends).any() or np.diff(ends) <= np.spacing(np.abs(ends).max())
    with pytest.raises(ValueError, match="at most upper"):
        jb.certify.bounds(MODEL, [end + abs(end) * 1e-12, 0.0, 0.0], [end, 0.0, 0.0])


ACTIVATIONS = ("bernstein", "bernstein linear", "relu", "leaky_relu", "selu", "gelu")
CONFIGURATIONS = [
    (activation, residual, dtype, scale)
    for scale, residual, dtype, activation in itertools.product(
        (1.0, 1e3, 1e6), (True, False), ("float32", "bfloat16"), ACTIVATIONS
    )
]


@functools.cache
def program(*configuration):
    graph = nnx.graphdef(some_network(*configuration))

    @quickly
    def run(state, lower, upper):
        model = nnx.merge(graph, state)
        return jb.certify.bounds(model, lower, upper)

    return run


def some_network(activation, residual, dtype, seed=0):
    name, _, tails = activation.partition(" ")
    options = {"activation": name, "outside": tails or "clamp", "param_dtype": dtype}
    model = network(2, 3, 5, residual=residual, seed=seed, **options)
    model.eval()
    return model


@attack
@pytest.mark.parametrize("configuration", CONFIGURATIONS[:: 1 if times(0) else 25])
def test_networks_of_every_kind(configuration):
    *kind, scale = configuration
    model = some_network(*kind, seed=int(scale))
    for part in (model.first, model.hidden, model.last):
        part.kernel[...] = (scale * part.kernel[...]).astype(part.kernel.dtype)
    rng = np.random.default_rng(0)
    centre = np.float32(rng.normal(size=(7, 2)))
    radius = np.float32([0, 1e-4, 0.01, 0.3, 10, np.inf, 1])[:, None]
    lower, upper = centre - radius, centre + radius
    upper[6] = np.inf
    low, high = map(np.float64, program(*kind)(nnx.state(model), lower, upper))
    for i in range(7):
        within = [np.clip(end, -1e4, 1e4) for end in (lower[i], upper[i])]
        y = oracle.forward(model, oracle.adversaries(model, *within, steps=4))
        assert ((low[i] <= y) & (y <= high[i])).all(), (i, scale)
