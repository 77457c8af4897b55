"""The Triton kernels in Triton's interpreter, against formulas of another kind."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels.config import Launch
from tests.kernels import calls
from tests.oracles import casteljau, operator_oracle
from tests.quick import quickly

pytest.importorskip("triton", reason="these kernels need Triton")

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
# One warp, and few rows: more than one program along every axis of a small array.
SMALL = Launch(rows=4, columns=8, unroll=2, steps=2)
TRITON = "triton:interpret"


@functools.partial(quickly, static_argnames="launch")
def evaluate(x, coeffs, lower, upper, launch=None):
    return calls.evaluate(TRITON, x, coeffs, lower, upper, launch=launch)


@functools.partial(quickly, static_argnames="launch")
def vjp(x, coeffs, lower, upper, dy, launch=None):
    return calls.vjp(TRITON, x, coeffs, lower, upper, dy, launch=launch)


@functools.partial(quickly, static_argnames="launch")
def results(x, coeffs, lower, upper, dy, launch=None):
    """The value, its gradients, and the coefficients' by the kernel for them alone."""
    args, options = (TRITON, x, coeffs, lower, upper), {"launch": launch}
    return (
        calls.evaluate(*args, **options),
        *calls.vjp(*args, dy, **options),
        calls.moments(TRITON, x, dy, lower, upper, shape=coeffs.shape, **options),
    )


def error(got, want, bound):
    """The largest, in units of the bound."""
    return np.max(np.abs(np.float64(got) - want) / bound)


def worst_error(x, coeffs, lower, upper, dy, launch=SMALL):
    """Against de Casteljau, in units of the contract's bound: below one is good."""
    degree = coeffs.shape[0] - 1
    allowed = 8 * (degree + 2) * EPS
    interval = lower, upper
    y, dx, dc, alone = results(x, coeffs, *interval, dy, launch)
    limit = casteljau.value(x, np.abs(coeffs), *interval)
    want = casteljau.value(x, coeffs, *interval)
    found = [error(y, want, allowed * limit + TINY)]
    limit = casteljau.slope(x, coeffs, *interval, absolute=True) * np.abs(dy)
    want = casteljau.slope(x, coeffs, *interval) * dy
    found.append(error(dx, want, allowed * limit + TINY))
    limit = casteljau.moments(x, np.abs(dy), *interval, coeffs.shape)
    want = casteljau.moments(x, dy, *interval, coeffs.shape)
    found.append(error(dc, want, (allowed + x.size * EPS) * limit + TINY))
    np.testing.assert_array_equal(alone, dc)
    return np.max(found)  # NaN if one is


def arguments(shape, c_shape, bound_shape, degree, seed=0):
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(size=(2, *shape)).astype(np.float32)
    coeffs = rng.normal(size=(degree + 1, *c_shape)).astype(np.float32)
    lower = rng.uniform(-2.0, -1.0, bound_shape).astype(np.float32)
    upper = rng.uniform(1.0, 2.0, bound_shape).astype(np.float32)
    return x, coeffs, lower, upper, dy


SHAPES = {  # x, coefficients without k, interval
    "ragged": ((37, 20), (1, 20), (1, 1)),
    "full blocks": ((16, 16), (1, 16), (1, 1)),
    "one row": ((1, 20), (1, 20), (1, 1)),
    "one column": ((37, 1), (1, 1), (1, 1)),
    "smaller than a block": ((2, 3), (1, 3), (1, 1)),
    "one number": ((), (), ()),
    "vector": ((20,), (20,), (1,)),
    "shared coefficients": ((5, 7), (1, 1), (1, 1)),
    "interval per neuron": ((9, 12), (1, 12), (1, 12)),
    "shared coefficients, interval per neuron": ((9, 12), (1, 1), (1, 12)),
    "seeds": ((3, 5, 9), (3, 1, 9), (1, 1, 1)),
    "seeds with one set of coefficients": ((3, 5, 9), (1, 1, 9), (3, 1, 1)),
    "seeds with an interval per neuron": ((3, 5, 9), (3, 1, 9), (3, 1, 9)),
    "rows in front of a group": ((2, 3, 5, 4), (1, 3, 1, 4), (1, 1, 1, 1)),
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES.keys())
def test_shapes(shapes):
    assert worst_error(*arguments(*shapes, degree=3)) < 1


@pytest.mark.parametrize("degree", [5, 16, 40, 64])
def test_degrees(degree):
    assert worst_error(*arguments((6, 3), (1, 3), (1, 1), degree)) < 1


@pytest.mark.parametrize("degree", [1, 3, 25])
def test_the_launch_that_is_chosen(degree):
    args = arguments((20, 5), (1, 5), (1, 1), degree)
    assert worst_error(*args, launch=None) < 1


@pytest.mark.parametrize("degree", [1, 2, 3, 9, 25, 60])
def test_every_basis_polynomial_at_the_ends_and_near_them(degree):
    """Exact rationals, and one coefficient at a time: nothing hides a lost term."""
    ends, inwards = np.float32([-3, 3]), np.float32([3, -3])
    near = [ends + np.sign(inwards) * np.float32(6 * d) for d in (1e-5, 1e-3, 0.02)]
    middle = np.linspace(-2.5, 2.5, 6, dtype=np.float32)
    points = np.concatenate([ends, np.nextafter(ends, inwards), *near, middle])
    x = np.tile(points[:, None], (1, degree + 1))
    coeffs = np.eye(degree + 1, dtype=np.float32)[:, None]
    lower, upper = np.full((1, 1), -3, np.float32), np.full((1, 1), 3, np.float32)
    y, dx, dc, _ = results(x, coeffs, lower, upper, np.ones_like(x))

    def exact(n):
        rows = (operator_oracle.basis(p, n, -3.0, 3.0) for p in points)
        return np.array([[k / whole for k in sizes] for sizes, whole in rows])

    allowed = 8 * (degree + 2) * EPS
    basis, below = exact(degree), np.pad(exact(degree - 1), ((0, 0), (1, 1)))
    assert error(y, basis, allowed * basis + TINY) < 1
    rise, fall = degree / 6 * below[:, :-1], degree / 6 * below[:, 1:]
    assert error(dx, rise - fall, allowed * (rise + fall) + TINY) < 1
    total = basis.sum(axis=0)[:, None, None]
    assert error(dc, total, (allowed + len(points) * EPS) * total + TINY) < 1


@pytest.mark.parametrize("degree", [1, 9, 25])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_types_are_rounded_once(dtype, degree):
    x, coeffs, lower, upper, dy = arguments((13, 9), (1, 9), (1, 1), degree)
    x, dy = x.astype(dtype), dy.astype(dtype)
    y, dx, dc, _ = results(x, coeffs, lower, upper, dy)
    assert y.dtype == dx.dtype == dtype
    assert dc.dtype == np.float32
    rounding, tiny = jnp.finfo(dtype).eps, jnp.finfo(dtype).smallest_subnormal
    allowed, x, dy = 8 * (degree + 2) * EPS, np.float64(x), np.float64(dy)
    want = casteljau.value(x, coeffs, lower, upper)
    limit = casteljau.value(x, np.abs(coeffs), lower, upper)
    bound = allowed * limit + float(rounding) * np.abs(want) + float(tiny)
    assert error(y, want, bound) < 1
    want = casteljau.slope(x, coeffs, lower, upper) * dy
    limit = casteljau.slope(x, coeffs, lower, upper, absolute=True) * np.abs(dy)
    bound = allowed * limit + float(rounding) * np.abs(want) + float(tiny)
    assert error(dx, want, bound) < 1
    want = casteljau.moments(x, dy, lower, upper, coeffs.shape)
    limit = casteljau.moments(x, np.abs(dy), lower, upper, coeffs.shape)
    assert error(dc, want, (allowed + 13 * EPS) * limit + TINY) < 1


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("degree", [1, 25])
def test_beyond_the_ends_and_nan(degree, dtype):
    values = [np.nan, np.inf, -np.inf, 3.0, -3.0, 4.0, -4.0, 1e4, -1e4]
    x = np.array(values)[:, None].astype(dtype)
    coeffs = np.arange(degree + 1, dtype=np.float32)[:, None, None] ** 2
    lower, upper = np.full((1, 1), -3, np.float32), np.full((1, 1), 3, np.float32)
    y, dx, dc, _ = results(x, coeffs, lower, upper, np.ones_like(x))
    top = degree**2
    want = np.array([np.nan, top, 0, top, 0, top, 0, top, 0])
    np.testing.assert_allclose(np.float64(y[:, 0]), want, rtol=1e-2, equal_nan=True)
    first, last = degree / 6, degree / 6 * (top - (degree - 1) ** 2)
    want = np.array([np.nan, 0, 0, last, first, 0, 0, 0, 0])
    np.testing.assert_allclose(np.float64(dx[:, 0]), want, rtol=1e-2, equal_nan=True)
    assert np.isnan(dc).all()


def test_same_bits_every_time_and_for_every_launch():
    args = arguments((21, 10), (1, 10), (1, 1), degree=9)
    y, (dx, dc) = evaluate(*args[:4], launch=SMALL), vjp(*args, launch=SMALL)
    dx_again, dc_again = vjp(*args, launch=SMALL)
    np.testing.assert_array_equal(dx, dx_again)
    np.testing.assert_array_equal(dc, dc_again)
    for launch in (Launch(8, 16, 4, 1), Launch(1, 32, 1, 8), Launch(64, 2, 1, 1)):
        np.testing.assert_array_equal(y, evaluate(*args[:4], launch=launch))
        other, _ = vjp(*args, launch=launch)
        np.testing.assert_array_equal(dx, other)


def test_seeds_together_are_seeds_alone():
    x, coeffs, lower, upper, dy = arguments((2, 9, 5), (2, 1, 5), (1, 1, 1), degree=9)
    y = evaluate(x, coeffs, lower, upper, launch=SMALL)
    dx, dc = vjp(x, coeffs, lower, upper, dy, launch=SMALL)
    for seed in range(2):
        one = x[seed], coeffs[:, seed], lower[0], upper[0]
        np.testing.assert_array_equal(y[seed], evaluate(*one, launch=SMALL))
        dx_one, dc_one = vjp(*one, dy[seed], launch=SMALL)
        np.testing.assert_array_equal(dx[seed], dx_one)
        np.testing.assert_array_equal(dc[:, seed], dc_one)


def test_under_jit():
    args = [jnp.asarray(a) for a in arguments((9, 5), (1, 5), (1, 1), degree=3)]
    at_once = calls.vjp(TRITON, *args)
    for jitted, eager in zip(vjp(*args), at_once, strict=True):
        np.testing.assert_array_equal(jitted, eager)


@pytest.mark.parametrize("degree, rows", [(0, 0), (0, 4), (3, 0)])
def test_nothing_to_do_is_left_to_xla(degree, rows):
    x, coeffs, lower, upper, dy = arguments((rows, 3), (1, 3), (1, 1), degree)
    y, dx, dc, _ = results(x, coeffs, lower, upper, dy)
    assert y.shape == (rows, 3)
    assert dx.shape == (rows, 3)
    assert dc.shape == coeffs.shape
    assert np.isfinite(dc).all()


def test_what_the_kernels_cannot_do_they_say():
    x, coeffs, lower, upper, _ = arguments((4, 3), (1, 3), (1, 1), degree=65)
    with pytest.raises(NotImplementedError, match="up to degree 64, this is 65"):
        evaluate(x, coeffs, lower, upper)
    with jax.enable_x64(True), pytest.raises(NotImplementedError, match="float64"):
        evaluate(*map(np.float64, (x, coeffs[:4], lower, upper)))


def test_triton_is_imported_only_when_asked_for():
    code = (
        "import sys, jaxbern, jaxbern.kernels.triton.triton_backend;"
        "sys.exit(any(m in sys.modules for m in ('triton', 'jax_triton')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
