"""`jaxbern.poly.from_function`: what fits must reproduce, and how well."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern import poly
from tests.oracles.poly_oracle import exact_power, exact_t, exact_value, rational
from tests.poly import poly_cases
from tests.poly.poly_cases import both, eps_of, top

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


POLYNOMIAL = (1, -2, 0, 1)  # 1 - 2x + x^3


def cubic(x):
    return 1 - 2 * x + x * x * x


@both
@pytest.mark.parametrize("degree", [3, 4, 25, 60])
@pytest.mark.parametrize("interval", [(-3.0, 3.0), (0.5, 2.0)])
def test_lstsq_reproduces_polynomials(dtype, degree, interval):
    lower, upper = rational(interval)
    got = poly.from_function(cubic, degree, lower=interval[0], upper=interval[1])
    assert got.shape == (degree + 1,)
    assert got.dtype == dtype
    # What is left out is at most eps |c| at the points in the mean square, hence
    # eps sqrt(2n+1) |c| everywhere. The coefficients are rounded once on top, and
    # the solver and the values of f cost some roundings of that size each.
    size = top(got) * math.sqrt(degree + 1)
    bound = 8 * eps_of(dtype)[0] * math.sqrt(2 * degree + 1) * size
    for i in range(6):
        x = lower + (upper - lower) * Fraction(i, 5)
        y = exact_value(rational(got), Fraction(i, 5))
        exact = sum(p * x**i for i, p in enumerate(POLYNOMIAL))
        assert abs(y - exact) <= bound, (float(x), float(y - exact), bound)


@both
def test_lstsq_finds_the_coefficients_of_a_polynomial(dtype):
    coeffs = rational(poly.from_function(cubic, 3, lower=-1.0, upper=2.0))
    exact = exact_power(coeffs, Fraction(-1), Fraction(2))
    # Condition number 6 at degree 3, times some roundings.
    bound = 50 * eps_of(dtype)[0] * float(max(map(abs, coeffs)))
    for got, want in zip(exact, POLYNOMIAL, strict=True):
        assert abs(got - want) <= bound


@both
@pytest.mark.parametrize(
    ("degree", "limit"), [(9, 1e-2), (15, 5e-4), (25, 1e-5), (60, 1e-11), (100, 1e-13)]
)
def test_lstsq_converges_at_high_degree(dtype, degree, limit):
    # tanh has poles at +-i pi/2: the error of the best fit falls like 1.65^-n. No
    # coefficient may cost more than it brings: eps |c| stays below that error.
    coeffs = poly.from_function(np.tanh, degree)
    limit = max(limit, 4 * eps_of(dtype)[0])
    assert top(coeffs) * eps_of(dtype)[0] < limit
    for x in (-3.0, -2.75, -1.25, 0.125, 1.75, 3.0):
        y = exact_value(rational(coeffs), exact_t(x, -3, 3))
        assert abs(float(y) - math.tanh(x)) < limit


def test_lstsq_fits_no_rounding_noise_of_f():
    # Values in bfloat16 have noise of 2^-9; a fit to it would need huge coefficients.
    def rounded(x):
        return jnp.tanh(jnp.asarray(x, jnp.bfloat16))

    assert top(poly.from_function(rounded, 40)) < 2


@both
def test_bernstein_method_samples_f(dtype):
    got = poly.from_function(np.exp, 4, lower=0.0, upper=2.0, method="bernstein")
    assert got.dtype == dtype
    want = np.exp([0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_allclose(got, want, rtol=2 * eps_of(dtype)[0])


@both
@pytest.mark.parametrize("method", ["lstsq", "bernstein"])
def test_from_function_degree_zero_is_a_middle_value(dtype, method):
    got = poly.from_function(lambda x: 2 * x + 1, 0, upper=5.0, method=method)
    np.testing.assert_allclose(got, [3.0], rtol=8 * eps_of(dtype)[0])


@pytest.mark.parametrize("method", ["lstsq", "bernstein"])
def test_from_function_on_several_intervals(method):
    lower, upper = np.array([-1.0, 0.0, 2.0]), np.array([[1.0], [4.0]]) + 2
    got = poly.from_function(np.sin, 5, lower=lower, upper=upper, method=method)
    assert got.shape == (2, 3, 6)
    for i, j in np.ndindex(2, 3):
        ends = dict(lower=lower[j], upper=upper[i, 0])
        alone = poly.from_function(np.sin, 5, **ends, method=method)
        # Both are rounded once from float64, where the solver may block differently.
        bound = eps_of(jnp.float32)[0] * top(alone)
        np.testing.assert_allclose(got[i, j], alone, rtol=0, atol=bound)


@pytest.mark.parametrize("f", [jnp.tanh, jax.nn.relu, lambda x: x > 0, np.sign])
def test_from_function_under_jit_and_of_jax_functions(f):
    eager = poly.from_function(f, 6)
    np.testing.assert_array_equal(jax.jit(lambda: poly.from_function(f, 6))(), eager)


def test_from_function_calls_f_once_with_float64():
    seen = []
    poly.from_function(lambda x: seen.append(x) or x, 3)
    assert [(type(x), x.dtype) for x in seen] == [(np.ndarray, np.float64)]
    assert seen[0].min() >= -3
    assert seen[0].max() <= 3
