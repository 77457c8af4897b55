"""Print the paper's networks before their first step as JSON.

Runs in a separate process, because the last bits depend on XLA's compilation flags.
"""

import json

import jax.numpy as jnp
import numpy as np
from flax import nnx

import jaxbern as jb
from experiments.capacity.capacity_training import OneHidden
from experiments.comparison import jax_modules

INITS = ("smooth", "normal", "xavier", "identity", "relu", "ramp")
X = jnp.linspace(-2, 2, 6).reshape(2, 3)


def mlp(init):
    """Return a network after one batch, in evaluation mode."""
    model = jb.MLP(3, 2, 4, degree=5, init=init, rngs=nnx.Rngs(7))
    model(jnp.concatenate([X, X * 0.3 + 0.1, X[::-1] * 1.7]))
    model.eval()
    return model


def of_experiments():
    """Return the networks of three experiments by name."""
    comparison = jax_modules.bernstein_network(3, 1, 4, 7)
    comparison.eval()
    return {
        "capacity": OneHidden(3, 4, 5, 1, rngs=nnx.Rngs(7)),
        "comparison": comparison,
        "timing": jax_modules.dense_bernstein(3, 7),
    }


def coefficients(network):
    """Return the coefficients of all layers."""
    return [
        node.get_value()
        for path, node in nnx.iter_graph(network)
        if path and path[-1] == "coeffs"
    ]


def starts():
    """Return coefficients and outputs of each network by name."""
    found = {}
    for init in INITS:
        model = mlp(init)
        found[f"mlp {init}"] = model.coeffs[...], model(X)
    for name, network in of_experiments().items():
        found[name] = coefficients(network), network(X)
    return found


if __name__ == "__main__":
    lists = {
        name: [np.asarray(numbers, np.float64).tolist() for numbers in both]
        for name, both in starts().items()
    }
    print(json.dumps(lists))
