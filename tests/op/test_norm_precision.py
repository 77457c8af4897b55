"""``bernstein_norm`` is as exact as three operations, however far the mean is from zero."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbern as jb
from jaxbern.nn._hidden import batch_statistics
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import quickly

pytestmark = pytest.mark.slow

ROWS, WIDTH, DEGREE, EPS = 64, 5, 9, 1e-5
NAMES = ("y", "z", "coeffs", "mean", "var")


def fused(z, coeffs, mean, var, outside, implementation=None):
    return jb.bernstein_norm(
        z, coeffs, mean=mean, var=var, eps=EPS, outside=outside,
        implementation=implementation,
    )  # fmt: skip


def three_operations(z, coeffs, mean, var, outside):
    normalised = (z - mean[None]) * jax.lax.rsqrt(var + EPS)[None]
    return jb.bernstein(normalised, coeffs, outside=outside)


def arguments(ratio):
    """Columns of standard deviation one whose mean is ``ratio``; float32 numbers."""
    rng = np.random.default_rng(7)
    z = np.float32(ratio + rng.normal(size=(ROWS, WIDTH)) * 1.5)
    exact = z.astype(np.float64)
    mean, var = np.float32(exact.mean(axis=0)), np.float32(exact.var(axis=0))
    coeffs = np.float32(rng.normal(size=(WIDTH, DEGREE + 1)))
    return (z, coeffs, mean, var), np.float32(rng.normal(size=z.shape))


def results(function, args, dy):
    @quickly
    def run(args, dy):
        y, pull = jax.vjp(function, *args)
        return y, *pull(dy)

    return [np.asarray(a, np.float64) for a in run(args, dy)]


def errors(got, want):
    return {
        name: np.abs(a - b).max() / np.abs(b).max()
        for name, a, b in zip(NAMES, got, want, strict=True)
    }


@functools.cache
def known(ratio, outside):
    """Exact results, and the errors of three operations in float32."""
    args, dy = arguments(ratio)
    call = functools.partial(three_operations, outside=outside)
    with jax.enable_x64(True):
        wide = [jnp.asarray(a, jnp.float64) for a in (*args, dy)]
        exact = results(call, tuple(wide[:-1]), wide[-1])
    return exact, errors(results(call, args, dy), exact)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("outside", ["clamp", "linear"])
@pytest.mark.parametrize("ratio", [1e0, 1e2, 1e4, 1e6])
def test_error_against_three_operations(ratio, outside, implementation):
    args, dy = arguments(ratio)
    exact, allowed = known(ratio, outside)
    call = functools.partial(fused, outside=outside, implementation=implementation)
    found = errors(results(call, args, dy), exact)
    for name in NAMES:
        # Where three operations happen to be exact, a few roundings are allowed.
        assert found[name] <= 4 * allowed[name] + 4 * np.finfo(np.float32).eps, name


@pytest.mark.parametrize("value", [0.0, 1.0, 1e4, -1e8])
def test_constant_columns_give_finite_numbers(value):
    z = jnp.full((ROWS, WIDTH), value)
    coeffs = jnp.asarray(arguments(1.0)[0][1])

    @quickly
    def run(z):
        def loss(z):
            mean, var = batch_statistics(z)
            return jnp.sum(fused(z, coeffs, mean, var, "clamp") ** 2)

        return jax.value_and_grad(loss)(z)

    for found in run(z):
        assert np.isfinite(found).all()
