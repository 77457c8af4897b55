"""`jaxbern.poly` against exact rational arithmetic.

Tolerances are first-order rounding bounds of the algorithm under test. In units of
``eps`` a rounding is 1/2; a ratio of differences such as ``t`` has 3 of them and a
blend ``s*v + t*w`` adds 2, so that a blending step costs 5/2.
"""

import doctest
import itertools
import math
from fractions import Fraction

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax.test_util import check_grads

from jaxbern import poly
from tests.poly_oracle import (
    assert_close,
    exact_basis,
    exact_derivative,
    exact_power,
    exact_restrict,
    exact_t,
    exact_value,
    rational,
)

DEGREES = (0, 1, 7)  # few, and shared by the tests: each one is compiled
odd = settings(max_examples=30, deadline=None, database=None)

both = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64], ids=["x32", "x64"])
wide = pytest.mark.parametrize("dtype", [jnp.float64], ids=["x64"])


@pytest.fixture(autouse=True)
def _as_wide_as_the_dtype(request):
    # Not a fixture that a test asks for: Hypothesis runs a test many times in one.
    callspec = getattr(request.node, "callspec", None)
    x64 = callspec is not None and callspec.params.get("dtype") == jnp.float64
    with jax.enable_x64(x64):
        yield


def draw_coeffs(degree, seed=0, shape=(), scale=1.0):
    rng = np.random.default_rng(seed)
    return (scale * rng.normal(size=(*shape, degree + 1))).astype(np.float32)


def top(coeffs):
    return float(np.max(np.abs(coeffs)))


def eps_of(dtype):
    return float(jnp.finfo(dtype).eps), float(jnp.finfo(dtype).tiny)


numbers = st.floats(-8, 8, width=32, allow_subnormal=False)


@st.composite
def intervals(draw):
    lower = np.float32(draw(numbers))
    upper = lower + np.float32(draw(st.floats(0.125, 8, width=32)))
    return float(lower), float(upper)


@st.composite
def points(draw, interval):
    """Anywhere, with the ends, the infinities and next to the ends drawn often."""
    ends = [np.float32(end) for end in interval]
    near = [np.nextafter(ends[0], ends[1]), np.nextafter(ends[1], ends[0])]
    special = st.sampled_from([*map(float, ends + near), -math.inf, math.inf])
    return draw(st.one_of(special, numbers))


@st.composite
def polynomials(draw):
    size = draw(st.sampled_from(DEGREES)) + 1
    return np.array(draw(st.lists(numbers, min_size=size, max_size=size)), np.float32)


# basis


@both
@odd
@given(data=st.data(), degree=st.sampled_from(DEGREES), interval=intervals())
def test_basis_is_exact(dtype, data, degree, interval):
    x = data.draw(points(interval))
    lower, upper = interval
    got = poly.basis(jnp.asarray(x, dtype), degree, lower=lower, upper=upper)
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
    assert np.isnan(poly.basis(jnp.nan, degree)).all()


def test_basis_derivatives_are_one_sided_at_the_ends_and_zero_outside():
    lower, upper, n = -1.0, 2.0, 5

    def basis(x):
        return poly.basis(x, n, lower=lower, upper=upper)

    xs = np.array([-math.inf, -2.5, lower, 0.25, upper, 2.5, math.inf], np.float32)
    derivatives = jax.jacrev(basis), jax.jacfwd(jax.jacrev(basis))
    got = jax.jit(lambda xs: [jax.vmap(d)(xs) for d in derivatives])(xs)
    for order, i, k in itertools.product((1, 2), range(7), range(n + 1)):
        inside = lower <= xs[i] <= upper
        unit = exact_derivative([Fraction(k == j) for j in range(n + 1)], 3, order)
        exact = exact_value(unit, exact_t(xs[i], lower, upper)) * inside
        # n steps of the size of the derivative, twice over for the product rule.
        bound = 5 * n * eps_of(jnp.float32)[0] * (2 * n / 3) ** order
        assert_close(got[order - 1][i, k], [exact], bound * inside)


# derivative


@both
@odd
@given(coeffs=polynomials(), interval=intervals(), order=st.integers(0, 3))
def test_derivative_is_exact(dtype, coeffs, interval, order):
    lower, upper = interval
    got = poly.derivative(
        jnp.asarray(coeffs, dtype), lower=lower, upper=upper, order=order
    )
    width = Fraction(upper) - Fraction(lower)
    exact = exact_derivative(rational(coeffs), width, order)
    size = (2 * len(coeffs) / (upper - lower)) ** order
    assert got.dtype == dtype
    eps, tiny = eps_of(dtype)
    # Difference, product, width and quotient: 4 roundings a step, of at most size.
    bound = 2 * order * eps * size * top(coeffs) + tiny * max(1, size)
    assert_close(got, exact, bound)


def test_derivative_beyond_the_degree_is_a_zero_constant():
    for coeffs, order in ((jnp.ones((2, 1)), 1), (jnp.arange(6.0).reshape(2, 3), 3)):
        got = poly.derivative(coeffs, order=order)
        assert got.shape == (2, 1)
        assert (got == 0).all()


# elevate


@both
@pytest.mark.parametrize(
    ("n", "m"), [(0, 0), (0, 5), (1, 2), (3, 3), (3, 25), (25, 100)]
)
def test_elevate_is_exact(dtype, n, m):
    coeffs = draw_coeffs(n)
    got = np.asarray(poly.elevate(jnp.asarray(coeffs, dtype), m))
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
    up = poly.elevate(jnp.asarray(coeffs, dtype), 12)
    for row, raised in zip(coeffs, np.asarray(up), strict=True):
        values = [exact_value(rational(row), exact_t(p, -3, 3)) for p in x]
        again = [exact_value(rational(raised), exact_t(p, -3, 3)) for p in x]
        for one, two in zip(values, again, strict=True):
            assert abs(one - two) <= 4 * eps_of(dtype)[0] * top(row)


@both
def test_elevate_in_two_steps_is_elevate_in_one(dtype):
    coeffs = jnp.asarray(draw_coeffs(4), dtype)
    twice = poly.elevate(poly.elevate(coeffs, 9), 20)
    bound = (7 + 12 + 7) / 2 * eps_of(dtype)[0] * top(coeffs)
    np.testing.assert_allclose(twice, poly.elevate(coeffs, 20), rtol=0, atol=bound)


# restrict


def restrict_bound(coeffs, dtype):
    eps, tiny = eps_of(dtype)
    # Two cuts of n blending steps each; weights are positive and sum to one.
    return 5 * (len(coeffs) - 1) * eps * top(coeffs) + 4 * len(coeffs) * tiny


@both
@odd
@given(data=st.data(), coeffs=polynomials(), interval=intervals())
def test_restrict_is_exact_anywhere(dtype, data, coeffs, interval):
    lower, upper = interval
    start, stop = data.draw(points(interval)), data.draw(points(interval))
    got = poly.restrict(
        jnp.asarray(coeffs, dtype), start, stop, lower=lower, upper=upper
    )
    assert got.dtype == dtype
    a, b = (exact_t(end, lower, upper) for end in (start, stop))
    exact = exact_restrict(rational(coeffs), a, b)
    assert_close(got, exact, restrict_bound(coeffs, dtype))


@both
@odd
@given(data=st.data(), coeffs=polynomials(), interval=intervals())
def test_restrict_encloses_the_clamped_activation(dtype, data, coeffs, interval):
    lower, upper = interval
    start, stop = sorted(data.draw(points(interval)) for _ in range(2))
    args = jnp.asarray(coeffs, dtype), start, stop
    got = rational(poly.restrict(*args, lower=lower, upper=upper))
    slack = Fraction(restrict_bound(coeffs, dtype))
    finite = np.clip([start, stop], lower - 1, upper + 1)
    for x in np.linspace(*finite, 9):
        y = exact_value(rational(coeffs), exact_t(x, lower, upper))
        assert min(got) - slack <= y <= max(got) + slack


@both
@pytest.mark.parametrize(
    ("start", "stop"), [(-3, 3), (-3, -1), (2, 3), (-0.5, 0.75), (1.5, -2)]
)
def test_restrict_of_high_degree(dtype, start, stop):
    coeffs = draw_coeffs(25)
    got = poly.restrict(jnp.asarray(coeffs, dtype), start, stop)
    a, b = exact_t(start, -3, 3), exact_t(stop, -3, 3)
    exact = exact_restrict(rational(coeffs), a, b)
    assert_close(got, exact, restrict_bound(coeffs, dtype))


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
    got = poly.restrict(jnp.asarray(coeffs, dtype), x, x)
    value = exact_value(rational(coeffs), exact_t(x, -3, 3))
    assert_close(got, [value] * 8, restrict_bound(coeffs, dtype))


@both
def test_restrict_twice_is_restrict_once(dtype):
    coeffs = jnp.asarray(draw_coeffs(7), dtype)
    outer = poly.restrict(coeffs, -2.0, 1.5)
    twice = poly.restrict(outer, -1.0, 0.5, lower=-2.0, upper=1.5)
    bound = 3 * restrict_bound(coeffs, dtype)
    once = poly.restrict(coeffs, -1.0, 0.5)
    np.testing.assert_allclose(twice, once, rtol=0, atol=bound)


@pytest.mark.parametrize("degree", [0, 7])
@pytest.mark.parametrize("ends", [(math.nan, 1.0), (1.0, math.nan), (3.0, math.nan)])
def test_restrict_with_a_nan_end_is_nan(degree, ends):
    assert np.isnan(poly.restrict(jnp.ones(degree + 1), *ends)).all()


def test_restrict_gradients_at_zero_width():
    # d c'_j / d start = (n-j)/n p'(x), d c'_j / d stop = j/n p'(x); 0 outside.
    coeffs, n = draw_coeffs(4), 4
    xs = np.array([-4.0, -3.0, -1.5, 0.0, 2.0, 3.0, math.inf], np.float32)

    def derivatives(x):
        by_start = jax.jacfwd(lambda a: poly.restrict(coeffs, a, x))(x)
        return by_start, jax.jacrev(lambda b: poly.restrict(coeffs, x, b))(x)

    for x, *got in zip(xs, *jax.jit(jax.vmap(derivatives))(xs), strict=True):
        inside = -3 <= x <= 3
        steps = exact_derivative(rational(coeffs), 6, 1)
        slope = exact_value(steps, exact_t(x, -3, 3)) * inside
        # The 5 n eps of a value, twice over for the product rule, of the size of p'.
        bound = 10 * n * eps_of(jnp.float32)[0] * 2 * n / 6 * top(coeffs) * inside
        exact = [slope * Fraction(j, n) for j in range(n + 1)]
        assert_close(got[0], exact[::-1], bound)
        assert_close(got[1], exact, bound)


# from_function


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


# to_power


@both
@odd
@given(coeffs=polynomials(), interval=intervals())
def test_to_power_is_exact(dtype, coeffs, interval):
    lower, upper = interval
    got = poly.to_power(jnp.asarray(coeffs, dtype), lower=lower, upper=upper)
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
    got = poly.to_power(jnp.asarray(coeffs, jnp.float64))
    exact = exact_power(rational(coeffs), Fraction(-3), Fraction(3))
    sizes = [math.comb(25, i) / 3**i for i in range(26)]
    assert_close(got, exact, 75 * 2.0**-52 * top(coeffs) * np.array(sizes))


# every function alike


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


@wide
@pytest.mark.parametrize("name", ["basis", "derivative", "elevate", "to_power"])
def test_gradients(dtype, name):
    f, coeffs = jax.jit(ON_COEFFS[name]), draw_coeffs(4, shape=(2,), scale=0.3)
    args = jnp.asarray(coeffs, dtype), -1.0, 2.0
    # Reverse over reverse takes long to compile: restrict, the most involved, has it.
    check_grads(f, args, order=2, modes=["fwd"])
    check_grads(f, args, order=1, modes=["rev"])


@wide
def test_restrict_gradients_in_every_order_of_the_ends(dtype):
    def f(c, start, stop, lower, upper):
        return poly.restrict(c, start, stop, lower=lower, upper=upper)

    # One batch, so that all orders share their programs.
    start, stop = jnp.array([-2.0, -1.0, 0.5, 2.0]), jnp.array([-1.5, 1.5, 2.5, -1.0])
    args = jnp.asarray(draw_coeffs(4), dtype), start, stop, -3.0, 3.5
    check_grads(jax.jit(f), args, order=2, modes=["fwd"])
    check_grads(jax.jit(f), args, order=2, modes=["rev"])


@on_coeffs
def test_vmap_jit_and_broadcasting_agree_with_one_at_a_time(f):
    coeffs = draw_coeffs(7, shape=(2, 3))
    lower, upper = np.float32([-1.0, -2.0, -0.5]), np.float32(1.5)
    each = [[f(c[k], lower[k], upper) for k in range(3)] for c in coeffs]
    single = np.array(each)
    batched = jax.jit(jax.vmap(jax.vmap(f, (0, 0, None)), (0, None, None)))
    # The same operations in another program: products may fuse differently, which
    # is a rounding in each of 7 steps, of terms no larger than the largest result.
    close = dict(rtol=0, atol=7 * eps_of(jnp.float32)[0] * top(single))
    np.testing.assert_allclose(batched(coeffs, lower, upper), single, **close)
    np.testing.assert_allclose(f(coeffs, lower, upper), single, **close)


@on_coeffs
def test_half_precision_is_rounded_once(f):
    half = draw_coeffs(7).astype(jnp.bfloat16)
    got = np.asarray(f(half, -1.0, 2.0))
    assert got.dtype == half.dtype
    want = np.asarray(f(half.astype(np.float32), -1.0, 2.0)).astype(half.dtype)
    np.testing.assert_array_equal(got, want)


@on_coeffs
def test_empty_batches_are_fine(f):
    assert f(jnp.zeros((0, 5)), -1.0, 1.0).shape[0] == 0


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


def test_traced_ends_are_not_checked_and_concrete_ones_are_under_jit():
    c = jnp.ones(3)
    traced = jax.jit(lambda low: poly.derivative(c, lower=low, upper=1.0))
    assert (traced(0.0) == 0).all()
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
