"""Derivatives of `jaxbern.poly`: both modes, two orders, at the ends and between."""

import functools
import itertools
import math
from fractions import Fraction

import jax
import numpy as np
import pytest

from jaxbern import poly
from tests.oracles.poly_oracle import (
    assert_close,
    exact_derivative,
    exact_t,
    exact_value,
    rational,
)
from tests.poly import poly_cases
from tests.poly.poly_cases import draw_coeffs, eps_of, top, wide

as_wide_as_the_dtype = poly_cases.as_wide_as_the_dtype


def basis(x, lower, upper):
    return poly.basis(x, 5, lower=lower, upper=upper)


def derivative(c, lower, upper):
    return poly.derivative(c, lower=lower, upper=upper)


def elevate(c):
    return poly.elevate(c, 12)


def restrict(c, start, stop, lower, upper):
    return poly.restrict(c, start, stop, lower=lower, upper=upper)


def to_power(c, lower, upper):
    return poly.to_power(c, lower=lower, upper=upper)


def inner(xs, ys):
    return sum((x * y).sum() for x, y in zip(xs, ys, strict=True))


@functools.partial(jax.jit, static_argnums=0)
def derivatives(f, args, v, w, u):
    """``f``, ``f'v``, ``f'w``, ``f''vw`` forward; ``uf'``, ``uf''v`` in reverse.

    One program, which the tests share: compiling is nearly all that it costs.
    """

    def push(*args):
        return jax.jvp(f, args, v)

    def pull(*args):
        return jax.vjp(f, *args)[1](u)

    def pull_along(*args):
        pulled = pull(*args)
        return inner(pulled, v), pulled

    (y, fv), (fw, fvw) = jax.jvp(push, args, w)
    if f is restrict:  # the most involved has reverse over reverse, which takes long
        ufv, uf = jax.grad(pull_along, range(len(args)), has_aux=True)(*args)
    else:
        uf, ufv = jax.jvp(pull, args, v)
    return y, fv, fw, fvw, uf, ufv


def check_derivatives(f, *args):
    args = [np.asarray(arg, np.float64) for arg in args]
    rng = np.random.default_rng(0)
    v, w = (tuple(rng.normal(size=arg.shape) for arg in args) for _ in range(2))
    u = rng.normal(size=jax.eval_shape(f, *args).shape)

    def moved(by, direction):
        at = (a + by * d for a, d in zip(args, direction, strict=True))
        return jax.device_get(derivatives(f, tuple(at), v, w, u))

    _, fv, fw, fvw, uf, ufv = moved(0.0, v)
    step, close = 1e-4, dict(rtol=1e-5, atol=1e-5)
    ahead, behind = moved(step, v), moved(-step, v)
    np.testing.assert_allclose(fv, (ahead[0] - behind[0]) / (2 * step), **close)
    ahead, behind = moved(step, w), moved(-step, w)
    np.testing.assert_allclose(fw, (ahead[0] - behind[0]) / (2 * step), **close)
    np.testing.assert_allclose(fvw, (ahead[1] - behind[1]) / (2 * step), **close)
    # The modes differ by rounding only.
    close = dict(rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(inner(uf, v), np.sum(u * fv), **close)
    np.testing.assert_allclose(inner(uf, w), np.sum(u * fw), **close)
    np.testing.assert_allclose(inner(ufv, w), np.sum(u * fvw), **close)


@wide
@pytest.mark.parametrize("f", [derivative, to_power])
def test_gradients(dtype, f):
    check_derivatives(f, draw_coeffs(4, shape=(2,), scale=0.3), -1.0, 2.0)


@wide
def test_elevate_gradients(dtype):
    check_derivatives(elevate, draw_coeffs(4, shape=(2,), scale=0.3))


@wide
def test_basis_gradients(dtype):
    check_derivatives(basis, draw_coeffs(6, scale=0.3), -1.0, 2.0)


@pytest.mark.slow
@wide
def test_restrict_gradients_in_every_order_of_the_ends(dtype):
    # One batch, so that all orders share their programs.
    start = [-2.0, -1.0, 0.5, 2.0, 3.0, -4.0, 1.0]
    stop = [-1.5, 1.5, 2.5, -1.0, 4.0, -2.0, 5.0]
    check_derivatives(restrict, draw_coeffs(4), start, stop, -3.0, 3.5)


@wide
def test_basis_derivatives_are_one_sided_at_the_ends_and_zero_outside(dtype):
    lower, upper, n = -1.0, 2.0, 5
    xs = np.array([-math.inf, -2.5, lower, 0.25, upper, 2.5, math.inf])
    args, v = tuple(map(np.float64, (xs, lower, upper))), (np.ones(7), *np.zeros(2))
    for k in range(n + 1):
        u = np.broadcast_to(np.eye(n + 1)[k], (7, n + 1))
        _, fv, _, fvv, uf, ufv = jax.device_get(derivatives(basis, args, v, v, u))
        for order, i in itertools.product((1, 2), range(7)):
            inside = lower <= xs[i] <= upper
            unit = exact_derivative([Fraction(k == j) for j in range(n + 1)], 3, order)
            exact = exact_value(unit, exact_t(xs[i], lower, upper)) * inside
            # n steps of the size of the derivative, twice over for the product rule.
            bound = 5 * n * eps_of(dtype)[0] * (2 * n / 3) ** order * inside
            assert_close((fv, fvv)[order - 1][i, k], [exact], bound)
            assert_close((uf, ufv)[order - 1][0][i], [exact], bound)


@wide
def test_restrict_gradients_at_zero_width(dtype):
    # d c'_j / d start = (n-j)/n p'(x), d c'_j / d stop = j/n p'(x); 0 outside.
    coeffs, n = draw_coeffs(4), 4
    xs = np.array([-4.0, -3.0, -1.5, 0.0, 2.0, 3.0, math.inf])
    args = tuple(map(np.float64, (coeffs, xs, xs, -3.0, 3.0)))
    of_start = (np.zeros(5), np.ones(7), np.zeros(7), *np.zeros(2))
    of_stop = (np.zeros(5), np.zeros(7), np.ones(7), *np.zeros(2))
    slopes = exact_derivative(rational(coeffs), 6, 1)
    for j in range(n + 1):
        u = np.broadcast_to(np.eye(n + 1)[j], (7, n + 1))
        got = jax.device_get(derivatives(restrict, args, of_start, of_stop, u))
        _, by_start, by_stop, _, (_, back_start, back_stop, *_), _ = got
        for i, x in enumerate(xs):
            inside = -3 <= x <= 3
            slope = exact_value(slopes, exact_t(x, -3, 3)) * inside
            # The 5 n eps of a value, twice over for the product rule, of the size of p'.
            bound = 10 * n * eps_of(dtype)[0] * 2 * n / 6 * top(coeffs) * inside
            exact = [slope * Fraction(n - j, n), slope * Fraction(j, n)]
            assert_close([by_start[i, j], by_stop[i, j]], exact, bound)
            assert_close([back_start[i], back_stop[i]], exact, bound)
