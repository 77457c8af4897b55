"""Initialisers: the right distribution, the right function, the right smoothness."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbern as jb

KEY = jax.random.key(0)
NAMES = ["smooth", "normal", "xavier", "paper", "identity", "relu", "ramp"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(8, 10), (10,), (8, 1), (1, 26)])
@pytest.mark.parametrize(
    "dtype", [jnp.float32, pytest.param(jnp.bfloat16, marks=pytest.mark.slow)]
)
def test_shape_dtype_and_determinism(name, shape, dtype):
    init = getattr(jb.initializers, name)()
    coeffs = init(KEY, shape, dtype)
    assert (coeffs.shape, coeffs.dtype) == (shape, dtype)
    assert jnp.isfinite(coeffs).all()
    np.testing.assert_array_equal(coeffs, init(KEY, shape, dtype))


@pytest.mark.parametrize("degree", [3, 9, 25])
def test_smooth_is_a_cubic_of_the_same_spread_at_every_degree(degree):
    width = 4096
    coeffs = jb.initializers.paper()(KEY, (width, degree + 1))
    # The fourth derivative of a cubic vanishes; rounding grows with its factor n^4.
    fourth = jb.poly.derivative(coeffs, order=4)
    scale = degree**4 / 6**4 * 2**4
    assert jnp.abs(fourth).max() < 64 * 1.2e-7 * scale * jnp.abs(coeffs).max()
    # The end coefficients are those of the cubic, normal(0, 1 / W).
    np.testing.assert_allclose(coeffs[:, 0].std() * width, 1, rtol=0.05)
    np.testing.assert_allclose(coeffs[:, -1].std() * width, 1, rtol=0.05)


def test_smooth_is_normal_up_to_degree_three():
    for degree in (0, 1, 3):
        np.testing.assert_array_equal(
            jb.initializers.smooth(0.2)(KEY, (5, degree + 1)),
            jb.initializers.normal(0.2)(KEY, (5, degree + 1)),
        )


def test_spread_of_the_random_ones():
    shape = (500, 21)
    for init, std in [
        (jb.initializers.normal(0.3), 0.3),
        (jb.initializers.of_network("normal"), 1 / 500),
        (jb.initializers.of_network("xavier"), (2 / 521) ** 0.5),
    ]:
        np.testing.assert_allclose(init(KEY, shape).std(), std, rtol=0.05)


@pytest.mark.parametrize("degree", [1, 3, 9, 25])
def test_identity_is_the_identity(degree):
    coeffs = jb.initializers.identity(lower=-2.0, upper=5.0)(KEY, (degree + 1,))
    x = jnp.linspace(-2.0, 5.0, 50)
    y = jb.bernstein(x, coeffs, lower=-2.0, upper=5.0)
    np.testing.assert_allclose(y, x, atol=8 * (degree + 2) * 1.2e-7 * 5)


@pytest.mark.parametrize("degree", [3, 9, 25])
def test_bernsteins_relu_is_convex_increasing_and_above_relu(degree):
    init = jb.initializers.from_function(jax.nn.relu, method="bernstein")
    coeffs = init(KEY, (degree + 1,))
    x = jnp.linspace(-3.0, 3.0, 61)
    y = jb.bernstein(x, coeffs)
    assert (y >= jax.nn.relu(x) - 1e-5).all()
    assert (jnp.diff(coeffs) >= 0).all()
    assert (jnp.diff(coeffs, 2) >= -1e-6).all()
    assert jnp.abs(y - jax.nn.relu(x)).max() < 3 / degree**0.5


def test_ramp_goes_from_zero_to_one():
    coeffs = jb.initializers.ramp()(KEY, (3, 10))
    x = jnp.array([[-4.0, 0.0, 4.0]])
    np.testing.assert_allclose(jb.bernstein(x, coeffs), [[0, 0.5, 1]], atol=1e-6)


@pytest.mark.slow
def test_from_function_is_close_to_the_function():
    x = jnp.linspace(-3.0, 3.0, 200)
    for f, tolerance in [(jax.nn.gelu, 2e-2), (jnp.sin, 1e-4), (jax.nn.silu, 5e-3)]:
        coeffs = jb.initializers.from_function(f)(KEY, (10,))
        np.testing.assert_allclose(jb.bernstein(x, coeffs), f(x), atol=tolerance)


def test_from_function_inside_jit_and_on_its_own_interval():
    init = jb.initializers.from_function(jnp.exp, lower=0.0, upper=1.0)
    coeffs = jax.jit(lambda key: init(key, (2, 6)))(KEY)
    x = jnp.linspace(0.0, 1.0, 20)
    y = jb.bernstein(x, coeffs[0], lower=0.0, upper=1.0)
    np.testing.assert_allclose(y, jnp.exp(x), rtol=1e-5)
