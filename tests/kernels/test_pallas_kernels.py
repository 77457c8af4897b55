"""The Pallas kernels, interpreted, against de Casteljau's algorithm in float64."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels import factored
from jaxbern.kernels.config import Launch
from jaxbern.kernels.pallas import pallas_backend
from tests.kernels import calls
from tests.op.absent_gpu import on_a_gpu
from tests.oracles import casteljau
from tests.quick import quickly

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
# Several programs along every axis of a small array, and several steps in each.
SMALL = Launch(rows=4, columns=4, unroll=2, steps=2)
# The same with half the code, for high degrees.
PLAIN = Launch(rows=4, columns=4, unroll=1, steps=4)
PALLAS = "pallas:interpret"


@functools.partial(quickly, static_argnames=("launch", "implementation"))
def results(x, coeffs, lower, upper, dy, launch=None, implementation=PALLAS):
    args = implementation, x, coeffs, lower, upper
    y = calls.evaluate(*args, launch=launch)
    return y, *calls.vjp(*args, dy, launch=launch)


def underflow(degree: int) -> float:
    """How much of a coefficient a product below the smallest float is worth at most.

    CPUs flush those to zero; a GPU keeps 2^-23 of them. An outer factor is then
    multiplied by an inner one and by binomials that add up to 2^n, and the lowest inner
    ones by s^(n-J+1), which is one there, and by their binomial.
    """
    inner = factored.factor(degree).inner - 1
    stretch = factored.stretch(degree)
    return (
        2.0**degree * stretch ** (inner - degree)
        + math.comb(degree, inner) * stretch**-inner
    )


def worst_error(x, coeffs, lower, upper, dy, launch=None, implementation=PALLAS):
    """Of the value and both gradients, in units of what is allowed: below one is good."""
    degree, dtype = len(coeffs) - 1, x.dtype
    got = results(x, coeffs, lower, upper, dy, launch, implementation)
    assert [a.dtype for a in got] == [dtype, dtype, jnp.float32]
    assert [a.shape for a in got] == [x.shape, x.shape, coeffs.shape]
    allowed, interval = 8 * (degree + 2) * EPS, (lower, upper)
    x, dy = np.float64(x), np.float64(dy)
    narrow = dtype != jnp.float32
    rounding = float(jnp.finfo(dtype).eps) if narrow else 0.0
    tiny = float(jnp.finfo(dtype).smallest_subnormal) if narrow else TINY

    def error(got, want, limit, floor, rounding=0.0, tiny=TINY):
        bound = (
            limit + rounding * np.abs(want) + floor * underflow(degree) * TINY + tiny
        )
        return np.max(np.abs(np.float64(got) - want) / bound)

    rounded = functools.partial(error, rounding=rounding, tiny=tiny)
    size = np.abs(coeffs).max()
    limit = casteljau.value(x, np.abs(coeffs), *interval)
    want = casteljau.value(x, coeffs, *interval)
    found = [rounded(got[0], want, allowed * limit, size)]
    limit = casteljau.slope(x, coeffs, *interval, absolute=True) * np.abs(dy)
    want = casteljau.slope(x, coeffs, *interval) * dy
    steepest = 2 * degree * size / np.min(upper - lower) * np.abs(dy).max()
    found.append(rounded(got[1], want, allowed * limit, steepest))
    # Rows are added up one after the other at worst, which costs their number.
    limit = casteljau.moments(x, np.abs(dy), *interval, coeffs.shape)
    want = casteljau.moments(x, dy, *interval, coeffs.shape)
    rows = x.size * (degree + 1) / coeffs.size
    limit = (allowed + rows * EPS) * limit
    found.append(error(got[2], want, limit, np.abs(dy).sum()))
    return np.max(found)  # NaN if one is


def points(rng, shape, lower, upper):
    """``[..., B, W]``: at, next to and beyond the ends, near them, and anywhere."""
    t = rng.uniform(size=shape)
    third = shape[-2] // 3
    near = 10.0 ** rng.uniform(-7.5, -0.3, size=t[..., :third, :].shape)
    t[..., :third, :] = near
    t[..., third : 2 * third, :] = 1 - near
    x = (lower + t * (upper - lower)).astype(np.float32)
    ends = np.concatenate([lower, upper], axis=-2).astype(np.float32)
    inner = np.nextafter(ends, ends[..., ::-1, :])
    outer = np.nextafter(ends, 2 * ends - ends[..., ::-1, :])
    special = np.concatenate([ends, inner, outer, 2 * ends - ends[..., ::-1, :]], -2)
    x[..., : special.shape[-2], :] = special
    return x


def coefficients(rng, degree, columns):
    """``[n+1, 3, 1, W]``: normal ones, one in each column, and of very different size."""
    drawn = rng.normal(size=(degree + 1, 3, 1, columns))
    alone = np.linspace(0, degree, columns).astype(int)
    drawn[:, 1, 0] *= np.arange(degree + 1)[:, None] == alone
    drawn[:, 2] *= 10.0 ** rng.uniform(-8, 8, drawn[:, 2].shape)
    return drawn.astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype, degree",
    [
        *(("float32", degree) for degree in (1, 2, 3, 9, 25, 60)),
        *(("bfloat16", degree) for degree in (1, 3, 25)),
        *(("float16", degree) for degree in (2, 9, 25)),
    ],
)
def test_error_is_within_the_bound(dtype, degree):
    rng = np.random.default_rng(degree)
    columns = 5
    lower = rng.uniform(-4, -2, (1, 1, columns)).astype(np.float32)
    upper = rng.uniform(2, 4, (1, 1, columns)).astype(np.float32)
    coeffs = coefficients(rng, degree, columns)
    if dtype == "float16":  # whose largest number is 65504
        coeffs = np.clip(coeffs, -100, 100)
    x = points(rng, (3, 43, columns), lower, upper).astype(dtype)
    dy = rng.normal(size=x.shape).astype(dtype)
    launch = SMALL if degree < 25 else PLAIN
    assert worst_error(x, coeffs, lower, upper, dy, launch) < 1


SHAPES = {  # of x, of a coefficient, of an end of the interval
    "a number": ((), (), ()),
    "a vector": ((70,), (1,), (1,)),
    "one row": ((1, 40), (1, 40), (1, 1)),
    "one column": ((300, 1), (1, 1), (1, 1)),
    "smaller than a block": ((3, 5), (1, 5), (1, 5)),
    "ragged": ((131, 33), (1, 33), (1, 1)),
    "seeds": ((3, 20, 9), (3, 1, 9), (3, 1, 9)),
    "seeds behind the batch": ((20, 3, 5), (1, 3, 5), (1, 1, 1)),
    "seeds inside the batch": ((6, 3, 4, 5), (1, 3, 1, 5), (1, 1, 1, 1)),
    "shared, per seed": ((2, 21, 3), (2, 1, 1), (1, 1, 1)),
    "shared, on intervals of their own": ((20, 9), (1, 1), (1, 9)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name):
    shape, parameters, bounds = SHAPES[name]
    rng = np.random.default_rng(1)
    x, dy = (rng.normal(size=(2, *shape)) * 2).astype(np.float32)
    coeffs = rng.normal(size=(4, *parameters)).astype(np.float32)
    lower = rng.uniform(-4, -2, bounds).astype(np.float32)
    upper = rng.uniform(2, 4, bounds).astype(np.float32)
    assert worst_error(x, coeffs, lower, upper, dy) < 1


def test_what_is_not_a_number_and_what_is_beyond():
    x = np.zeros((9, 3), np.float32)
    x[:, 0] = [-3, 3, -np.inf, np.inf, -4, 4, -3.0000002, 3.0000002, 0]
    x[4, 1] = np.nan
    coeffs = np.float32([[1, 2, 3], [-1, 5, 0], [4, 4, 4], [7, -2, 1]])[:, None]
    ends = np.full((2, 1, 1), [[[-3]], [[3]]], np.float32)
    dy = np.ones_like(x)
    y, dx, dc = map(np.asarray, results(x, coeffs, *ends, dy, SMALL))
    # The values of the end points, exactly, and the slopes from inside.
    np.testing.assert_array_equal(y[:8, 0], [1, 7] * 4)
    np.testing.assert_allclose(dx[:2, 0], [3 / 6 * -2, 3 / 6 * 3], rtol=4 * EPS)
    np.testing.assert_array_equal(dx[2:8, 0], 0)
    broken = np.isnan(x)
    np.testing.assert_array_equal(np.isnan(y), broken)
    np.testing.assert_array_equal(np.isnan(dx), broken)
    np.testing.assert_array_equal(np.isnan(dc[:, 0]).all(axis=0), broken.any(axis=0))
    np.testing.assert_array_equal(np.isnan(dc[:, 0]).any(axis=0), broken.any(axis=0))


def test_moments_are_the_coefficient_gradients():
    rng = np.random.default_rng(2)
    x, dy = rng.normal(size=(2, 45, 5)).astype(np.float32)
    ends = np.full((2, 1, 1), [[[-3]], [[3]]], np.float32)
    shape = (10, 1, 5)
    call = functools.partial(calls.moments, PALLAS, shape=shape, launch=SMALL)
    got = quickly(call)(x, dy, *ends)
    limit = casteljau.moments(x, np.abs(dy), *ends, shape)
    error = np.abs(got - casteljau.moments(x, dy, *ends, shape))
    np.testing.assert_array_less(error, (8 * 11 + 45) * EPS * limit + TINY)


def test_same_bits_in_every_run():
    rng = np.random.default_rng(3)
    x, dy = rng.normal(size=(2, 203, 5)).astype(np.float32)
    coeffs = rng.normal(size=(4, 1, 5)).astype(np.float32)
    ends = np.full((2, 1, 1), [[[-3]], [[3]]], np.float32)
    runs = [results(x, coeffs, *ends, dy, SMALL) for _ in range(3)]
    for run in runs[1:]:
        for a, b in zip(runs[0], run, strict=True):
            np.testing.assert_array_equal(a, b)


def test_degree_zero_and_nothing_at_all():
    ends = np.full((2, 1, 1), [[[-3]], [[3]]], np.float32)
    for rows, degree in ((4, 0), (0, 3)):
        x = np.ones((rows, 5), np.float32)
        coeffs = np.ones((degree + 1, 1, 5), np.float32)
        y, dx, dc = results(x, coeffs, *ends, x)
        np.testing.assert_array_equal(y, np.ones_like(x))
        np.testing.assert_array_equal(dx, np.zeros_like(x))
        np.testing.assert_array_equal(dc, np.full_like(coeffs, rows))


@pytest.mark.usefixtures("x64")
def test_float64_is_refused():
    x, coeffs = np.ones((4, 5)), np.ones((4, 1, 5))
    ends = np.full((2, 1, 1), [[[-3]], [[3]]], np.float64)
    with pytest.raises(NotImplementedError, match=r"float32.*implementation='xla'"):
        calls.evaluate(PALLAS, x, coeffs, *ends)
    with pytest.raises(NotImplementedError, match=r"float32.*implementation='xla'"):
        calls.vjp(PALLAS, x, coeffs, *ends, x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_lowers_to_one_kernel_each_without_a_warning(dtype):
    x = jax.ShapeDtypeStruct((1000, 100), dtype)
    coeffs = jax.ShapeDtypeStruct((10, 1, 100), jnp.float32)
    interval = jax.ShapeDtypeStruct((2, 1, 1), jnp.float32)
    pallas, options = pallas_backend.BACKEND, {"outside": "clamp"}

    def step(x, coeffs, interval, dy):
        y = pallas.evaluate(x, coeffs, interval, **options)
        sums = pallas.moments(x, interval, dy, shape=coeffs.shape, **options)
        return y, sums, pallas.vjp(x, coeffs, interval, dy, **options)

    with on_a_gpu():
        traced = jax.jit(step).trace(x, coeffs, interval, x)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    for name in ("bernstein", "bernstein_vjp", "bernstein_moments"):
        assert text.count(f'"jaxbern_{name}"') == 1
