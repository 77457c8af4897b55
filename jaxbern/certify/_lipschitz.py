"""Lipschitz constants from bounds on the slopes of the activations.

The Jacobian of the network is ``K_last^T (D_L K_L^T + I) ... (D_2 K_2^T + I) D_1 K_1^T`` (no
``I`` without skips), where ``D`` is diagonal and holds slopes. On a convex set the largest
norm of the Jacobian is a Lipschitz constant, also across the kinks of the activations.
"""

import jax
import jax.numpy as jnp

from jaxbern.certify import _activation, _propagate
from jaxbern.certify._layers import Layer, Network, matmul, terms
from jaxbern.certify._norms import upper_norm
from jaxbern.certify._rounding import Bounds, centred, gamma, largest, size
from jaxbern.nn import NetworkConfig


def lipschitz(
    config: NetworkConfig,
    network: Network,
    box: Bounds | None,
    *,
    norm: float,
    method: str,
) -> jax.Array:
    """Compute a constant for inputs in the box, or everywhere."""
    slopes = _slopes(config, network, box)
    product = _product(config, network, slopes, norm)
    if method == "product":
        return product
    centre, radius = _jacobian(config, network, slopes)
    whole = upper_norm(jnp.abs(centre) + radius, norm)
    parts = upper_norm(centre, norm) + upper_norm(radius, norm)
    parts = parts * (1 + gamma(0, parts.dtype))
    return jnp.fmin(product, jnp.fmin(whole, parts))


def _slopes(config, network, box) -> tuple[Bounds, Bounds]:
    """Slopes of the first hidden layer, ``[W]``, and of the others, ``[depth - 1, W]``."""
    coeffs = network.coeffs
    if box is None:
        everything = jnp.full_like(network.first.bias, jnp.inf)
        first = Bounds(-everything, everything)
        stacked = jnp.full_like(network.hidden.bias, jnp.inf)
        others = Bounds(-stacked, stacked)
    else:
        first, others, _ = _propagate.hidden(config, network, box, "affine")

    def of_layer(coeffs, x):
        return _activation.slopes(config, coeffs, x)

    rest = None if coeffs is None else coeffs[1:]
    return (
        of_layer(None if coeffs is None else coeffs[0], first),
        jax.vmap(of_layer)(rest, others),
    )


def _product(config, network: Network, slopes, norm: float) -> jax.Array:
    """Multiply the norms of the layers; a skip adds at most one to a norm."""
    error = gamma(terms(config), network.first.bias.dtype)

    def of_layer(layer: Layer, slopes: Bounds):
        return upper_norm((layer.kernel * largest(slopes)[None]).T, norm)

    def step(so_far, of_hidden):
        factor = of_layer(*of_hidden) + (1 if config.residual else 0)
        return so_far * factor * (1 + error), None

    first, others = slopes
    total, _ = jax.lax.scan(
        step, of_layer(network.first, first), (network.hidden, others)
    )
    last = network.last
    outer = upper_norm(last.kernel.T, norm) + error * upper_norm(
        last.kernel_size.T, norm
    )
    return total * outer * (1 + error)


def _jacobian(config, network: Network, slopes) -> tuple[jax.Array, jax.Array]:
    """Centre and radius ``[k, in]`` of a box that holds every Jacobian.

    From the outputs down, as a gradient is computed. What is rounded at a step is at most
    the sum of the sizes of its products, of which ``gamma`` goes to the radius.
    """
    error = gamma(terms(config), network.first.bias.dtype)

    def through(state, layer: Layer, slopes: Bounds):
        centre, radius = state
        slope, spread = (a[None] for a in centred(slopes))
        around = jnp.abs(centre) * spread + radius * (jnp.abs(slope) + spread)
        sizes = size(jnp.abs(centre) + radius) * size(jnp.abs(slope) + spread)
        around = matmul(around + error * sizes, layer.kernel_size.T) * (1 + error)
        return matmul(centre * slope, layer.kernel.T), around

    def step(state, of_hidden):
        centre, radius = through(state, *of_hidden)
        if config.residual:
            rounding = error * size(jnp.abs(state[0]) + state[1])
            centre, radius = centre + state[0], radius + state[1] + rounding
        return (centre, radius), None

    first, others = slopes
    state = network.last.kernel.T, error * network.last.kernel_size.T
    state, _ = jax.lax.scan(step, state, (network.hidden, others), reverse=True)
    return through(state, network.first, first)
