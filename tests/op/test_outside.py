"""``outside="linear"`` against exact rationals: tangents beyond the interval."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import jaxbern as jb
from tests.oracles import operator_oracle as oracle

LOWER, UPPER = -1.5, 2.0
# Far out on both sides, near the ends, at the ends, inside.
POINTS = [-40.0, -1.75, -1.5, -1.0, 0.25, 2.0, 2.125, 30.0]


def exact(x: float, row: np.ndarray) -> float:
    """The polynomial inside; outside, value and slope of the end, as rationals."""
    c = [Fraction(float(v)) for v in row]
    low, up, at, degree = Fraction(LOWER), Fraction(UPPER), Fraction(x), len(c) - 1
    steps = [degree * (b - a) / (up - low) for a, b in itertools.pairwise(c)]
    if low <= at <= up or degree == 0:
        numerators, denominator = oracle.basis(x, degree, LOWER, UPPER)
        return float(
            sum(b * n for b, n in zip(c, numerators, strict=True)) / denominator
        )
    if at < low:
        return float(c[0] + steps[0] * (at - low))
    return float(c[-1] + steps[-1] * (at - up))


@pytest.mark.parametrize("degree", [0, 1, 2, 9])
def test_outside_are_the_tangents_of_the_ends(degree):
    rng = np.random.default_rng(degree)
    coeffs = np.float32(rng.normal(size=(3, degree + 1)))
    x = np.float32(np.tile(np.array(POINTS)[:, None], 3))
    want = [[exact(p, row) for row in coeffs] for p in POINTS]
    y = jb.bernstein(x, coeffs, lower=LOWER, upper=UPPER, outside="linear")
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
    mean, var = np.float32([0.5, 0.0, -2.0]), np.float32([1.0, 4.0, 9.0])
    z = mean + np.sqrt(var) * x
    fused = jb.bernstein_norm(
        z, coeffs, mean=mean, var=var, eps=0.0, residual=z, lower=LOWER, upper=UPPER,
        outside="linear",
    )  # fmt: skip
    np.testing.assert_allclose(fused, z + np.array(want), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_gradients_in_everything():
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        x, coeffs = rng.normal(scale=3.0, size=(12, 2)), rng.normal(size=(2, 6))

        def f(x, coeffs, lower, upper):
            return jb.bernstein(x, coeffs, lower=lower, upper=upper, outside="linear")

        check_grads(f, (x, coeffs, jnp.float64(-1.5), jnp.float64(2.0)), order=2)


def test_at_an_end_the_slope_is_that_from_inside_and_out():
    coeffs = jnp.float32([1.0, -2.0, 0.5, 3.0])
    slope = jax.vmap(jax.grad(lambda x: jb.bernstein(x, coeffs, outside="linear")))
    out = slope(jnp.float32([-5.0, -3.0, 3.0, 5.0]))
    np.testing.assert_allclose(out, [-1.5, -1.5, 1.25, 1.25], rtol=1e-6)


def test_clamp_is_the_default():
    x, coeffs = jnp.linspace(-9.0, 9.0, 40), jnp.float32([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(
        jb.bernstein(x, coeffs), jb.bernstein(x, coeffs, outside="clamp")
    )


@pytest.mark.parametrize("outside", ["tangent", None, 1])
def test_another_word_is_refused(outside):
    with pytest.raises(ValueError, match=r'"clamp".*"linear"'):
        jb.bernstein(jnp.zeros(2), jnp.zeros(3), outside=outside)
    with pytest.raises(ValueError, match=r'"clamp".*"linear"'):
        jb.bernstein_norm(
            jnp.zeros((3, 2)), jnp.zeros(3), mean=jnp.zeros(2), var=jnp.ones(2),
            outside=outside,
        )  # fmt: skip
