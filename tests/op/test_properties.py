"""What a Bernstein polynomial is known to do, whatever its coefficients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbern as jb
from tests.op.implementations import IMPLEMENTATIONS

EPS = float(np.finfo(np.float32).eps)
# The quick check takes the constant, an even and an odd degree.
QUICK = (0, 2, 9)
DEGREES = [
    degree if degree in QUICK else pytest.param(degree, marks=pytest.mark.slow)
    for degree in (0, 1, 2, 3, 9, 25, 60)
]
GRID = jnp.linspace(-3.0, 3.0, 101)
each_degree = pytest.mark.parametrize("degree", DEGREES)
each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)


def random_coeffs(degree: int, width: int = 4) -> jax.Array:
    rng = np.random.default_rng(degree)
    return jnp.asarray(rng.normal(size=(width, degree + 1)), jnp.float32)


def on_grid(coeffs, implementation=None):
    """Values ``[101, W]`` over the interval, ends included."""
    x = jnp.broadcast_to(GRID[:, None], (GRID.size, coeffs.shape[0]))
    return jb.bernstein(x, coeffs, implementation=implementation)


@each_degree
@each_implementation
def test_partition_of_unity(degree, implementation):
    ones = jnp.ones((2, degree + 1))
    values = on_grid(ones, implementation)
    np.testing.assert_allclose(values, 1, atol=8 * (degree + 2) * EPS)


@each_degree
@each_implementation
def test_ends_are_interpolated_exactly(degree, implementation):
    coeffs = random_coeffs(degree)
    values = on_grid(coeffs, implementation)
    np.testing.assert_array_equal(values[0], coeffs[:, 0])
    np.testing.assert_array_equal(values[-1], coeffs[:, -1])


@each_degree
@each_implementation
def test_slope_at_the_ends(degree, implementation):
    coeffs = random_coeffs(degree)
    x = jnp.broadcast_to(jnp.array([[-3.0], [3.0]]), (2, 4))
    slope = jax.jvp(
        lambda x: jb.bernstein(x, coeffs, implementation=implementation),
        (x,),
        (jnp.ones_like(x),),
    )[1]
    last = max(degree, 1)
    steps = coeffs[:, [1, last]] - coeffs[:, [0, last - 1]] if degree else 0 * slope.T
    np.testing.assert_allclose(slope.T, steps * (degree / 6), rtol=1e-5, atol=1e-6)


@each_degree
@each_implementation
def test_values_stay_in_the_convex_hull(degree, implementation):
    coeffs = random_coeffs(degree)
    values = on_grid(coeffs, implementation)
    slack = 8 * (degree + 2) * EPS * jnp.abs(coeffs).max()
    assert (values <= coeffs.max(axis=1)[None] + slack).all()
    assert (values >= coeffs.min(axis=1)[None] - slack).all()


@pytest.mark.parametrize("degree, higher", [(0, 3), (3, 4), (3, 25), (9, 25), (25, 60)])
@each_implementation
def test_elevation_changes_nothing(degree, higher, implementation):
    coeffs = random_coeffs(degree)
    elevated = jb.poly.elevate(coeffs, higher)
    np.testing.assert_allclose(
        on_grid(elevated, implementation),
        on_grid(coeffs, implementation),
        atol=8 * (higher + degree + 4) * EPS * float(jnp.abs(coeffs).max()),
    )


@pytest.mark.slow
@each_implementation
@settings(deadline=None, max_examples=50, derandomize=True)
@given(data=st.data())
def test_stability_bounds_of_the_paper(implementation, data):
    """``|sigma'| <= 2 n max|c|`` (over the width) and ``|d sigma / d c_k| <= 1``."""
    degree = data.draw(st.sampled_from([1, 3, 9, 25]))
    numbers = st.floats(-100, 100, width=32)
    coeffs = np.float32(
        data.draw(st.lists(numbers, min_size=degree + 1, max_size=degree + 1))
    )
    x = np.float32(data.draw(st.floats(-4, 4, width=32)))
    dx, dc = jax.grad(
        lambda x, c: jb.bernstein(x, c, implementation=implementation), argnums=(0, 1)
    )(x, coeffs)
    slack = 1 + 8 * (degree + 2) * EPS
    assert abs(float(dx)) <= 2 * degree * np.abs(coeffs).max() / 6 * slack
    assert (np.abs(dc) <= slack).all()
    np.testing.assert_allclose(dc.sum(), 1, rtol=8 * (degree + 2) * EPS)


@each_implementation
def test_increasing_coefficients_give_an_increasing_function(implementation):
    coeffs = jnp.sort(random_coeffs(9), axis=-1)
    steps = jnp.diff(on_grid(coeffs, implementation), axis=0)
    assert (steps >= -8 * 11 * EPS * jnp.abs(coeffs).max()).all()
