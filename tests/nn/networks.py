"""Networks with random numbers, created without compiling an initialiser."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.nn import _network

# The eight of the paper.
ACTIVATIONS = {
    name: {"activation": name} for name in ("relu", "leaky_relu", "selu", "gelu")
} | {f"bernstein {n}": {"degree": n} for n in (3, 9, 15, 25)}
each_activation = pytest.mark.parametrize(
    "activation", ACTIVATIONS.values(), ids=ACTIVATIONS
)


def network(in_features=3, depth=3, width=4, *, seed=0, degree=3, **options) -> jb.MLP:
    """Return a network with parameters of typical size and plausible running statistics."""
    model = nnx.eval_shape(
        lambda: jb.MLP(
            in_features, depth, width, degree=degree, **options, rngs=nnx.Rngs(0)
        )
    )
    rng = np.random.default_rng(seed)
    for path, variable in nnx.iter_graph(model):
        if isinstance(variable, nnx.Variable):
            shape, dtype = variable.get_value().shape, variable.get_value().dtype
            value = rng.normal(size=shape) / np.sqrt(width)
            value = np.exp(value) if path == ("var",) else value
            variable.set_value(jnp.asarray(value, dtype))
    return model


def random_params(config, dtype=np.float32, seed=0) -> dict:
    """Draw parameters in the form that the pure functions take."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda a: jnp.asarray(rng.normal(size=a.shape) / np.sqrt(a.shape[-1]), dtype),
        _network.parameter_shapes(config),
    )
