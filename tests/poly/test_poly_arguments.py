"""What every function of `jaxbern.poly` does alike with its arguments."""

import doctest
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern import poly
from tests.poly import poly_cases
from tests.poly.poly_cases import draw_coeffs, eps_of, top, wide

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


ON_COEFFS = {
    "derivative": lambda c, lower, upper: poly.derivative(c, lower=lower, upper=upper),
    "elevate": lambda c, lower, upper: poly.elevate(c, 12),
    "restrict": lambda c, lower, upper: poly.restrict(
        c, lower + 0.25, 0.5, lower=lower, upper=upper
    ),
    "to_power": lambda c, lower, upper: poly.to_power(c, lower=lower, upper=upper),
    "basis": lambda c, lower, upper: poly.basis(c[..., 0], 7, lower=lower, upper=upper),
}
on_coeffs = pytest.mark.parametrize("f", ON_COEFFS.values(), ids=ON_COEFFS)


@on_coeffs
def test_vmap_jit_and_broadcasting_agree_with_one_at_a_time(f):
    coeffs, upper = draw_coeffs(7, shape=(2, 2, 3)), np.float32(1.5)
    lower = np.float32([[-1.0, -2.0, -0.5], [0.25, -1.5, -3.0]])
    single = np.empty((2, 2, 3), object)
    for i, j, k in np.ndindex(single.shape):
        single[i, j, k] = np.asarray(f(coeffs[i, j, k], lower[i, k], upper))
    single = np.array(single.tolist())
    # One program: vmap takes the first axis of both, the ends broadcast against the
    # other two of coeffs.
    batched = jax.jit(jax.vmap(f, (0, 0, None)))(coeffs, lower, upper)
    # The same operations in another program: products may fuse differently, which
    # is a rounding in each of 7 steps, of terms no larger than the largest result.
    atol = 7 * eps_of(jnp.float32)[0] * top(single)
    np.testing.assert_allclose(batched, single, rtol=0, atol=atol)


@on_coeffs
def test_half_precision_is_rounded_once(f):
    half = draw_coeffs(7).astype(jnp.bfloat16)
    got = np.asarray(f(half, -1.0, 2.0))
    assert got.dtype == half.dtype
    want = np.asarray(f(half.astype(np.float32), -1.0, 2.0)).astype(half.dtype)
    np.testing.assert_array_equal(got, want)


@on_coeffs
def test_empty_batches_are_fine(f):
    assert f(draw_coeffs(7, shape=(0,)), -1.0, 1.0).shape[0] == 0


def test_traced_ends_are_not_checked_and_concrete_ones_are_under_jit():
    c = np.ones(8, np.float32)
    traced = jax.jit(lambda low: poly.derivative(c, lower=low, upper=1.0))
    assert not np.asarray(traced(0.0)).any()
    with pytest.raises(ValueError, match="lower must be less than upper"):
        jax.jit(lambda c: poly.derivative(c, lower=1.0, upper=1.0))(c)


C = np.ones(5, np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: poly.basis(0.5, -1), ValueError, "degree must be .* got -1"),
        (lambda: poly.basis(0.5, 2.0), TypeError, "degree must be .* got 2.0"),
        (lambda: jax.jit(poly.basis)(0.5, 2), TypeError, "degree must be a Python int"),
        (lambda: poly.basis(np.arange(3), 2), TypeError, "x must be floating point"),
        (lambda: poly.elevate(C.astype(int), 9), TypeError, r"coeffs.astype\(float\)"),
        (lambda: poly.to_power(C + 0j), TypeError, "floating point, got complex"),
        (lambda: poly.elevate(1.0, 3), ValueError, r"\[..., n\+1\], got \(\)"),
        (lambda: poly.to_power(C[:0]), ValueError, r"\[..., n\+1\], got \(0,\)"),
        (
            lambda: poly.elevate(C, 3),
            ValueError,
            "at least 4.* got 3; use from_function",
        ),
        (lambda: poly.elevate(C, 5.5), TypeError, "got 5.5"),
        (lambda: poly.derivative(C, order=-2), ValueError, "order must be .* got -2"),
        (lambda: poly.derivative(C, lower=3.0), ValueError, "got lower=3.0, upper=3.0"),
        (lambda: poly.to_power(C, upper=math.inf), ValueError, "both finite"),
        (lambda: poly.basis(0.5, 2, lower=math.nan), ValueError, "lower=nan"),
        (
            lambda: poly.restrict(C, 0.0, 1.0, lower=jnp.array([-1.0, 9.0])),
            ValueError,
            "lower must be less than upper",
        ),
        (
            lambda: poly.restrict(np.ones((4, 3)), np.zeros(2), 1.0),
            ValueError,
            r"broadcast against the axes \(4,\) of coeffs, got .*\(2,\)",
        ),
        (lambda: poly.from_function(np.sin, -1), ValueError, "degree must be .* -1"),
        (lambda: poly.from_function(np.sin, 3, method="fit"), ValueError, "'fit'"),
        (lambda: poly.from_function(np.sin, 3, upper=-4), ValueError, "upper=-4.0"),
        (lambda: poly.from_function(np.sum, 3), ValueError, r"got \(\) for \(88,\)"),
        (lambda: poly.from_function(np.log, 3), ValueError, "finite, got nan at -2.99"),
        (
            lambda: poly.from_function(np.reciprocal, 2, method="bernstein"),
            ValueError,
            "finite, got inf at 0.0",
        ),
        (
            lambda: poly.from_function(lambda x: x + 1j, 2),
            ValueError,
            "must be real and finite",
        ),
        (
            lambda: jax.jit(lambda a: poly.from_function(lambda x: a * x, 2))(1.0),
            TypeError,
            "traced",
        ),
    ],
)
def test_errors_say_what_must_hold_and_what_came(call, error, message):
    with pytest.raises(error, match=message):
        call()


@wide
def test_docstring_examples_in_double_precision_too(dtype):
    result = doctest.testmod(poly)
    assert result.attempted >= 6
    assert result.failed == 0
