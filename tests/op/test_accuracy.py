"""Values and gradients against exact rational arithmetic, at every kind of point."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbern as jb
from tests.op.implementations import IMPLEMENTATIONS
from tests.oracles import operator_oracle
from tests.quick import FULLY, quickly

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
ROWS = 24


def value_and_gradients(x, coeffs, dy, interval, implementation):
    """``interval`` is ``{}`` or the two ends, which are arguments of the program."""
    call = functools.partial(jb.bernstein, **interval, implementation=implementation)
    y, pull = jax.vjp(call, x, coeffs)
    return y, *pull(dy)


# XLA's own code as users get it; interpreted kernels are the same without optimisation.
optimised = jax.jit(
    value_and_gradients, static_argnames="implementation", compiler_options=FULLY
)
interpreted = quickly(value_and_gradients, static_argnames="implementation")


def compiled(x, coeffs, dy, implementation, **interval):
    run = optimised if implementation == "xla" else interpreted
    return run(x, coeffs, dy, interval, implementation)


def points(rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
    """Inside, at, next to and beyond both ends, in float32."""
    ends = np.float32([lower, upper])
    inner = np.nextafter(ends, np.float32([upper, lower]))
    outer = np.nextafter(ends, np.float32([-np.inf, np.inf]))
    middle = np.float32([lower + (upper - lower) / 2])
    near = ends + np.float32([1, -1]) * np.float32((upper - lower) * 1e-3)
    fixed = np.concatenate([ends, inner, outer, middle, near, ends * 2 + [-1, 1]])
    drawn = rng.uniform(lower, upper, (ROWS, 2)).astype(np.float32)
    drawn[: len(fixed)] = fixed[:, None].astype(np.float32)
    # XLA flushes subnormal numbers to zero; next to 0.0 take the smallest normal one.
    return np.where((drawn != 0) & (abs(drawn) < TINY), np.copysign(TINY, drawn), drawn)


def coefficients(rng: np.random.Generator, degree: int, kind: str) -> np.ndarray:
    drawn = rng.normal(size=(2, degree + 1))
    if kind == "one":  # all but one are zero: nothing hides a lost term
        drawn *= np.arange(degree + 1) == rng.integers(degree + 1)
    if kind == "wild":
        drawn *= 10.0 ** rng.uniform(-8, 8, drawn.shape)
    return drawn.astype(np.float32)


def check(x, coeffs, dy, implementation, **interval):
    degree = coeffs.shape[1] - 1
    ends = {name: np.float32(end) for name, end in interval.items()}
    y, dx, dc = map(np.float64, compiled(x, coeffs, dy, implementation, **ends))
    lower, upper = interval.get("lower", -3.0), interval.get("upper", 3.0)
    allowed = 8 * (degree + 2) * EPS
    want, limit = operator_oracle.evaluate(x, coeffs, lower, upper)
    np.testing.assert_array_less(np.abs(y - want), allowed * limit + TINY)
    want, limit = operator_oracle.gradient_x(x, coeffs, dy, lower, upper)
    np.testing.assert_array_less(np.abs(dx - want), allowed * limit + TINY)
    want, limit = operator_oracle.gradient_coeffs(x, degree, dy, lower, upper)
    # Adding up the rows costs their number in roundings; a power of 2t that falls below
    # the smallest float is worth at most 2^n of it.
    floor = TINY * 2.0**degree * np.abs(dy).sum(axis=0)[:, None]
    np.testing.assert_array_less(
        np.abs(dc - want), (allowed + ROWS * EPS) * limit + floor
    )


@pytest.mark.slow
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", ["normal", "one", "wild"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 9, 15, 25, 40, 60])
def test_float32_error_is_within_the_bound(degree, kind, implementation):
    rng = np.random.default_rng([degree, len(kind)])
    x, coeffs = points(rng, -3.0, 3.0), coefficients(rng, degree, kind)
    dy = rng.normal(size=x.shape).astype(np.float32)
    check(x, coeffs, dy, implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("lower, upper", [(0.0, 1.0), (-1.0, 7.5), (100.0, 101.0)])
@pytest.mark.parametrize("degree", [3, 25])
def test_other_intervals(degree, lower, upper, implementation):
    rng = np.random.default_rng(degree)
    x, coeffs = points(rng, lower, upper), coefficients(rng, degree, "normal")
    check(x, coeffs, np.ones_like(x), implementation, lower=lower, upper=upper)


@st.composite
def any_finite_input(draw):
    degree = draw(st.sampled_from([0, 1, 3, 9, 25, 60]))
    floats = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
    xs = draw(st.lists(st.floats(-4, 4, width=32), min_size=8, max_size=8))
    cs = draw(st.lists(floats, min_size=2 * degree + 2, max_size=2 * degree + 2))
    x = np.float32(np.resize(xs, (ROWS, 2)))
    return x, np.float32(cs).reshape(2, degree + 1)


@pytest.mark.slow
@settings(deadline=None, max_examples=200, derandomize=True)
@given(any_finite_input())
def test_any_finite_input(arrays):
    x, coeffs = arrays
    check(x, coeffs, np.ones_like(x), "xla")


@pytest.mark.slow
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS[1:])
@settings(deadline=None, max_examples=15, derandomize=True)
@given(arrays=any_finite_input())
def test_any_finite_input_interpreted(implementation, arrays):
    x, coeffs = arrays
    check(x, coeffs, np.ones_like(x), implementation)


@pytest.mark.slow
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("degree", [1, 9, 25])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_types_are_rounded_once(dtype, degree, implementation):
    """float32 arithmetic inside: only the result is rounded to the narrow type."""
    rng = np.random.default_rng(degree)
    x = jnp.asarray(points(rng, -3.0, 3.0), dtype)
    coeffs = coefficients(rng, degree, "normal")
    dy = jnp.asarray(rng.normal(size=x.shape), dtype)
    y, dx, dc = compiled(x, coeffs, dy, implementation)
    assert y.dtype == dx.dtype == dtype
    assert dc.dtype == jnp.float32
    x, dy, rounding = np.float64(x), np.float64(dy), float(jnp.finfo(dtype).eps)
    tiny = float(jnp.finfo(dtype).smallest_subnormal)
    allowed = 8 * (degree + 2) * EPS
    for got, (want, limit) in (
        (y, operator_oracle.evaluate(x, coeffs)),
        (dx, operator_oracle.gradient_x(x, coeffs, dy)),
    ):
        bound = allowed * limit + rounding * np.abs(want) + tiny
        np.testing.assert_array_less(np.abs(np.float64(got) - want), bound)
    want, limit = operator_oracle.gradient_coeffs(x, degree, dy)
    np.testing.assert_array_less(
        np.abs(dc - want), (allowed + ROWS * EPS) * limit + TINY * 2.0**degree * ROWS
    )


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("degree", [3, 25, 60])
def test_float64_is_computed_in_float64(degree):
    rng = np.random.default_rng(degree)
    x = points(rng, -3.0, 3.0).astype(np.float64)
    coeffs = rng.normal(size=(2, degree + 1))
    y, dx, _ = compiled(x, coeffs, np.ones_like(x), "xla")
    assert y.dtype == dx.dtype == np.float64
    want, limit = operator_oracle.evaluate(x, coeffs)
    eps = np.finfo(np.float64).eps
    # The oracle's own result is rounded to float64: one more eps.
    bound = (8 * (degree + 2) + 1) * eps * limit + 1e-300
    np.testing.assert_array_less(np.abs(y - want), bound)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [80, 100])
def test_high_degrees_stay_accurate(degree):
    rng = np.random.default_rng(degree)
    x, coeffs = points(rng, -3.0, 3.0), coefficients(rng, degree, "normal")
    check(x, coeffs, np.ones_like(x), "xla")
