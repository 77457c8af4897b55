"""Where a network goes in a box of inputs, from inside: points that try to get far.

Values and gradients are those of :mod:`tests.oracles.network_oracle`, NumPy in float64:
to it the rounding of float32 is visible, and so is a bound that forgot to pay for it.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from tests.oracles import network_oracle


def forward(model, x):
    """Outputs ``[..., out]`` in float64, with running statistics."""
    x = np.asarray(x, np.float64)
    rows = x.reshape(-1, x.shape[-1])
    with np.errstate(over="ignore"):  # in the branch of selu that is not taken
        out, *_ = network_oracle.forward(*_network(model), rows, _running(model))
    return out.reshape(*x.shape[:-1], -1)


def gradient(model, x, direction):
    """Compute the gradient of ``direction . outputs`` in ``x``, row by row."""
    with np.errstate(over="ignore"):
        numbers = *_network(model), x, direction, _running(model)
        return network_oracle.gradients(*numbers)[1]


def jacobian(model, x):
    """Compute the Jacobian ``[rows, out, in]`` at ``x [rows, in]``."""
    eye = np.eye(model.config.out_features)
    tiled = [np.tile(row, (len(x), 1)) for row in eye]
    return np.stack([gradient(model, x, row) for row in tiled], axis=1)


def adversaries(model, lower, upper, *, random=40, steps=12, seed=0):
    """Points in the box: corners, random ones, and those climbed to by gradients.

    From some points each output is pushed up and down by steps along the sign of its
    gradient, as long as a tenth of the box.
    """
    rng = np.random.default_rng(seed)
    lower, upper = np.float64(lower), np.float64(upper)
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=len(lower))))
    places = np.concatenate([corners, rng.uniform(size=(random, len(lower)))])
    found = [lower + places * (upper - lower)]
    eye = np.eye(model.config.out_features)
    ways = np.repeat(np.concatenate([eye, -eye]), 6, axis=0)
    x = np.tile(found[0][-6:], (len(ways) // 6, 1))
    for _ in range(steps):
        slope = gradient(model, x, ways)
        x = np.clip(x + 0.1 * (upper - lower) * np.sign(slope), lower, upper)
        found.append(x)
    return np.concatenate(found)


def _network(model):
    params = model.params()
    if "coeffs" in params:
        params["coeffs"] = model.config.layer.coefficients(params["coeffs"])
    return model.config, params


def _running(model):
    return np.stack([np.float64(model.mean[...]), np.float64(model.var[...])])


def in_double(model):
    """Return ``f(x) -> y`` of any nnx module in float64: its own code, numbers widened."""
    graph, state = nnx.split(model)
    with jax.enable_x64(True):
        wide = jax.tree.map(widened, state)

        @jax.jit
        def run(x):
            return nnx.merge(graph, wide)(x)

    def call(x):
        with jax.enable_x64(True):
            return np.asarray(run(jnp.asarray(np.float64(x))))

    return call


def widened(array):
    """Floats as float64, anything else as it is."""
    array = np.asarray(array)
    return jnp.asarray(array.astype(np.float64) if array.dtype.kind == "f" else array)


def spread(lower, upper, *, random=60, seed=0):
    """Points ``[count, ...]`` of one box ``[...]``: both ends, some corners, and inside."""
    rng = np.random.default_rng(seed)
    lower, upper = np.float64(lower), np.float64(upper)
    corners = rng.integers(0, 2, (random // 2, *lower.shape))
    inside = rng.uniform(size=(random // 2, *lower.shape))
    ends = np.stack([np.zeros_like(lower), np.ones_like(lower)])
    places = np.concatenate([ends, corners, inside])
    return lower + places * (upper - lower)
