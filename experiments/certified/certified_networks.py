"""The networks that are compared, and digits with a validation split."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from flax import nnx

import jaxbern as jb


class Rows(NamedTuple):
    """Inputs in [0, 1] and classes."""

    x: np.ndarray
    labels: np.ndarray


class Digits(NamedTuple):
    """Three disjoint sets of rows."""

    train: Rows
    validation: Rows
    test: Rows


@functools.cache
def digits() -> Digits:
    """8x8 images of scikit-learn: 1,000 to train, 297 to choose, 500 to judge."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    x, labels = (images[order] / 16).astype("float32"), labels[order].astype("int32")
    ends = [slice(0, 1000), slice(1000, 1297), slice(1297, None)]
    return Digits(*(Rows(x[part], labels[part]) for part in ends))


def activation(name: str, features: int, rngs: nnx.Rngs):
    """Make ``relu``, or ``bernstein:N`` with one polynomial of degree N per channel."""
    if name == "relu":
        return nnx.relu
    degree = int(name.partition(":")[2])
    return jb.BernsteinAct(features, degree, rngs=rngs)


class ConvNet(nnx.Module):
    """Two convolutions in steps of two pixels, with BatchNorm, and a linear classifier."""

    def __init__(self, act: str, rngs: nnx.Rngs):
        self.conv1 = nnx.Conv(1, 16, (3, 3), strides=2, rngs=rngs)
        self.norm1 = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.act1 = activation(act, 16, rngs)
        self.conv2 = nnx.Conv(16, 32, (3, 3), strides=2, rngs=rngs)
        self.norm2 = nnx.BatchNorm(32, momentum=0.9, rngs=rngs)
        self.act2 = activation(act, 32, rngs)
        self.linear = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x.reshape(len(x), 8, 8, 1)
        x = self.act1(self.norm1(self.conv1(x)))
        x = self.act2(self.norm2(self.conv2(x)))
        return self.linear(x.reshape(len(x), -1))


def make(kind: str, act: str, seed: int) -> nnx.Module:
    """Make a network of 2x64 neurons, or a convolutional one."""
    rngs = nnx.Rngs(seed)
    if kind == "cnn":
        return ConvNet(act, rngs)
    options: dict[str, Any] = {"activation": "relu"}
    if act != "relu":
        options = {"degree": int(act.partition(":")[2])}
    return jb.MLP(
        64, depth=2, width=64, residual=False, out_features=10, rngs=rngs, **options
    )
