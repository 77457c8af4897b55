"""The training step that everything here measures: loss and gradients of one batch."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxbern.nn import _network
from jaxbern.nn._network import NetworkConfig

HIGGS_FEATURES = 28


def activations(degrees: list[int]) -> dict[str, dict[str, Any]]:
    """Names and options: lean ReLU first, which the others are compared with."""
    bernstein = {f"bernstein n={n}": {"degree": n} for n in degrees}
    return {"relu": {"activation": "relu"}, **bernstein}


def loss_and_gradients(config: NetworkConfig) -> Callable:
    """``f(params, x, labels)`` with statistics of the batch."""

    def loss(params, x, labels):
        logits = _network.forward(config, params, x, None).logits.astype(jnp.float32)
        each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return jnp.mean(each)

    return jax.value_and_grad(loss)


def shapes(config: NetworkConfig, rows: int) -> tuple[Any, ...]:
    """The step's arguments as shapes and dtypes."""
    return (
        _network.parameter_shapes(config),
        jax.ShapeDtypeStruct((rows, config.in_features), jnp.float32),
        jax.ShapeDtypeStruct((rows,), jnp.int32),
    )


def arguments(config: NetworkConfig, rows: int) -> tuple[Any, ...]:
    """The step's arguments, drawn at random."""
    keys = jax.random.split(jax.random.key(0), 3)
    return (
        jax.jit(functools.partial(_network.init, config))(keys[0]),
        jax.random.uniform(keys[1], (rows, config.in_features)),
        jax.random.bernoulli(keys[2], shape=(rows,)).astype(jnp.int32),
    )
