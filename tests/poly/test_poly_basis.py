"""`jaxbern.poly.basis` against exact rational arithmetic."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from jaxbern import poly
from tests.oracles.poly_oracle import assert_close, exact_basis, exact_t
from tests.poly import poly_cases
from tests.poly.poly_cases import DEGREES, both, eps_of, intervals, odd, points

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


@both
@odd
@given(data=st.data(), interval=intervals())
def test_basis_is_exact(dtype, data, interval):
    degree = data.draw(st.sampled_from(DEGREES[dtype]))
    x = data.draw(points(interval))
    lower, upper = interval
    got = poly.basis(np.asarray(x, dtype), degree, lower=lower, upper=upper)
    assert got.dtype == dtype
    exact = exact_basis(degree, exact_t(x, lower, upper))
    eps, tiny = eps_of(dtype)
    # Sums of positive products only: n blending steps bound the relative error.
    bound = 2.5 * degree * eps * np.array(exact, float) + 4 * degree * tiny
    assert_close(got, exact, bound)


@both
def test_basis_of_high_degree_is_exact_and_sums_to_one(dtype):
    degree = 100
    # Close to an end the short side must keep its relative precision.
    x = np.array([-3, -2.9999, -1, 0, 2, 2.9999, 3], dtype)
    got = np.asarray(poly.basis(x, degree))
    eps, tiny = eps_of(dtype)
    assert got.shape == (7, degree + 1)
    assert (got >= 0).all()
    sums = got.astype(np.float64).sum(-1)
    np.testing.assert_allclose(sums, 1, rtol=0, atol=2.5 * degree * eps + 1e-14)
    for row, point in zip(got, x, strict=True):
        exact = exact_basis(degree, exact_t(point, -3, 3))
        bound = 2.5 * degree * eps * np.array(exact, float) + 4 * degree * tiny
        assert_close(row, exact, bound)


@pytest.mark.parametrize("degree", [0, 7])
def test_basis_nan_in_nan_out(degree):
    assert np.isnan(poly.basis(np.float32(np.nan), degree)).all()
