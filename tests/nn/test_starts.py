"""What layers start as: near a function on their own interval, or with unit gain."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern import _starts
from jaxbern.linen import BernsteinAct as LinenAct


def silu(x):
    return x / (1 + np.exp(-x))


def silu_slope(x):
    s = 1 / (1 + np.exp(-x))
    return s + x * s * (1 - s)


def polynomial(coeffs, lower, upper, x):
    """The textbook sum in float64."""
    n, t = len(coeffs) - 1, (x - lower) / (upper - lower)
    ways = [math.comb(n, k) * t**k * (1 - t) ** (n - k) for k in range(n + 1)]
    return np.sum([c * w for c, w in zip(coeffs, ways, strict=True)], axis=0)


@pytest.mark.parametrize("degree", [3, 5, 9, 25])
@pytest.mark.parametrize("lower, upper", [(-4.0, 4.0), (-6.0, 1.5)])
def test_value_and_slope_are_kept_at_both_ends(degree, lower, upper):
    c = _starts.fit(jax.nn.silu, degree, lower, upper)
    scale = degree / (upper - lower)
    found = c[0], c[-1], scale * (c[1] - c[0]), scale * (c[-1] - c[-2])
    want = silu(lower), silu(upper), silu_slope(lower), silu_slope(upper)
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_no_other_polynomial_with_these_ends_is_nearer():
    """The residual is orthogonal to what may still be moved, on points of its own."""
    c, n = _starts.fit(jax.nn.silu, 9, -4.0, 4.0), 9
    theta = np.linspace(0, np.pi, 4001)
    x = -4 * np.cos(theta)
    residual = polynomial(c, -4.0, 4.0, x) - silu(x)
    assert np.abs(residual).max() < 4e-3
    for k in range(2, n - 1):
        move = polynomial(np.eye(n + 1)[k], -4.0, 4.0, x)
        cosine = residual @ move / np.linalg.norm(residual) / np.linalg.norm(move)
        assert abs(cosine) < 1e-2


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_low_degrees_keep_what_they_can(degree):
    c = _starts.fit(np.exp, degree, 0.0, 1.0)
    if degree:
        np.testing.assert_allclose(c[[0, -1]], [1, math.e], rtol=1e-12)
    x = np.linspace(0, 1, 50)
    assert (
        np.abs(polynomial(c, 0.0, 1.0, x) - np.exp(x)).max() < [1.1, 0.25, 0.02][degree]
    )


@pytest.mark.parametrize("make", [
    lambda init: jb.BernsteinAct(2, lower=-6.0, upper=6.0, init=init, rngs=nnx.Rngs(0)),
    lambda init: LinenAct(lower=-6.0, upper=6.0, init=init).bind(
        {"params": {"coeffs": jb.BernsteinAct(
            2, lower=-6.0, upper=6.0, init=init, rngs=nnx.Rngs(0)).coeffs[...]}}),
])  # fmt: skip
@pytest.mark.parametrize(
    "init",
    ["gelu", jax.nn.gelu, nnx.gelu, jb.initializers.from_function(jax.nn.gelu)],
    ids=["name", "jax", "nnx", "initialiser"],
)
def test_a_start_is_for_the_interval_of_the_layer(make, init):
    x = jnp.linspace(-20.0, 20.0, 81)[:, None] * jnp.ones((1, 2))
    np.testing.assert_allclose(make(init)(x), jax.nn.gelu(x), atol=0.1)
    np.testing.assert_allclose(make(init)(x[60:]), x[60:], atol=2e-3)


def test_ends_that_were_named_are_kept():
    init = jb.initializers.from_function(jnp.tanh, lower=-1.0, upper=1.0)
    act = jb.BernsteinAct(1, init=init, rngs=nnx.Rngs(0))
    np.testing.assert_allclose(act.coeffs[0, 0], math.tanh(-1), rtol=1e-6)


@pytest.mark.parametrize("name", jb.initializers.FUNCTIONS)
def test_every_name_is_its_function(name):
    act = jb.BernsteinAct(3, 15, init=name, rngs=nnx.Rngs(0))
    f = jb.initializers.FUNCTIONS[name]
    x = jnp.linspace(-3.9, 3.9, 201)[:, None] * jnp.ones((1, 3))
    near = {"relu": 0.1, "leaky_relu": 0.1, "selu": 0.1, "soft_sign": 0.1}
    np.testing.assert_allclose(act(x), f(x), atol=near.get(name, 0.05))


def test_each_neuron_has_its_own_interval():
    lower, upper = np.array([-6.0, -2.0]), np.array([6.0, 3.0])
    act = jb.BernsteinAct(2, 15, lower=lower, upper=upper, rngs=nnx.Rngs(0))
    for k in range(2):
        alone = jb.BernsteinAct(1, 15, lower=lower[k], upper=upper[k], rngs=nnx.Rngs(0))
        np.testing.assert_allclose(act.coeffs[k], alone.coeffs[0], atol=1e-6)


@pytest.mark.slow
def test_a_start_can_be_made_under_every_transform():
    def make(seed=0):
        return jb.BernsteinAct(3, init=jax.nn.gelu, rngs=nnx.Rngs(seed))

    want = make().coeffs[...]
    shapes = nnx.eval_shape(make)
    assert shapes.coeffs.get_value().shape == want.shape
    np.testing.assert_array_equal(nnx.jit(make)().coeffs[...], want)
    many = nnx.vmap(make)(jax.random.split(jax.random.key(0), 2))
    np.testing.assert_array_equal(many.coeffs[...], jnp.stack([want, want]))
    with jax.enable_x64(True):
        np.testing.assert_allclose(make().coeffs[...], want, rtol=1e-6)


@pytest.mark.parametrize(
    "f", [np.tanh, lambda x: np.tanh(x), jnp.tanh, jax.jit(jnp.tanh)]
)
def test_functions_of_numpy_and_of_jax(f):
    want = _starts.fit(jnp.tanh, 9, -4.0, 4.0)
    act = jb.BernsteinAct(1, init=f, rngs=nnx.Rngs(0))
    np.testing.assert_allclose(act.coeffs[0], want, atol=1e-4)


@pytest.mark.parametrize("f, message", [
    (lambda x: x.sum(), "must be elementwise"), (jnp.log, "must be finite.*move the ends"),
])  # fmt: skip
def test_a_function_that_cannot_be_started_as(f, message):
    with pytest.raises(ValueError, match=message):
        jb.BernsteinAct(1, init=f, rngs=nnx.Rngs(0))


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 1024])
@pytest.mark.parametrize("outside", ["clamp", "linear"])
@pytest.mark.parametrize("name", ["smooth", "normal", "xavier"])
def test_unit_variance_in_is_unit_variance_out_at_every_width(name, outside, width):
    for degree in (1, 9, 25):
        act = jb.BernsteinAct(
            width, degree, init=name, outside=outside, lower=-2.0, upper=3.0,
            rngs=nnx.Rngs(1),
        )  # fmt: skip
        x = jax.random.normal(jax.random.key(0), (20_000, 1)) * jnp.ones((1, 4))
        y = jb.bernstein(x, act.coeffs[:4], lower=-2.0, upper=3.0, outside=outside)
        np.testing.assert_allclose(jnp.mean(y, axis=0), 0, atol=0.05)
        np.testing.assert_allclose(jnp.std(y, axis=0), 1, rtol=0.05)


def test_unit_gain_far_from_zero():
    act = jb.BernsteinAct(8, init="smooth", lower=10.0, upper=16.0, rngs=nnx.Rngs(1))
    x = 13 + jax.random.normal(jax.random.key(0), (20_000, 1)) * jnp.ones((1, 8))
    np.testing.assert_allclose(jnp.std(act(x), axis=0), 1, rtol=0.05)
