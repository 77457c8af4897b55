"""Derivatives of every order and mode, in every argument."""

import functools
import itertools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbern as jb
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import quickly

WIDTH = 3
each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)


def arguments(degree: int, rows: int = 4, shared: bool = False, dtype=jnp.float32):
    rng = np.random.default_rng(degree)
    x = jnp.asarray(rng.uniform(-2.5, 2.5, (rows, WIDTH)), dtype)
    shape = (degree + 1,) if shared else (WIDTH, degree + 1)
    return x, jnp.asarray(rng.normal(size=shape), dtype)


def textbook(x, coeffs, lower=-3.0, upper=3.0):
    """The formula of the definition, differentiated by JAX; for x inside."""
    degree = coeffs.shape[-1] - 1
    lower, upper = (jnp.broadcast_to(end, x.shape) for end in (lower, upper))
    t = (x - lower) / (upper - lower)
    total = jnp.zeros_like(x)
    for k in range(degree + 1):
        term = jnp.broadcast_to(coeffs[..., k] * float(math.comb(degree, k)), x.shape)
        for _ in range(k):
            term = term * t
        for _ in range(degree - k):
            term = term * (1 - t)
        total = total + term
    return total


def along_forward(function, direction):
    """The derivative of a function of several arrays along a direction, by ``jvp``."""
    return lambda *args: jax.jvp(function, args, direction)[1]


def along_reverse(function, direction):
    """The same by ``vjp``, for a function with one number as its value."""

    def derivative(*args):
        gradients = jax.grad(function, argnums=tuple(range(len(args))))(*args)
        return sum(map(jnp.vdot, gradients, direction))

    return derivative


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "degree, shared, moving",
    [(0, False, 2), (3, True, 2), (3, False, 4)],
    ids=["constant", "shared", "interval"],
)
def test_orders_one_to_three(degree, shared, moving):
    """Every nesting of forward and reverse mode, against autodiff of the definition.

    The directions are drawn, so an error in any entry of a derivative shows in its sum.
    """
    x, coeffs = arguments(degree, rows=2, shared=shared, dtype=jnp.float64)
    ends = jnp.array([-3.0, -4.0, -2.9]), jnp.array([3.0, 5.0, 2.6])
    moved, still = (x, coeffs, *ends)[:moving], (x, coeffs, *ends)[moving:]
    rng = np.random.default_rng(0)
    directions = [
        tuple(jnp.asarray(rng.normal(size=a.shape)) for a in moved) for _ in range(3)
    ]

    def derivatives(function, modes):
        def energy(*moved):
            return jnp.sum(jnp.sin(function(*moved, *still)))

        for order in (1, 2, 3):
            for nesting in itertools.product(modes, repeat=order):
                nested = energy
                for mode, direction in zip(nesting, directions, strict=False):
                    nested = mode(nested, direction)
                yield nested(*moved)

    def ours(x, coeffs, lower, upper):
        return jb.bernstein(x, coeffs, lower=lower, upper=upper)

    both = (along_forward, along_reverse)
    got = quickly(lambda: list(derivatives(ours, both)))()
    first, second, third = quickly(lambda: list(derivatives(textbook, both[:1])))()
    want = [first] * 2 + [second] * 4 + [third] * 8
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@each_implementation
@pytest.mark.parametrize("degree", [1, 3, 9])
def test_first_order_matches_autodiff_of_the_definition(degree, implementation):
    x, coeffs = arguments(degree)
    dy = np.cos(x)

    def value_and_gradients(function, x, coeffs, dy):
        value, pull = jax.vjp(function, x, coeffs)
        return value, *pull(dy)

    with jax.enable_x64(True):
        wide = [np.float64(v) for v in (x, coeffs, dy)]
        want = quickly(functools.partial(value_and_gradients, textbook))(*wide)
    run = functools.partial(jb.bernstein, implementation=implementation)
    got = quickly(functools.partial(value_and_gradients, run))(x, coeffs, dy)
    chex.assert_trees_all_close(
        got, jax.tree.map(np.float32, want), rtol=2e-5, atol=1e-6
    )


@pytest.mark.slow
@each_implementation
def test_hessian_and_every_nesting_agree(implementation):
    x, coeffs = arguments(2, rows=1)
    run = functools.partial(jb.bernstein, implementation=implementation)

    def energy(x, coeffs):
        return jnp.sum(jnp.sin(run(x, coeffs)))

    def reference(x, coeffs):
        return jnp.sum(jnp.sin(textbook(x, coeffs)))

    @quickly
    def nestings(x, coeffs):
        modes = (jax.jacfwd, jax.jacrev)
        return [
            outer(inner(energy, argnums=(0, 1)), argnums=(0, 1))(x, coeffs)
            for outer, inner in itertools.product(modes, repeat=2)
        ]

    want = quickly(jax.hessian(reference, argnums=(0, 1)))(x, coeffs)
    for got in nestings(x, coeffs):
        chex.assert_trees_all_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@each_implementation
def test_jvp_linearize_and_vjp_agree(implementation):
    x, coeffs = arguments(5)
    tangents = (jnp.sin(x), jnp.cos(coeffs))
    run = functools.partial(jb.bernstein, implementation=implementation)
    value, tangent = jax.jvp(run, (x, coeffs), tangents)
    again, push = jax.linearize(run, x, coeffs)
    chex.assert_trees_all_equal(value, again, run(x, coeffs))
    chex.assert_trees_all_close(tangent, push(*tangents), rtol=1e-6)
    # <J v, w> = <v, J^T w>
    w = jnp.exp(-(x**2))
    pulled = jax.vjp(run, x, coeffs)[1](w)
    left = jnp.vdot(tangent, w)
    right = sum(jnp.vdot(a, b) for a, b in zip(tangents, pulled, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-5)


@each_implementation
def test_gradient_at_and_beyond_the_ends(implementation):
    """At an end point the slope from inside, not half of it; outside zero."""
    coeffs = jnp.array([1.0, 4.0, -2.0, 5.0])
    x = jnp.array([-jnp.inf, -3.5, -3.0, 3.0, 3.5, jnp.inf])
    run = functools.partial(jb.bernstein, coeffs=coeffs, implementation=implementation)

    def both(x, coeffs):  # all gradients come from one kernel, that in x from another
        _, pull = jax.vjp(lambda x, c: run(x, coeffs=c), x, coeffs)
        return pull(jnp.ones_like(x))

    @quickly
    def results(x):
        forward = jax.jvp(run, (x,), (jnp.ones_like(x),))[1]
        return run(x), jax.vmap(jax.grad(run))(x), forward, both(x, coeffs)

    y, slope, forward, (together, in_coeffs) = results(x)
    n, width = 3, 6.0
    want = [0, 0, n * (4 - 1) / width, n * (5 + 2) / width, 0, 0]
    np.testing.assert_allclose(slope, want, rtol=1e-6)
    np.testing.assert_allclose(y, [1, 1, 1, 5, 5, 5], rtol=1e-6)
    np.testing.assert_allclose(forward, want, rtol=1e-6)
    np.testing.assert_allclose(together, want, rtol=1e-6)
    np.testing.assert_allclose(in_coeffs, [3, 0, 0, 3], rtol=1e-6)


@pytest.mark.slow
def test_second_derivatives_at_and_beyond_the_ends():
    """Outside only ``c_0`` or ``c_n`` is left: linear, so every one is zero."""
    coeffs, ends = jnp.array([1.0, 4.0, -2.0, 5.0]), (jnp.float32(-3), jnp.float32(3))
    outside, on_the_ends = jnp.array([-3.5, 3.5]), jnp.array([-3.0, 3.0])

    def energy(x, coeffs, lower, upper):
        return jnp.sum(jb.bernstein(x, coeffs, lower=lower, upper=upper))

    @quickly
    def nestings(x):
        every = (0, 1, 2, 3)
        return [
            outer(inner(energy, argnums=every), argnums=every)(x, coeffs, *ends)
            for outer, inner in ((jax.jacfwd, jax.jacrev), (jax.jacrev, jax.jacfwd))
        ]

    for hessian in nestings(outside):
        chex.assert_trees_all_equal(hessian, jax.tree.map(jnp.zeros_like, hessian))
    n, width = 3, 6.0
    bent = [n * (n - 1) * (1 - 2 * 4 - 2), n * (n - 1) * (4 + 2 * 2 + 5)]
    steps = [[-n, n, 0, 0], [0, 0, -n, n]]
    for hessian in nestings(on_the_ends):
        in_x, in_coeffs = hessian[0][:2]
        np.testing.assert_allclose(in_x, np.diag(bent) / width**2, rtol=1e-6)
        np.testing.assert_allclose(in_coeffs, np.divide(steps, width), rtol=1e-6)
        np.testing.assert_allclose(hessian[1][0].T, np.divide(steps, width), rtol=1e-6)


@each_implementation
def test_nan_stays_nan(implementation):
    x, coeffs = jnp.array([[jnp.nan, 0.5]]), jnp.ones((2, 4))
    run = functools.partial(jb.bernstein, implementation=implementation)

    @quickly
    def results(x, coeffs):
        y, pull = jax.vjp(run, x, coeffs)
        return y, *pull(jnp.ones_like(y))

    y, dx, dc = results(x, coeffs)
    for got in (y, dx):
        assert np.isnan(got).tolist() == [[True, False]]
    assert np.isnan(dc).all(axis=1).tolist() == [True, False]


def test_pinn_second_derivatives_of_a_network():
    """u'' of a network, forward over forward, as a PDE solver takes it."""
    rng = np.random.default_rng(0)
    weights = [jnp.asarray(rng.normal(size=s) * 0.3, jnp.float32) for s in ((4,), (4,))]
    coeffs = jnp.asarray(rng.normal(size=(4, 6)), jnp.float32)

    def network(act, x):
        return jnp.vdot(weights[1], act(weights[0] * x, coeffs))

    second = [
        quickly(jax.jacfwd(jax.jacfwd(functools.partial(network, act))))(
            jnp.float32(0.7)
        )
        for act in (jb.bernstein, textbook)
    ]
    np.testing.assert_allclose(second[0], second[1], rtol=1e-4)


def test_what_the_backward_pass_keeps():
    """x and coeffs, nothing else of their size: no basis, no normalised input."""
    x, coeffs = arguments(9, rows=8)
    _, pull = jax.vjp(lambda x, c: jb.bernstein(jnp.sin(x), jnp.cos(c)), x, coeffs)
    sizes = sorted(leaf.size for leaf in jax.tree.leaves(pull))
    # sin(x) and cos(x), cos(c) and sin(c) belong to the functions around; the operator
    # adds its two arguments and the interval.
    assert sizes == sorted([2] + 2 * [coeffs.size] + 2 * [x.size])


def test_reverse_mode_is_one_pass():
    x, coeffs = arguments(3)
    gradient = jax.grad(lambda x, c: jnp.sum(jb.bernstein(x, c) ** 2), argnums=(0, 1))
    text = str(jax.make_jaxpr(gradient)(x, coeffs))
    assert text.count(" bernstein[") == 1
    assert text.count(" bernstein_cotangent[") == 1
    assert "bernstein_tangent[" not in text
    only_x = str(jax.make_jaxpr(jax.grad(lambda x: jb.bernstein(x, coeffs).sum()))(x))
    assert "moments" not in only_x
    assert only_x.count(" bernstein_cotangent[") == only_x.count("wanted=x") == 1


def test_forward_mode_in_x_alone_evaluates_the_slope_alone():
    x, coeffs = arguments(3)
    push = jax.make_jaxpr(lambda x, dx: jax.jvp(jb.bernstein, (x, coeffs), dx))
    with_coeffs = push(x, (x, coeffs))
    alone = jax.make_jaxpr(
        lambda x, dx: jax.jvp(lambda x: jb.bernstein(x, coeffs), (x,), (dx,))
    )(x, x)
    inputs = [
        len(e.invars)
        for program in (with_coeffs, alone)
        for e in program.eqns
        if e.primitive.name == "bernstein_tangent"
    ]
    assert inputs == [5, 4]
