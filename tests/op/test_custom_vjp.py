"""The gradient is the one of ``gradient.operator``, a ``jax.custom_vjp``, everywhere.

A test replaces its backward pass and sees what changes; another counts how often it is
asked for while a network is differentiated.
"""

import contextlib
import re

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.kernels import gradient


@contextlib.contextmanager
def backward(wrap):
    """Run with another backward pass; programs that JAX has kept are forgotten."""
    rules = gradient._forward, wrap(gradient._backward)
    jax.clear_caches()
    gradient.operator.defvjp(*rules, symbolic_zeros=True)
    try:
        yield
    finally:
        jax.clear_caches()
        gradient.operator.defvjp(
            gradient._forward, gradient._backward, symbolic_zeros=True
        )


def doubled(original):
    def rule(residuals, dy):
        options, *found = original(residuals, dy)
        return options, *(None if g is None else 2 * g for g in found)

    return rule


def arguments():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(7, 5)), jnp.float32)
    return x, jnp.asarray(rng.normal(size=(5, 4)), jnp.float32)


def test_it_is_a_custom_vjp():
    assert isinstance(gradient.operator, jax.custom_vjp)


@pytest.mark.slow
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x, c: jax.grad(lambda *a: jnp.sum(f(*a)), (0, 1))(x, c),
        lambda f, x, c: jax.jvp(f, (x, c), (x, c))[1],
        lambda f, x, c: jax.linearize(lambda x: f(x, c), x)[1](x),
    ],
    ids=["reverse", "forward", "linearize"],
)
def test_every_mode_follows_its_backward_pass(derivative):
    x, coeffs = arguments()
    want = derivative(jb.bernstein, x, coeffs)
    with backward(doubled):
        got = derivative(jb.bernstein, x, coeffs)
    chex.assert_trees_all_close(got, jax.tree.map(lambda a: 2 * a, want), rtol=1e-6)


def test_called_by_itself_it_gives_what_the_operator_gives():
    x, coeffs = arguments()
    lead = jnp.moveaxis(coeffs, -1, 0)[:, None]
    interval = jnp.float32([-3, 3]).reshape(2, 1, 1)
    options = gradient.Options(outside="clamp", implementation="auto")
    y, pull = jax.vjp(lambda x, c: gradient.operator(options, x, c, interval), x, lead)
    want, want_pull = jax.vjp(jb.bernstein, x, coeffs)
    np.testing.assert_array_equal(y, want)
    dx, dc = pull(y)
    want_dx, want_dc = want_pull(y)
    chex.assert_trees_all_close((dx, dc[:, 0].T), (want_dx, want_dc), rtol=1e-6)


def nnx_layer(x):
    layer = jb.BernsteinAct(5, 3, rngs=nnx.Rngs(0))
    return nnx.grad(lambda layer: jnp.sum(layer(x) ** 2))(layer)


def mlp(x):
    network = jb.MLP(5, depth=3, width=4, rngs=nnx.Rngs(0))
    return nnx.grad(lambda network: jnp.sum(network(x) ** 2))(network)


def linen_layer(x):
    layer = jb.linen.BernsteinAct(3)
    params = layer.init(jax.random.key(0), x)
    return jax.grad(lambda params: jnp.sum(layer.apply(params, x) ** 2))(params)


# The network's hidden layers are one scan over one program.
@pytest.mark.slow
@pytest.mark.parametrize(
    "differentiate, activations", [(nnx_layer, 1), (linen_layer, 1), (mlp, 2)]
)
def test_layers_run_through_it_once_per_activation(differentiate, activations):
    calls = []

    def counted(original):
        def rule(residuals, dy):
            calls.append(residuals[1].letters)
            return original(residuals, dy)

        return rule

    x, _ = arguments()
    with backward(counted):
        gradients = differentiate(x)
    assert len(calls) == activations
    assert all("c" in letters for letters in calls)
    assert any(jnp.abs(g).max() > 0 for g in jax.tree.leaves(gradients))


@pytest.mark.parametrize(
    "wanted, primitive",
    [((0,), "wanted=x]"), ((1,), "bernstein_moments["), ((0, 1), "wanted=xc]")],
)
def test_the_backward_pass_computes_what_is_asked_for(wanted, primitive):
    program = jax.make_jaxpr(
        jax.grad(lambda *args: jnp.sum(jb.bernstein(*args)), wanted)
    )(*arguments())
    text = str(program)
    assert re.sub(r"\s+\]", "]", text).count(primitive) == 1
    assert text.count(" bernstein[") == 1
