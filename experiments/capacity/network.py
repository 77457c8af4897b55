"""One hidden layer, as a reader of the README would write it."""

import math

import jax
from flax import nnx

import jaxbern as jb
from experiments.capacity.tasks import INTERVAL


class OneHidden(nnx.Module):
    """Linear, activation, Linear; Bernstein polynomials, or ReLU if ``degree`` is None.

    There is no BatchNorm. Without a shift it would put the kink of every ReLU at the mean
    of its inputs, in one dimension all of them at one point; inputs are standardised
    instead, and a Bernstein activation must keep them in its interval by itself.
    """

    def __init__(
        self,
        features: int,
        width: int,
        degree: int | None,
        outputs: int,
        *,
        rngs: nnx.Rngs,
    ):
        """Draw weights and biases as PyTorch does, coefficients as ``jb.BernsteinAct``."""
        self.first = _linear(features, width, rngs)
        self.act = nnx.relu if degree is None else _bernstein(width, degree, rngs)
        self.last = _linear(width, outputs, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """``[..., features]`` to ``[..., outputs]``."""
        return self.last(self.act(self.first(x)))


def _bernstein(width: int, degree: int, rngs: nnx.Rngs) -> jb.BernsteinAct:
    lower, upper = INTERVAL
    return jb.BernsteinAct(width, degree, lower=lower, upper=upper, rngs=rngs)


def _linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    """Weights and biases uniform in ``+-1 / sqrt(inputs)``."""
    most = 1 / math.sqrt(inputs)

    def uniform(key, shape, dtype):
        return jax.random.uniform(key, shape, dtype, -most, most)

    return nnx.Linear(
        inputs, outputs, kernel_init=uniform, bias_init=uniform, rngs=rngs
    )
