"""The paper's ``L x W`` network as pure functions: parameters and forward pass."""

import functools
import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jaxbern import initializers
from jaxbern.nn._hidden import Statistics, hidden_layer, keep_statistics, linear
from jaxbern.nn._network_config import BERNSTEIN, NetworkConfig
from jaxbern.op import arithmetic, floating, requested


def init(config: NetworkConfig, key: jax.Array, init_coeffs=None) -> dict[str, Any]:
    """Draw all parameters.

    Weights and biases are uniform in ``+-1 / sqrt(fan_in)``, PyTorch's default. The
    ``depth - 1`` equal hidden layers are stacked along a leading axis.
    """
    of_linears, of_coeffs = jax.random.split(key)
    params: dict[str, Any] = _init_linears(of_linears, config)
    if config.activation == BERNSTEIN:
        draw = functools.partial(
            config.layer.init_coeffs,
            initializers.of_network(init_coeffs or config.init),
            shape=(config.width, config.degree + 1),
            dtype=config.param_dtype,
        )
        params["coeffs"] = jax.vmap(draw)(jax.random.split(of_coeffs, config.depth))
    return params


def parameter_shapes(config: NetworkConfig) -> dict[str, Any]:
    """Return the shapes and dtypes of what :func:`init` returns, without calling it."""
    zeros = jax.nn.initializers.zeros
    return jax.eval_shape(lambda key: init(config, key, zeros), jax.random.key(0))


def _init_linears(key: jax.Array, config: NetworkConfig) -> dict[str, Any]:
    width, out = config.width, config.out_features
    shapes = {  # the last row of each matrix is the bias
        "first": (config.in_features + 1, width),
        "hidden": (config.depth - 1, width + 1, width),
        "last": (width + 1, out),
    }
    ends = list(itertools.accumulate(math.prod(shape) for shape in shapes.values()))
    # Draw once for all: XLA takes a third of a second to compile each draw.
    drawn = jax.random.uniform(key, ends[-1:], config.param_dtype, -1, 1)
    params = {}
    for (name, shape), part in zip(
        shapes.items(), jnp.split(drawn, ends[:-1]), strict=True
    ):
        both = part.reshape(shape) / math.sqrt(shape[-2] - 1)
        params[name] = {"kernel": both[..., :-1, :], "bias": both[..., -1, :]}
    return params


def init_statistics(config: NetworkConfig) -> Statistics:
    """Return initial running mean and variance of all layers, each ``[depth, width]``."""
    shape, dtype = (config.depth, config.width), arithmetic(config.param_dtype)
    return jnp.zeros(shape, dtype), jnp.ones(shape, dtype)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Output:
    """The result of a forward pass."""

    logits: jax.Array  # [batch, out_features]
    statistics: Statistics  # of the batch or running, each [depth, width]
    saturation: jax.Array | None  # [depth, width]


def forward(
    config: NetworkConfig,
    params: dict[str, Any],
    x: jax.Array,
    running: Statistics | None,
    *,
    with_saturation: bool = False,
    columns: bool = False,
) -> Output:
    """Apply the network to ``x [batch, in_features]``.

    Normalises by ``running`` statistics if given (evaluation), else by those of the batch.
    The hidden layers are one ``lax.scan``: a program for 150 layers is as long as for 5.
    With ``columns`` they work on ``[width, batch]``, which takes about half the time on a CPU;
    the numbers are the same but for rounding.
    """
    dtype = jnp.dtype(config.dtype) if config.dtype else x.dtype
    with_saturation = with_saturation and config.activation == BERNSTEIN

    layer, block = _layers(
        config, with_saturation, columns, requested(config.implementation)
    )
    coeffs = params.get("coeffs")
    if coeffs is not None:
        # Kernels want [n+1, W]. All layers are transposed at once; the transpose inside a
        # layer cancels with that of the operator and costs nothing.
        coeffs = jnp.swapaxes(config.layer.coefficients(coeffs), 1, 2)
    first, others = (
        jax.tree.map(operator.itemgetter(part), (coeffs, running))
        for part in (0, slice(1, None))
    )
    h = x.astype(dtype)
    h, seen = layer(h.T if columns else h, params["first"], *first, skip=None)
    seen = jax.tree.map(lambda a: a[None], seen)
    if config.depth > 1:
        h, rest = jax.lax.scan(block, h, (params["hidden"], *others))
        seen = jax.tree.map(lambda *parts: jnp.concatenate(parts), seen, rest)
    statistics, share = seen
    logits = linear(h.T if columns else h, params["last"])
    return Output(logits, statistics, share)


@functools.lru_cache(maxsize=128)
def _layers(
    config: NetworkConfig, with_saturation: bool, columns: bool, implementation: str
):
    """Return functions for the first hidden layer and for the layers scanned over.

    They are cached: outside jit, JAX would compile the scan over a new function at every
    call. The requested implementation is part of the cache key.
    """
    del implementation  # part of the cache key only
    layer = functools.partial(
        hidden_layer, config=config, with_saturation=with_saturation, columns=columns
    )

    def block(h, of_layer):
        return layer(h, *of_layer, skip=h if config.residual else None)

    if config.remat:
        block = jax.checkpoint(block, policy=keep_statistics, prevent_cse=False)
    return layer, block


def checked_input(config: NetworkConfig, x: ArrayLike) -> jax.Array:
    """Return ``x [..., in_features]`` in floating point; raise if its width is wrong."""
    x = floating("x", x)
    if x.ndim < 2 or x.shape[-1] != config.in_features:
        raise ValueError(
            f"x must have shape [batch, {config.in_features}], as in_features is "
            f"{config.in_features}; got {list(x.shape)}"
            + ("; write x[None] for a single row" if x.ndim == 1 else "")
        )
    return x


def update_running(
    config: NetworkConfig, running: Statistics, batch: Statistics, rows: int
) -> Statistics:
    """Update the exponential averages as PyTorch does, with the unbiased variance."""
    unbiased = rows / max(rows - 1, 1)
    weight = 1 - config.momentum
    mean, var = (
        config.momentum * old + weight * jax.lax.stop_gradient(new).astype(old.dtype)
        for old, new in zip(running, (batch[0], batch[1] * unbiased), strict=True)
    )
    return mean, var
