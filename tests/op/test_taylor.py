"""Taylor mode, ``jax.experimental.jet``, against nested forward mode."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.jet import jet

import jaxbern as jb
from jaxbern.kernels import primitives
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import quickly

ORDER = 4


def along(function, arguments, terms):
    """Derivatives of ``function`` along the curve whose derivatives are ``terms``."""

    def curve(e):
        moved = (
            a + sum(d * e**k / math.factorial(k) for k, d in enumerate(ds, start=1))
            for a, ds in zip(arguments, terms, strict=True)
        )
        return function(*moved)

    for _ in range(len(terms[0])):
        curve = jax.jacfwd(curve)
        yield quickly(curve)(0.0)


def cases(*shapes, order=ORDER, seed=0):
    rng = np.random.default_rng(seed)
    arguments = [jnp.asarray(rng.normal(size=shape)) for shape in shapes]
    terms = [
        [jnp.asarray(0.3 * rng.normal(size=shape)) for _ in range(order)]
        for shape in shapes
    ]
    return arguments, terms


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("outside, jitted", [("clamp", True), ("linear", False)])
def test_every_argument_moves(outside, jitted):
    """Inputs inside, outside and on both sides; coefficients; both ends."""
    arguments, terms = cases((20, 3), (3, 7), (3,), ())
    arguments[0] *= 3
    arguments[2:] = [arguments[2] * 0.1 - 2.5, jnp.float64(3.0)]

    def function(x, coeffs, lower, upper):
        return jb.bernstein(x, coeffs, lower=lower, upper=upper, outside=outside)

    run = lambda *args: jet(function, args, terms)  # noqa: E731
    y, got = (quickly(run) if jitted else run)(*arguments)
    np.testing.assert_allclose(y, function(*arguments), rtol=1e-12)
    for mine, want in zip(got, along(function, arguments, terms), strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_a_whole_layer_moves():
    arguments, terms = cases((9, 3), (3, 5), (3,), (3,), (9, 3), order=3)
    arguments[3] = jnp.exp(arguments[3])

    def function(z, coeffs, mean, var, residual):
        return jb.bernstein_norm(z, coeffs, mean=mean, var=var, residual=residual)

    _, got = quickly(lambda *args: jet(function, args, terms))(*arguments)
    for mine, want in zip(got, along(function, arguments, terms), strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_implementation_through_a_network(implementation):
    """To the float32 of nested forward mode, through order 4."""
    (x, coeffs, weights), _ = cases((8, 2), (2, 6), (2, 2))
    v = jnp.full_like(x, 0.3)
    still = jnp.zeros_like(x)

    def network(x):
        hidden = jb.bernstein(x @ weights, coeffs, implementation=implementation)
        return jb.bernstein(jnp.sin(hidden), coeffs, implementation=implementation)

    _, got = quickly(lambda x: jet(network, (x,), ([v, *[still] * 3],)))(x)
    for mine, want in zip(got, along(network, [x], [[v, *[still] * 3]]), strict=True):
        np.testing.assert_allclose(mine, want, atol=1e-4 * np.abs(want).max())


@pytest.mark.slow
def test_narrow_inputs_stay_narrow():
    x = jnp.linspace(-2, 2, 6).astype(jnp.bfloat16)
    y, terms = jet(lambda x: jb.bernstein(x, jnp.arange(4.0)), (x,), ([x, x],))
    assert {y.dtype, *(t.dtype for t in terms)} == {jnp.dtype(jnp.bfloat16)}


@pytest.mark.slow
def test_forward_laplacian():
    """The recipe of the FAQ: folx is told that the operator is elementwise."""
    folx = pytest.importorskip("folx")
    rng = np.random.default_rng(0)
    coeffs = jnp.asarray(rng.normal(size=(6, 8)), jnp.float32)
    weights = jnp.asarray(rng.normal(size=(4, 6)) / 2, jnp.float32)
    x = jnp.asarray(rng.normal(size=4), jnp.float32)

    def network(x):
        return jnp.sum(jnp.tanh(jb.bernstein(x @ weights, coeffs)))

    operator = folx.wrap_forward_laplacian(primitives.evaluate, in_axes=())
    folx.register_function(primitives.evaluate_p, operator)
    try:
        with jax.numpy_rank_promotion("allow"):  # as folx itself needs
            got = folx.forward_laplacian(network)(x).laplacian
    finally:
        folx.deregister_function(primitives.evaluate_p)
    want = jnp.trace(jax.hessian(network)(x))
    np.testing.assert_allclose(got, want, rtol=1e-4)
