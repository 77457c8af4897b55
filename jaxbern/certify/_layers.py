"""The layers of a ``jb.MLP`` with BatchNorm folded in, on which bounds are computed.

With running statistics a hidden layer is ``h + act(x)``, ``x = kernel' h + bias'``, where
``kernel' = kernel / std`` and ``bias' = (bias - mean) / std``. Folding rounds every entry by
a few ``eps`` of its own size, which the ``16`` of :func:`gamma` covers.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify._rounding import Bounds, centred, gamma, known, size
from jaxbern.nn import NetworkConfig


class Layer(NamedTuple):
    """``x = kernel^T h + bias``; hidden layers are stacked along a leading axis."""

    kernel: jax.Array  # [in, out]
    bias: jax.Array  # [out]
    kernel_size: jax.Array  # what rounding errors in either are relative to
    bias_size: jax.Array


class Network(NamedTuple):
    """All layers, the coefficients ``[depth, W, n+1]`` or None, and whether all hold."""

    first: Layer
    hidden: Layer
    last: Layer
    coeffs: jax.Array | None
    valid: jax.Array  # []: otherwise nothing can be said of what the network does


# Below this a variance is not known to a few eps where small numbers are taken for zero.
_SMALLEST_VARIANCE = 2.0**-100


def fold(
    config: NetworkConfig,
    params: dict[str, Any],
    running: tuple[jax.Array, jax.Array],
    weights: jax.Array | None,
    dtype: Any,
) -> Network:
    """Fold a network in ``dtype``; ``weights [k, out]`` combine its outputs."""
    if "coeffs" in params:
        # In the dtype of the parameters, as the network does it.
        params = params | {"coeffs": config.layer.coefficients(params["coeffs"])}
    params, (mean, var) = jax.tree.map(lambda a: a.astype(dtype), (params, running))
    variance = var + config.epsilon
    scale = 1 / jnp.sqrt(variance)
    first = _normalised(params["first"], mean[0], scale[0])
    hidden = _normalised(params["hidden"], mean[1:], scale[1:])
    last = _last(params["last"], None if weights is None else weights.astype(dtype))
    coeffs = params.get("coeffs")
    # A network with a NaN gives NaN, and so it does with a negative variance.
    valid = jnp.all(var >= 0) & jnp.all(variance >= _SMALLEST_VARIANCE)
    for array in jax.tree.leaves((params, mean, variance, first, hidden, last)):
        valid &= jnp.all(jnp.isfinite(array))
    return Network(first, hidden, last, coeffs, valid)


def _normalised(part: dict[str, jax.Array], mean, scale) -> Layer:
    return _plain(part["kernel"] * scale[..., None, :], (part["bias"] - mean) * scale)


def _plain(kernel, bias) -> Layer:
    return Layer(kernel, bias, size(kernel), size(bias))


def _last(part: dict[str, jax.Array], weights: jax.Array | None) -> Layer:
    kernel, bias = part["kernel"], part["bias"]
    if weights is None:
        return _plain(kernel, bias)
    sizes = size(weights)
    return Layer(
        matmul(kernel, weights.T),
        matmul(weights, bias),
        matmul(size(kernel), sizes.T),
        matmul(sizes, size(bias)),
    )


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    """Multiply in full precision: the error bounds do not include TF32 and the like."""
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def through(layer: Layer, box: Bounds, terms: int) -> Bounds:
    """Bound ``x`` for ``h`` in a box; exact except for rounding.

    Centre and radius go separately, ``centre kernel + bias`` and ``radius |kernel|``; the
    products in each have at most the sizes that ``error`` adds up.
    """
    centre, radius = centred(box)
    middle = matmul(centre, layer.kernel) + layer.bias
    error = matmul(size(centre) + radius, layer.kernel_size) + layer.bias_size
    reach = matmul(radius, jnp.abs(layer.kernel))
    reach = reach + gamma(terms, middle.dtype) * error
    return known(Bounds(middle - reach, middle + reach))


def terms(config: NetworkConfig) -> int:
    """Bound the number of roundings of one number of the network.

    Those of the longest sums, with the few per layer of what is added up over layers.
    """
    longest = max(config.in_features, config.width)
    return longest + config.out_features + 4 * config.depth
