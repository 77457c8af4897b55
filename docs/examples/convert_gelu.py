"""Give a trained GELU network learnable activations without changing what it computes.

``jb.initializers.from_function(gelu)`` starts every neuron as the polynomial nearest to
``gelu`` on an interval. The interval must cover the inputs of the neuron, so it is taken from
the data, separately for each neuron. Before any training the outputs change by at most the
error of the fit times the weights of the next layer:

    |change of an output| <= sum_i |w_i| * largest error of the fit.

Then the polynomials are trained further, and the network improves.

    python docs/examples/convert_gelu.py
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxbern as jb

WIDTH, DEGREE = 8, 15


class Net(nnx.Module):
    """One hidden layer with any activation, a function or a layer."""

    def __init__(self, first: nnx.Linear, act: Callable, last: nnx.Linear):
        """Store the layers."""
        self.first, self.act, self.last = first, act, last

    def __call__(self, x: jax.Array) -> jax.Array:
        """Map ``[batch, 1]`` to ``[batch, 1]``."""
        return self.last(self.act(self.first(x)))


def converted(net: Net, x: jax.Array) -> tuple[Net, float]:
    """Replace ``gelu`` by polynomials; also return the largest error of the fit."""
    inputs = np.asarray(net.first(x))  # [batch, WIDTH]
    ends = {"lower": inputs.min(axis=0), "upper": inputs.max(axis=0)}
    fit = jb.initializers.from_function(nnx.gelu, **ends)
    act = jb.BernsteinAct(WIDTH, DEGREE, init=fit, **ends, rngs=nnx.Rngs(0))
    grid = np.linspace(*ends.values(), 1001)
    return Net(net.first, act, net.last), float(
        np.abs(act(grid) - nnx.gelu(grid)).max()
    )


def train(net: Net, x: jax.Array, y: jax.Array, steps: int) -> float:
    """Train by Adam on all points; return the final mean square error."""
    optimizer = nnx.Optimizer(net, optax.adam(5e-3), wrt=nnx.Param)

    @nnx.jit
    def step(net, optimizer):
        def loss(net):
            return jnp.mean(jnp.square(net(x) - y))

        value, gradients = nnx.value_and_grad(loss)(net)
        optimizer.update(net, gradients)
        return value

    return [float(step(net, optimizer)) for _ in range(steps)][-1]


def main(steps: int = 300) -> dict[str, float]:
    """Train, convert, train further; return the errors and the effect of the conversion."""
    x = np.linspace(-2, 2, 200, dtype=np.float32)[:, None]
    y = np.sin(3 * x)
    rngs = nnx.Rngs(0)
    net = Net(
        nnx.Linear(1, WIDTH, rngs=rngs), nnx.gelu, nnx.Linear(WIDTH, 1, rngs=rngs)
    )
    before = train(net, x, y, steps)
    new, fit = converted(net, x)
    allowed = fit * float(np.abs(net.last.kernel[...]).sum())
    change = float(np.abs(new(x) - net(x)).max())
    after = train(new, x, y, steps)
    print(f"degree {DEGREE} is gelu up to {fit:.1e} on the interval")
    print(f"outputs changed by {change:.1e}, at most {allowed:.1e} was possible")
    print(f"mean square error: gelu {before:.4f}, after as many more steps {after:.4f}")
    return {"change": change, "allowed": allowed, "before": before, "after": after}


if __name__ == "__main__":
    main()
