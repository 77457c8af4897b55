"""``MLP.describe()``: the layers of a network, and the memory of a training step."""

import math

import jax
import jax.numpy as jnp

from jaxbern.nn import _network
from jaxbern.nn._network_config import NetworkConfig


def table(config: NetworkConfig) -> str:
    """Format layers and parameter counts, effective degree, and memory per sample."""
    shapes = _network.parameter_shapes(config)
    hidden = config.depth - 1
    names = {"first": "first", "hidden": f"hidden x {hidden}", "last": "last"}
    rows = [("layer", "weights", "parameters")]
    for name, label in names.items():
        kernel, bias = shapes[name]["kernel"], shapes[name]["bias"]
        if kernel.size:
            size = " x ".join(map(str, kernel.shape[-2:]))
            rows.append(
                (f"{label}", f"{size} + {bias.shape[-1]}", _count(kernel, bias))
            )
    if "coeffs" in shapes:
        size = f"{config.width} x {config.degree + 1}"
        label = f"{config.activation} x {config.depth}"
        rows.append((label, size, _count(shapes["coeffs"])))
    rows.append(("total", "", f"{config.parameter_count:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows
    ]
    kind = "residual" if config.residual else "plain"
    title = f"{config.depth}x{config.width} {kind} network, {config.activation}"
    if config.activation == "bernstein":
        title += f" of degree {config.degree}"
        lines.append(f"effective degree: {_power(config.degree, config.depth)}")
    kept = bytes_per_sample(config)
    lines.append(f"kept for the backward pass: {kept / 1024:.3g} KiB per sample")
    return "\n".join([title, *lines])


def _count(*arrays) -> str:
    return f"{sum(a.size for a in arrays):,}"


def _power(base: int, exponent: int) -> str:
    """Format ``base^exponent`` with its value.

    >>> _power(3, 5), _power(25, 150)
    ('3^5 = 243', '25^150, about 10^210')
    """
    size = exponent * math.log10(base) if base > 1 else 0
    value = f" = {base**exponent:,}" if size < 12 else f", about 10^{size:.0f}"
    return f"{base}^{exponent}{value}"


def bytes_per_sample(config: NetworkConfig) -> int:
    """Return the bytes of residuals per row of the batch.

    JAX is asked for the residuals of two and of three rows; nothing is computed.
    """
    two, three = (_kept(config, rows) for rows in (2, 3))
    return three - two


def _kept(config: NetworkConfig, rows: int) -> int:
    params = _network.parameter_shapes(config)
    dtype = jnp.dtype(config.dtype or config.param_dtype)
    x = jax.ShapeDtypeStruct((rows, config.in_features), dtype)

    def residuals(params, x):
        def logits(params):
            return _network.forward(config, params, x, None).logits

        return jax.vjp(logits, params)[1]

    kept = jax.tree.leaves(jax.eval_shape(residuals, params, x))
    return sum(a.size * a.dtype.itemsize for a in kept)
