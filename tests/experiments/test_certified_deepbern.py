"""A network of DeepBern-Nets as a module of this library: the same function."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.certified.deepbern_proofs import Converted

RNG = np.random.default_rng(0)


class Tensor(np.ndarray):
    """As much of a PyTorch tensor as the conversion asks for."""

    def detach(self):
        return np.asarray(self)


def tensor(*shape):
    return RNG.normal(size=shape).astype("float32").view(Tensor)


def layer(name, **attributes):
    return type(name, (), attributes)()


def bernstein(*shape, degree=3):
    ends = np.sort(tensor(*shape, 2), axis=-1).view(Tensor)
    ends[..., 0] -= 1
    coeffs = tensor(*shape, degree + 1)
    return layer(
        "BernsteinLayer", in_shape=shape, bern_coeffs=coeffs, input_bounds=ends
    )


def evaluated(of, x):
    """As their layer does it, inside its range, in float64."""
    coeffs, ends = (np.float64(a) for a in (of.bern_coeffs, of.input_bounds))
    t = np.clip((x - ends[..., 0]) / (ends[..., 1] - ends[..., 0]), 0, 1)
    degree = coeffs.shape[-1] - 1
    return sum(
        math.comb(degree, k) * t**k * (1 - t) ** (degree - k) * coeffs[..., k]
        for k in range(degree + 1)
    )


def test_a_fully_connected_one():
    first = layer("Linear", weight=tensor(5, 4), bias=tensor(5))
    act, last = bernstein(5), layer("Linear", weight=tensor(2, 5), bias=tensor(2))
    theirs = SimpleNamespace(input_bounds=np.zeros((4, 2)), net=[first, act, last])
    x = RNG.uniform(0, 1, (7, 4)).astype("float32")
    hidden = evaluated(act, np.float64(x) @ first.weight.T + first.bias)
    wanted = hidden @ last.weight.T + last.bias
    assert np.asarray(Converted(theirs)(x)) == pytest.approx(wanted, abs=1e-5)


def test_a_convolutional_one():
    conv = layer("ConvLayer", weight=tensor(3, 1, 4, 4), bias=tensor(3),
                 stride=(2, 2), padding=(1, 1))  # fmt: skip
    act, flat = bernstein(3, 2, 2), layer("Flatten")
    theirs = SimpleNamespace(input_bounds=np.zeros((1, 4, 4, 2)), net=[conv, act, flat])
    x = RNG.uniform(0, 1, (5, 16)).astype("float32")
    padded = np.pad(np.float64(x).reshape(5, 4, 4), ((0, 0), (1, 1), (1, 1)))
    z = np.empty((5, 3, 2, 2))
    for i in range(2):
        for j in range(2):
            window = padded[:, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4]
            z[:, :, i, j] = np.einsum("bhw,chw->bc", window, conv.weight[:, 0])
    wanted = evaluated(act, z + np.asarray(conv.bias)[:, None, None]).reshape(5, -1)
    assert np.asarray(Converted(theirs)(x)) == pytest.approx(wanted, abs=1e-5)
