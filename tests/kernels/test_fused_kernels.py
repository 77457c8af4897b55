"""The GPU kernels with an addend and with gradients of the interval, interpreted.

What normalise-activate-skip needs of them beyond the plain kernels' own tests.
"""

import functools
import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels.config import Launch
from jaxbern.kernels.pallas import pallas_backend
from tests.kernels import calls
from tests.op.absent_gpu import on_a_gpu
from tests.oracles import casteljau, interval_oracle
from tests.quick import quickly

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
# Several programs along every axis of a small array, and several steps in each.
SMALL = Launch(rows=4, columns=8, unroll=2, steps=2)
# The same with half the code, for high degrees.
PLAIN = Launch(rows=4, columns=8, unroll=1, steps=4)

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="these kernels need Triton"
)
each_backend = pytest.mark.parametrize(
    "backend", ["pallas", pytest.param("triton", marks=needs_triton)]
)


def results(backend, x, coeffs, lower, upper, dy, addend, launch=SMALL):
    """The value plus ``addend``, and all gradients."""
    name = f"{backend}:interpret"

    def run(x, coeffs, lower, upper, dy, addend):
        args = name, x, coeffs, lower, upper
        y = calls.evaluate(*args, addend, launch=launch)
        return y, *calls.vjp(*args, dy, interval=True, launch=launch)

    args = x, coeffs, lower, upper, dy, addend
    return [np.asarray(a) for a in quickly(run)(*args)]


def arguments(shape, c_shape, lower_shape, upper_shape, degree, dtype="float32"):
    rng = np.random.default_rng(degree)
    x, dy = rng.normal(size=(2, *shape)).astype(dtype)  # a tenth of x outside
    coeffs = rng.normal(size=(degree + 1, *c_shape)).astype(np.float32)
    lower = rng.uniform(-2.0, -1.0, lower_shape).astype(np.float32)
    upper = rng.uniform(1.0, 2.0, upper_shape).astype(np.float32)
    return x, coeffs, lower, upper, dy


def assert_within(got, want, bound):
    assert got.shape == want.shape
    np.testing.assert_array_less(np.abs(np.float64(got) - want), bound)


def worst_end(got, x, coeffs, lower, upper, dy):
    """The largest error of both ends' gradients, in units of what is allowed."""
    allowed = 8 * (len(coeffs) + 1) * EPS
    assert [g.shape for g in got] == [lower.shape, upper.shape]
    assert [g.dtype for g in got] == [np.float32] * 2
    want = interval_oracle.gradients(x, coeffs, lower, upper, dy)
    limits = interval_oracle.limits(x, coeffs, lower, upper, dy)
    errors = []
    for g, w, limit in zip(got, want, limits, strict=True):
        summed = x.size / g.size  # rows are added one after the other at worst
        assert g.shape == w.shape
        bound = (allowed + summed * EPS) * limit + TINY
        errors.append(np.max(np.abs(np.float64(g) - w) / bound))
    return np.max(errors)  # NaN if one is


SHAPES = {  # of x, of a coefficient, of the lower end, of the upper end
    "ragged, per neuron": ((37, 20), (1, 20), (1, 20), (1, 20)),
    "ragged, one interval": ((37, 20), (1, 20), (1, 1), (1, 1)),
    "one end shared": ((37, 9), (1, 9), (1, 9), (1, 1)),
    "one polynomial": ((9, 12), (1, 1), (1, 12), (1, 12)),
    "all shared": ((21, 7), (1, 1), (1, 1), (1, 1)),
    "full blocks": ((16, 16), (1, 16), (1, 16), (1, 16)),
    "one number": ((), (), (), ()),
    "a vector": ((20,), (20,), (1,), (20,)),
    "seeds": ((3, 5, 9), (3, 1, 9), (3, 1, 9), (3, 1, 9)),
    "seeds on one interval": ((3, 5, 9), (3, 1, 9), (1, 1, 1), (3, 1, 1)),
    "seeds of one polynomial": ((3, 5, 9), (1, 1, 1), (3, 1, 9), (3, 1, 9)),
    "seeds behind the batch": ((6, 3, 4, 5), (1, 3, 1, 5), (1, 3, 1, 5), (1, 1, 1, 5)),
}


@pytest.mark.parametrize(
    "backend, name",
    [
        ("pallas", "ragged, per neuron"),  # slow to compile; shapes are not its affair
        ("pallas", "seeds on one interval"),
        *(pytest.param("triton", name, marks=needs_triton) for name in SHAPES),
    ],
)
def test_every_shape(backend, name):
    x, coeffs, lower, upper, dy = args = arguments(*SHAPES[name], degree=3)
    y, _, _, *interval = results(backend, *args, addend=dy, launch=PLAIN)
    want = casteljau.value(x, coeffs, lower, upper) + dy
    limit = casteljau.value(x, np.abs(coeffs), lower, upper) + np.abs(dy)
    assert_within(y, want, 8 * 5 * EPS * limit)
    assert worst_end(interval, *args) < 1


@pytest.mark.parametrize(
    "backend, dtype, degree",
    [
        ("pallas", "float32", 16),
        *(("pallas", dtype, 3) for dtype in ("bfloat16", "float16")),
        *(
            pytest.param("triton", dtype, degree, marks=needs_triton)
            for dtype, degrees in {
                "float32": (1, 16, 50),  # one for each scale of t and s
                "bfloat16": (3, 9),
                "float16": (3, 9),
            }.items()
            for degree in degrees
        ),
    ],
)
def test_dtypes_and_degrees(backend, dtype, degree):
    shapes = (21, 5), (1, 5), (1, 5), (1, 5)
    x, coeffs, lower, upper, _ = args = arguments(*shapes, degree, dtype)
    value = casteljau.value(x, coeffs, lower, upper)
    # Nearly cancelled by the addend: what would be rounded before would be lost.
    addend = (-value).astype(np.float32).astype(dtype)
    y, dx, _, *interval = results(backend, *args, addend=addend, launch=PLAIN)
    assert y.dtype == dx.dtype == x.dtype
    rounding, tiny = jnp.finfo(dtype).eps, jnp.finfo(dtype).smallest_subnormal
    want = value + np.float64(addend)
    limit = 2 * casteljau.value(x, np.abs(coeffs), lower, upper)
    once = float(rounding) / 2 * np.abs(want) + float(tiny)
    assert_within(y, want, 8 * (degree + 2) * EPS * limit + once)
    assert worst_end(interval, *args) < 1


@pytest.mark.slow
@each_backend
def test_other_gradients_are_what_they_are_without_the_interval(backend):
    shapes = (37, 9), (1, 9), (1, 9), (1, 1)
    args = arguments(*shapes, degree=1)
    vjp = functools.partial(calls.vjp, f"{backend}:interpret", launch=PLAIN)
    _, dx, dcoeffs, *_ = results(backend, *args, addend=args[0], launch=PLAIN)
    for got, want in zip((dx, dcoeffs), quickly(vjp)(*args), strict=True):
        np.testing.assert_array_equal(got, want)


@each_backend
def test_the_launch_that_is_chosen(backend):
    shapes = (150, 5), (1, 5), (1, 5), (1, 5)
    args = arguments(*shapes, degree=3)
    _, _, _, *interval = results(backend, *args, addend=args[0], launch=None)
    assert worst_end(interval, *args) < 1


@each_backend
def test_at_the_ends_beyond_them_and_nan(backend):
    x = np.zeros((8, 3), np.float32)
    x[:, 0] = [-3, 3, -np.inf, np.inf, -4, 4, -3.0000002, 3.0000002]
    x[4, 1] = np.nan
    coeffs = np.float32([[1, 2, 3], [-1, 5, 0], [4, 4, 4], [7, -2, 1]])[:, None]
    ends = np.full((1, 3), -3, np.float32), np.full((1, 3), 3, np.float32)
    addend = np.full_like(x, 0.5)
    addend[5, 2] = np.nan
    args = x, coeffs, *ends, np.ones_like(x), addend
    y, _, _, dlower, dupper = results(backend, *args)
    np.testing.assert_array_equal(y[:, 0], [1.5, 7.5] * 4)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(x) | np.isnan(addend))
    # Only the two points at the ends move with them, with the slopes from inside.
    np.testing.assert_allclose(dlower[0, 0], 3 / 6 * 2, rtol=4 * EPS)
    np.testing.assert_allclose(dupper[0, 0], -3 / 6 * 3, rtol=4 * EPS)
    for gradient in (dlower, dupper):
        np.testing.assert_array_equal(np.isnan(gradient), [[False, True, False]])


@each_backend
@pytest.mark.parametrize("degree, rows", [(0, 4), (3, 0)])
def test_degree_zero_and_nothing_at_all(backend, degree, rows):
    shapes = (rows, 5), (1, 5), (1, 5), (1, 1)
    x, coeffs, lower, upper, dy = args = arguments(*shapes, degree)
    y, dx, dcoeffs, dlower, dupper = results(backend, *args, addend=dy)
    np.testing.assert_allclose(y, coeffs[0] + dy, rtol=2 * EPS)
    assert dx.shape == x.shape
    assert dcoeffs.shape == coeffs.shape
    np.testing.assert_array_equal(dlower, np.zeros_like(lower))
    np.testing.assert_array_equal(dupper, np.zeros_like(upper))


def test_pallas_lowers_to_one_kernel_each():
    x = jax.ShapeDtypeStruct((1000, 100), jnp.float32)
    coeffs = jax.ShapeDtypeStruct((10, 1, 100), jnp.float32)
    interval = jax.ShapeDtypeStruct((3, 1, 100), jnp.float32)
    pallas, options = pallas_backend.BACKEND, {"outside": "clamp"}

    def step(x, coeffs, interval, skip):
        y = pallas.evaluate(x, coeffs, interval, skip, **options)
        return y, pallas.vjp(x, coeffs, interval, skip, with_interval=True, **options)

    with on_a_gpu():
        traced = jax.jit(step).trace(x, coeffs, interval, x)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    for name in ("bernstein_skip", "bernstein_vjp"):
        assert text.count(f'"jaxbern_{name}"') == 1
    assert '"jaxbern_bernstein"' not in text
