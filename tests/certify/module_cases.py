"""Modules as people write them, with random numbers in them, for bounds of modules."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import jaxbern as jb


class Skips(nnx.Module):
    """Convolutions with a skip around one of them, both kinds of pooling, a difference."""

    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 3, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.act1 = jb.BernsteinAct(3, 4, rngs=rngs)
        self.conv2 = nnx.Conv(3, 3, (3, 3), padding="SAME", rngs=rngs)
        self.act2 = jb.BernsteinAct(3, 3, outside="clamp", init="smooth", rngs=rngs)
        self.linear = nnx.Linear(12, 3, rngs=rngs)

    def __call__(self, x):
        h = self.act1(self.norm(self.conv1(x)))
        with jax.numpy_dtype_promotion("standard"):  # nnx divides by an int
            h = nnx.avg_pool(h, (2, 2), strides=(2, 2))
        h = h + self.act2(self.conv2(h)) - 0.5 * h
        return self.linear(h.reshape(len(h), -1))


class Clipped(nnx.Module):
    """Maxima, minima, padding, sums over pixels, a strided and a grouped convolution."""

    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 4, (2, 2), strides=2, padding="VALID", rngs=rngs)
        self.conv2 = nnx.Conv(4, 4, (2, 2), feature_group_count=2, rngs=rngs)
        self.linear = nnx.Linear(4, 3, use_bias=False, rngs=rngs)

    def __call__(self, x):
        h = jnp.minimum(nnx.relu(self.conv1(x)), 0.7)
        h = nnx.max_pool(nnx.leaky_relu(self.conv2(h), 0.2), (2, 2))
        h = -jnp.mean(h, axis=(1, 2)) / 0.3
        return 1.5 - self.linear(h)


class Joined(nnx.Module):
    """Values side by side, one of them constant, and entries chosen by a mask."""

    def __init__(self, rngs):
        self.first = nnx.Linear(4, 6, rngs=rngs)
        self.last = nnx.Linear(12, 3, rngs=rngs)

    def __call__(self, x):
        h = nnx.elu(self.first(x))
        fixed = jnp.full((len(x), 2), 0.3, x.dtype)
        h = jnp.concatenate([x, fixed, h], axis=1)
        mask = jnp.arange(12)[None] % 3 == 0
        h = jnp.where(mask, h, jnp.tanh(h))
        return self.last(jnp.where(mask, 0.5, h))


def dense(act1, act2=nnx.relu):
    def make(rngs):
        parts = [part(rngs) if getattr(part, "makes", False) else part
                 for part in (act1, act2)]  # fmt: skip
        return nnx.Sequential(
            nnx.Linear(4, 6, rngs=rngs),
            nnx.BatchNorm(6, rngs=rngs),
            parts[0],
            nnx.Linear(6, 6, rngs=rngs),
            parts[1],
            nnx.Linear(6, 3, rngs=rngs),
        )

    return make


def act(**options):
    def make(rngs):
        layer = jb.BernsteinAct(6, options.pop("degree", 4), **options, rngs=rngs)
        return layer

    make.makes = True
    return make


# name: (how to make it, shape of one input)
CASES = {
    "relu, leaky_relu": (dense(nnx.relu, nnx.leaky_relu), (4,)),
    "gelu, silu": (dense(nnx.gelu, nnx.silu), (4,)),
    "exact gelu, tanh": (
        dense(functools.partial(nnx.gelu, approximate=False), nnx.tanh),
        (4,),
    ),
    "sigmoid, softplus": (dense(nnx.sigmoid, nnx.softplus), (4,)),
    "selu": (dense(nnx.selu), (4,)),
    "default": (dense(act(degree=9)), (4,)),
    "learned, monotone": (dense(act(domain="learned", monotone=True)), (4,)),
    "batch, shared": (
        dense(act(domain="batch", shared=True, outside="clamp")), (4,)
    ),
    "clamp, learned": (
        dense(act(domain="learned", outside="clamp", init="smooth"), nnx.silu), (4,)
    ),
    "joined, elu": (Joined, (4,)),
    "skips": (Skips, (4, 4, 1)),
    "clipped": (Clipped, (4, 4, 1)),
}  # fmt: skip


def model_of(name, seed=0, scale=1.0):
    """The module in evaluation mode, all numbers random."""
    model = CASES[name][0](nnx.Rngs(0))
    model.eval()
    rng = np.random.default_rng(seed)
    for path, variable in nnx.iter_graph(model):
        if isinstance(variable, nnx.Variable) and not isinstance(
            variable, nnx.RngState
        ):
            value = np.asarray(variable.get_value())
            noise = rng.normal(size=value.shape)
            if "var" in path or "half_width" in path:
                changed = value * np.exp(0.5 * noise)
            elif "kernel" in path:
                changed = scale * value + 0.1 * noise
            else:
                changed = value + 0.3 * noise
            variable.set_value(jnp.asarray(changed, value.dtype))
    return model


def state_of(model):
    return jax.tree.map(jnp.asarray, nnx.state(model))
