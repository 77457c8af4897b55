"""Networks of DeepBern-Nets as modules of this library, so that one proof judges all.

Their own bounds take interval after interval and are wider than the affine ones. With both
it can be told which part of a difference is training and which is proving.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import jaxbern as jb


class Converted(nnx.Module):
    """A trained ``FCModel`` or ``CNNa``, layer by layer, in float32 as it was trained.

    Their polynomials live on the range that interval bounds give for all inputs, one for
    each neuron, also in a convolutional network.
    """

    def __init__(self, model: Any):
        self.shape = tuple(model.input_bounds.shape[:-1])
        self.layers = nnx.List([_layer(layer) for layer in model.net])

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x.reshape(len(x), *self.shape)
        for layer in self.layers:
            x = layer(x)
        return x


class _Linear(nnx.Module):
    def __init__(self, layer: Any):
        self.kernel, self.bias = nnx.Param(_array(layer.weight).T), _param(layer.bias)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x @ self.kernel[...] + self.bias[...][None]


class _Conv(nnx.Module):
    def __init__(self, layer: Any):
        self.kernel, self.bias = _param(layer.weight), _param(layer.bias)
        self.strides = tuple(layer.stride)
        self.padding = tuple((pad, pad) for pad in layer.padding)

    def __call__(self, x: jax.Array) -> jax.Array:
        names = ("NCHW", "OIHW", "NCHW")
        kernel = self.kernel[...]
        y = jax.lax.conv_general_dilated(
            x, kernel, self.strides, self.padding, dimension_numbers=names
        )
        return y + self.bias[...][None, :, None, None]


class _Bernstein(nnx.Module):
    def __init__(self, layer: Any):
        self.shape = tuple(int(size) for size in layer.in_shape)
        coeffs, ends = _array(layer.bern_coeffs), _array(layer.input_bounds)
        self.coeffs = nnx.Param(coeffs.reshape(-1, coeffs.shape[-1]))
        self.ends = nnx.Param(ends.reshape(-1, 2))

    def __call__(self, x: jax.Array) -> jax.Array:
        lower, upper = self.ends[...].T
        flat = x.reshape(len(x), -1)
        flat = jb.bernstein(flat, self.coeffs[...], lower=lower, upper=upper)
        return flat.reshape(x.shape)


class _Flatten(nnx.Module):
    def __call__(self, x: jax.Array) -> jax.Array:
        return x.reshape(len(x), -1)


def _layer(layer: Any) -> nnx.Module:
    kinds = {"Linear": _Linear, "ConvLayer": _Conv, "BernsteinLayer": _Bernstein}
    name = type(layer).__name__
    return _Flatten() if name == "Flatten" else kinds[name](layer)


def _array(tensor: Any) -> jax.Array:
    return jnp.asarray(np.asarray(tensor.detach()))


def _param(tensor: Any) -> nnx.Param:
    return nnx.Param(_array(tensor))
