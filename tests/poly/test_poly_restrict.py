"""`jaxbern.poly.restrict` against exact rational arithmetic."""

import functools
import math
from fractions import Fraction

import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from jaxbern import poly
from tests.oracles.poly_oracle import (
    assert_close,
    exact_restrict,
    exact_t,
    exact_value,
    rational,
)
from tests.poly import poly_cases
from tests.poly.poly_cases import (
    both,
    draw_coeffs,
    intervals,
    odd,
    points,
    polynomials,
    restrict_bound,
)

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


@both
@odd
@given(data=st.data(), interval=intervals())
def test_restrict_is_exact_anywhere(dtype, data, interval):
    (lower, upper), coeffs = interval, data.draw(polynomials(dtype))
    start, stop = data.draw(points(interval)), data.draw(points(interval))
    got = poly.restrict(coeffs.astype(dtype), start, stop, lower=lower, upper=upper)
    assert got.dtype == dtype
    a, b = (exact_t(end, lower, upper) for end in (start, stop))
    exact = exact_restrict(rational(coeffs), a, b)
    assert_close(got, exact, restrict_bound(coeffs, dtype))


@both
@odd
@given(data=st.data(), interval=intervals())
def test_restrict_encloses_the_clamped_activation(dtype, data, interval):
    (lower, upper), coeffs = interval, data.draw(polynomials(dtype))
    start, stop = sorted(data.draw(points(interval)) for _ in range(2))
    args = coeffs.astype(dtype), start, stop
    got = rational(poly.restrict(*args, lower=lower, upper=upper))
    slack = Fraction(restrict_bound(coeffs, dtype))
    finite = np.clip([start, stop], lower - 1, upper + 1)
    exact = rational(coeffs)
    for x in np.linspace(
        *finite, 9, dtype=np.float32
    ):  # short, and so quick, fractions
        y = exact_value(exact, exact_t(x, lower, upper))
        assert min(got) - slack <= y <= max(got) + slack


@both
@pytest.mark.parametrize(
    ("start", "stop"), [(-3, 3), (-3, -1), (2, 3), (-0.5, 0.75), (1.5, -2)]
)
def test_restrict_of_high_degree(dtype, start, stop):
    coeffs = draw_coeffs(25)
    got = poly.restrict(coeffs.astype(dtype), start, stop)
    assert_close(got, exact_of_high_degree(start, stop), restrict_bound(coeffs, dtype))


@functools.cache  # the same in float32 and float64
def exact_of_high_degree(start, stop):
    a, b = exact_t(start, -3, 3), exact_t(stop, -3, 3)
    return exact_restrict(rational(draw_coeffs(25)), a, b)


@both
@pytest.mark.parametrize("ends", [(-3.0, 3.0), (-math.inf, math.inf), (-7.0, 3.5)])
def test_restrict_to_everything_is_the_identity(dtype, ends):
    coeffs = draw_coeffs(7).astype(dtype)
    np.testing.assert_array_equal(poly.restrict(coeffs, *ends), coeffs)
    backwards = poly.restrict(coeffs, *reversed(ends))
    np.testing.assert_array_equal(backwards, coeffs[::-1])


@both
@pytest.mark.parametrize("x", [-math.inf, -3.0, -1.5, 0.0, 2.9, 3.0, 5.0])
def test_restrict_to_a_point_is_the_constant_there(dtype, x):
    coeffs = draw_coeffs(7)
    got = poly.restrict(coeffs.astype(dtype), x, x)
    value = exact_value(rational(coeffs), exact_t(x, -3, 3))
    assert_close(got, [value] * 8, restrict_bound(coeffs, dtype))


@both
def test_restrict_twice_is_restrict_once(dtype):
    coeffs = draw_coeffs(7).astype(dtype)
    outer = poly.restrict(coeffs, -2.0, 1.5)
    twice = poly.restrict(outer, -1.0, 0.5, lower=-2.0, upper=1.5)
    bound = 3 * restrict_bound(coeffs, dtype)
    once = poly.restrict(coeffs, -1.0, 0.5)
    np.testing.assert_allclose(twice, once, rtol=0, atol=bound)


@pytest.mark.parametrize("degree", [0, 7])
@pytest.mark.parametrize("ends", [(math.nan, 1.0), (1.0, math.nan), (3.0, math.nan)])
def test_restrict_with_a_nan_end_is_nan(degree, ends):
    assert np.isnan(poly.restrict(draw_coeffs(degree), *ends)).all()


def test_ends_add_leading_axes():
    coeffs = draw_coeffs(7, shape=(4,))
    start = np.linspace(-4.0, 4.0, 8).reshape(2, 1, 4)
    stop = np.linspace(-1.0, 3.0, 3)[:, None]
    got = np.asarray(poly.restrict(coeffs, start, stop))
    assert got.shape == (2, 3, 4, 8)
    for i, j, k in np.ndindex(2, 3, 4):
        alone = poly.restrict(coeffs[k], start[i, 0, k], stop[j, 0])
        bound = 2 * restrict_bound(coeffs[k], jnp.float32)
        np.testing.assert_allclose(got[i, j, k], alone, rtol=0, atol=bound)
