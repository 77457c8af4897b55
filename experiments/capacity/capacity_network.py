"""One hidden layer, as a reader of the README would write it."""

import math

import jax
from flax import nnx

import jaxbern as jb
from experiments.capacity.capacity_tasks import INTERVAL


class OneHidden(nnx.Module):
    """Linear, activation, Linear; Bernstein polynomials, or ReLU if ``degree`` is None.

    BatchNorm is left out unless asked for. Without a shift it would put the kink of every
    ReLU at the mean of its inputs, in one dimension all of them at one point; inputs are
    standardised instead, and a Bernstein activation finds its interval by itself.
    """

    def __init__(
        self,
        features: int,
        width: int,
        degree: int | None,
        outputs: int,
        *,
        batchnorm: bool = False,
        rngs: nnx.Rngs,
    ):
        """Draw weights and biases as PyTorch does, coefficients as ``jb.BernsteinAct``."""
        self.batchnorm = batchnorm
        self.first = _linear(features, width, rngs)
        self.act = nnx.relu if degree is None else _bernstein(width, degree, rngs)
        self.last = _linear(width, outputs, rngs)

    def __call__(self, x: jax.Array, batch: jax.Array | None = None) -> jax.Array:
        """``[..., features]`` to ``[..., outputs]``."""
        return self.last(self.act(self.hidden_inputs(x, batch)))

    def hidden_inputs(self, x: jax.Array, batch: jax.Array | None = None) -> jax.Array:
        """What the activations are applied to, ``[..., width]``.

        BatchNorm, with neither scale nor shift, takes its statistics from ``batch``: the
        points learned, all of them in every step and in evaluation.
        """
        z = self.first(x)
        if not self.batchnorm:
            return z
        if batch is None:
            raise ValueError("a network with BatchNorm needs batch, the points learned")
        own = self.first(batch)
        mean, var = own.mean(axis=0), own.var(axis=0)
        return (z - mean[None]) * jax.lax.rsqrt(var + 1e-5)[None]


def _bernstein(width: int, degree: int, rngs: nnx.Rngs) -> jb.BernsteinAct:
    lower, upper = INTERVAL
    paper = {"outside": "clamp", "init": "paper"}
    return jb.BernsteinAct(width, degree, lower=lower, upper=upper, **paper, rngs=rngs)


def _linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    """Weights and biases uniform in ``+-1 / sqrt(inputs)``."""
    most = 1 / math.sqrt(inputs)

    def uniform(key, shape, dtype):
        return jax.random.uniform(key, shape, dtype, -most, most)

    return nnx.Linear(
        inputs, outputs, kernel_init=uniform, bias_init=uniform, rngs=rngs
    )
