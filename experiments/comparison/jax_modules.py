"""Modules of the packages for JAX, all ``flax.nnx``, imported when they are created.

A spline or a polynomial has ten coefficients, and inputs of layers lie in [-3, 3].
"""

from importlib import import_module

from flax import nnx

import jaxbern as jb

DEGREE = 9
INTERVALS, ORDER = 7, 3  # of splines: 7 + 3 coefficients
RANGE = (-3.0, 3.0)
INPUTS = (-1.0, 1.0)  # of the networks
# The layer of the paper.
PAPER = {"lower": RANGE[0], "upper": RANGE[1], "outside": "clamp", "init": "paper"}


class Relu(nnx.Module):
    """ReLU as a module, so that it is measured like the others."""

    def __call__(self, x):
        """Apply ReLU."""
        return nnx.relu(x)


class Bernsteins(nnx.Module):
    """``Linear`` and activation, and a second ``Linear`` if ``hidden`` is given."""

    def __init__(self, width: int, hidden: int | None, seed: int):
        """Create a layer with ``width`` inputs and outputs."""
        rngs = nnx.Rngs(seed)
        inner = hidden or width
        self.first = nnx.Linear(width, inner, rngs=rngs)
        self.act = jb.BernsteinAct(inner, DEGREE, **PAPER, rngs=rngs)
        self.last = nnx.Linear(inner, width, rngs=rngs) if hidden else None

    def __call__(self, x):
        """Apply the layer, without normalisation."""
        x = self.act(self.first(x))
        return x if self.last is None else self.last(x)


class Network(nnx.Module):
    """Two hidden layers: ``Linear``, ``BatchNorm`` without parameters, activation."""

    def __init__(self, features, outputs, width: int, act, rngs, *, normalise=True):
        """Create the network; ``act(width)`` creates an activation."""

        def norm():
            if not normalise:
                return lambda x: x
            options = {"use_scale": False, "use_bias": False, "momentum": 0.9}
            return nnx.BatchNorm(width, rngs=rngs, **options)

        self.first = nnx.Linear(features, width, rngs=rngs)
        self.second = nnx.Linear(width, width, rngs=rngs)
        self.norms = nnx.List([norm() for _ in "12"])
        self.acts = nnx.List([act(width) for _ in "12"])
        self.last = nnx.Linear(width, outputs, rngs=rngs)

    def __call__(self, x):
        """Return logits or values."""
        x = self.acts[0](self.norms[0](self.first(x)))
        x = self.acts[1](self.norms[1](self.second(x)))
        return self.last(x)


def relu(width: int, seed: int):
    return Relu()


def bernstein(width: int, seed: int):
    return jb.BernsteinAct(width, DEGREE, **PAPER, rngs=nnx.Rngs(seed))


def dense_bernstein(width: int, seed: int):
    return Bernsteins(width, None, seed)


def wide_bernstein(width: int, seed: int):
    edges = width * width
    parameters = edges * (INTERVALS + ORDER + 2)  # those of efficient-kan
    per_neuron = 2 * width + 1 + DEGREE + 1
    return Bernsteins(width, round((parameters - width) / per_neuron), seed)


def kan_splines(width: int, seed: int):
    SplineLayer = import_module("jaxkan.layers").SplineLayer

    return SplineLayer(width, width, k=ORDER, G=INTERVALS, grid_range=RANGE, seed=seed)


def kan_chebyshev(width: int, seed: int):
    ChebyshevLayer = import_module("jaxkan.layers").ChebyshevLayer

    return ChebyshevLayer(width, width, D=DEGREE + 1, seed=seed)


def bernstein_network(features: int, outputs: int, width: int, seed: int, **options):
    rngs = nnx.Rngs(seed)

    def act(width):
        return jb.BernsteinAct(width, DEGREE, **PAPER, rngs=rngs)

    return Network(features, outputs, width, act, rngs, **options)


def plain_bernstein_network(features: int, outputs: int, width: int, seed: int):
    return bernstein_network(features, outputs, width, seed, normalise=False)


def relu_network(features: int, outputs: int, width: int, seed: int):
    return Network(features, outputs, width, lambda width: Relu(), nnx.Rngs(seed))


def kan_network(features: int, outputs: int, width: int, seed: int):
    KAN = import_module("jaxkan.models.KAN").KAN

    options = {"k": ORDER, "G": INTERVALS, "grid_range": INPUTS}
    return KAN([features, width, outputs], "spline", options, seed=seed)


def chebyshev_network(features: int, outputs: int, width: int, seed: int):
    KAN = import_module("jaxkan.models.KAN").KAN

    return KAN([features, width, outputs], "chebyshev", {"D": DEGREE + 1}, seed=seed)
