"""A whole training step, lowered for a GPU: each kernel once for each activation."""

import re
from collections import Counter

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import jaxbern as jb
from tests.op.absent_gpu import on_a_gpu

# All different: equal calls would share one function in the text of the program.
WIDTHS, SEEDS = (16, 24, 40), 2
DEPTH = len(WIDTHS)


class Net(nnx.Module):
    def __init__(self, rngs):
        widths = zip((8, *WIDTHS), WIDTHS, strict=False)
        linears = [nnx.Linear(before, after, rngs=rngs) for before, after in widths]
        acts = [
            jb.BernsteinAct(width, 9, implementation="pallas", rngs=rngs)
            for width in WIDTHS
        ]
        self.linears, self.acts = nnx.List(linears), nnx.List(acts)

    def __call__(self, x):
        for linear, act in zip(self.linears, self.acts, strict=True):
            x = act(linear(x))
        return x


def kernels_in(function, *args) -> Counter:
    """How often each of our kernels is called in the program for a GPU."""
    with on_a_gpu():
        traced = jax.jit(function).trace(*args)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    return Counter(re.findall(r'"jaxbern_(\w+)"', text))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [None, SEEDS])
def test_each_kernel_once_per_activation(seeds):
    """Vmapped seeds included: they share one call."""
    graph, state = nnx.split(Net(nnx.Rngs(0)))
    x = jnp.zeros((64, 8))

    def step(state, x):
        def loss(state):
            return jnp.mean(nnx.merge(graph, state)(x) ** 2)

        gradients = jax.grad(loss)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients)

    if seeds:
        state = jax.tree.map(lambda p: jnp.stack([p] * seeds), state)
        step = jax.vmap(step, in_axes=(0, None))
    found = kernels_in(step, state, x)
    assert found == {"bernstein": DEPTH, "bernstein_vjp": DEPTH}


@pytest.mark.slow
def test_inference_calls_the_forward_kernel_only():
    graph, state = nnx.split(Net(nnx.Rngs(0)))
    x = jnp.zeros((64, 8))
    found = kernels_in(lambda state, x: nnx.merge(graph, state)(x), state, x)
    assert found == {"bernstein": DEPTH}


def test_frozen_coefficients_need_no_gradient_of_theirs():
    """Then the slope is one more evaluation, of the derivative's coefficients."""
    coeffs, x = jnp.ones((16, 10)), jnp.zeros((64, 16))

    def loss(x):
        return jnp.sum(jb.bernstein(x, coeffs, implementation="pallas"))

    assert kernels_in(jax.grad(loss), x) == {"bernstein": 1}
