"""`derivative`, `elevate` and `to_power` against exact rational arithmetic."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from jaxbern import poly
from tests.oracles.poly_oracle import (
    assert_close,
    exact_derivative,
    exact_power,
    exact_t,
    exact_value,
    rational,
)
from tests.poly import poly_cases
from tests.poly.poly_cases import (
    both,
    draw_coeffs,
    eps_of,
    intervals,
    odd,
    polynomials,
    top,
    wide,
)

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


# derivative


@both
@odd
@given(data=st.data(), interval=intervals(), order=st.sampled_from([0, 1, 3]))
def test_derivative_is_exact(dtype, data, interval, order):
    (lower, upper), coeffs = interval, data.draw(polynomials(dtype))
    got = poly.derivative(coeffs.astype(dtype), lower=lower, upper=upper, order=order)
    width = Fraction(upper) - Fraction(lower)
    exact = exact_derivative(rational(coeffs), width, order)
    size = (2 * len(coeffs) / (upper - lower)) ** order
    assert got.dtype == dtype
    eps, tiny = eps_of(dtype)
    # Difference, product, width and quotient: 4 roundings a step, of at most size.
    bound = 2 * order * eps * size * top(coeffs) + tiny * max(1, size)
    assert_close(got, exact, bound)


def test_derivative_beyond_the_degree_is_a_zero_constant():
    for coeffs, order in (
        (draw_coeffs(0, shape=(2,)), 1),
        (draw_coeffs(2, shape=(2,)), 3),
    ):
        got = np.asarray(poly.derivative(coeffs, order=order))
        assert got.shape == (2, 1)
        assert (got == 0).all()


# elevate


@both
@pytest.mark.parametrize(
    ("n", "m"), [(0, 0), (0, 5), (1, 2), (3, 3), (3, 25), (25, 100)]
)
def test_elevate_is_exact(dtype, n, m):
    coeffs = draw_coeffs(n)
    got = np.asarray(poly.elevate(coeffs.astype(dtype), m))
    assert got.dtype == dtype
    exact = rational(coeffs)
    for degree in range(n, m):  # raise by one, m - n times
        weights = [Fraction(j, degree + 1) for j in range(degree + 2)]
        lower, upper = [Fraction(0), *exact], [*exact, Fraction(0)]
        rows = zip(weights, lower, upper, strict=True)
        exact = [w * a + (1 - w) * b for w, a, b in rows]
    # One rounding of each weight and a sum of n + 1 products, weights summing to 1.
    assert_close(got, exact, (n + 3) / 2 * eps_of(dtype)[0] * top(coeffs))
    assert (got[0], got[-1]) == (coeffs[0], coeffs[-1])


@both
def test_elevation_does_not_change_the_polynomial(dtype):
    coeffs = draw_coeffs(5, shape=(3,))
    x = np.array([-3, -1.25, 0.5, 3], np.float32)
    up = poly.elevate(coeffs.astype(dtype), 12)
    for row, raised in zip(coeffs, np.asarray(up), strict=True):
        values = [exact_value(rational(row), exact_t(p, -3, 3)) for p in x]
        again = [exact_value(rational(raised), exact_t(p, -3, 3)) for p in x]
        for one, two in zip(values, again, strict=True):
            assert abs(one - two) <= 4 * eps_of(dtype)[0] * top(row)


@both
def test_elevate_in_two_steps_is_elevate_in_one(dtype):
    coeffs = draw_coeffs(3).astype(dtype)
    twice = poly.elevate(poly.elevate(coeffs, 25), 100)
    bound = (6 + 28 + 6) / 2 * eps_of(dtype)[0] * top(coeffs)
    np.testing.assert_allclose(twice, poly.elevate(coeffs, 100), rtol=0, atol=bound)


# to_power


@both
@odd
@given(data=st.data(), interval=intervals())
def test_to_power_is_exact(dtype, data, interval):
    (lower, upper), coeffs = interval, data.draw(polynomials(dtype))
    got = poly.to_power(coeffs.astype(dtype), lower=lower, upper=upper)
    assert got.dtype == dtype
    exact = exact_power(rational(coeffs), Fraction(lower), Fraction(upper))
    n, (eps, tiny) = len(coeffs) - 1, eps_of(dtype)
    # i differences of at most 2/width and n-i blends of at most spread; a step has
    # 6 roundings: ratio, difference or sum, two products, width, quotient.
    width, spread = upper - lower, (abs(lower) + abs(upper)) / (upper - lower)
    sizes = [
        math.comb(n, i) * (2 / width) ** i * spread ** (n - i) for i in range(n + 1)
    ]
    bound = 3 * n * eps * top(coeffs) * np.array(sizes)
    assert_close(got, exact, bound + n * tiny * np.maximum(1, sizes))


@wide
def test_to_power_of_high_degree_in_float64(dtype):
    coeffs = draw_coeffs(25)
    got = poly.to_power(coeffs.astype(dtype))
    exact = exact_power(rational(coeffs), Fraction(-3), Fraction(3))
    sizes = [math.comb(25, i) / 3**i for i in range(26)]
    assert_close(got, exact, 75 * 2.0**-52 * top(coeffs) * np.array(sizes))
