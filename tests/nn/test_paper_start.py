"""The paper's networks start with the numbers they had before layers got new defaults.

``fixtures/paper_start.json`` was written by the code before that, on the version of JAX
named in it, nine digits each: float32 exactly. Another version may draw normal numbers
with other last bits.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from experiments.capacity.capacity_training import OneHidden
from experiments.comparison import jax_modules

KEPT = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "paper_start.json").read_text()
)
X = jnp.linspace(-2, 2, 6).reshape(2, 3)


def check(name, coeffs, logits):
    kept = KEPT[name]
    np.testing.assert_allclose(coeffs, kept["coeffs"], rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(logits, kept["logits"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "init", ["smooth", "normal", "xavier", "identity", "relu", "ramp"]
)
def test_networks(init):
    model = jb.MLP(3, 2, 4, degree=5, init=init, rngs=nnx.Rngs(7))
    model(jnp.concatenate([X, X * 0.3 + 0.1, X[::-1] * 1.7]))
    model.eval()
    check(f"mlp {init}", model.coeffs[...], model(X))


@pytest.mark.parametrize("name", ["capacity", "comparison", "timing"])
def test_experiments(name):
    network = {
        "capacity": lambda: OneHidden(3, 4, 5, 1, rngs=nnx.Rngs(7)),
        "comparison": lambda: jax_modules.bernstein_network(3, 1, 4, 7),
        "timing": lambda: jax_modules.dense_bernstein(3, 7),
    }[name]()
    if name == "comparison":
        network.eval()
    coeffs = [
        node.get_value()
        for path, node in nnx.iter_graph(network)
        if path and path[-1] == "coeffs"
    ]
    check(name, coeffs, network(X))


def test_the_papers_layer_in_one_line():
    paper = {"lower": -3.0, "upper": 3.0, "outside": "clamp", "init": "paper"}
    act = jb.BernsteinAct(16, degree=9, **paper, rngs=nnx.Rngs(0))
    drawn = jax.random.normal(nnx.Rngs(0).params(), (16, 4)) / 16
    np.testing.assert_allclose(act.coeffs[...], jb.poly.elevate(drawn, 9), atol=1e-7)
    np.testing.assert_array_equal(act(jnp.full((1, 16), 9.0))[0], act.coeffs[:, -1])
