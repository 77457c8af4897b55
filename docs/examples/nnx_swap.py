"""Swap ``relu`` in a Flax (nnx) model for ``BernsteinAct``.

Two things change: the activation becomes a layer, since it has parameters, and a
normalisation without scale and shift goes before it, so that most inputs fall into the
interval ``[-4, 4]``. Everything else stays: the optimiser, the loss, ``nnx.jit``.

The task is XOR with one hidden neuron. ``relu`` can only bend the plane along one line; a
polynomial can rise and fall again.

    python docs/examples/nnx_swap.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxbern as jb

WIDTH = 1


class WithRelu(nnx.Module):
    """The model before the change."""

    def __init__(self, rngs: nnx.Rngs):
        """Create the layers."""
        self.first = nnx.Linear(2, WIDTH, rngs=rngs)
        self.last = nnx.Linear(WIDTH, 2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits ``[batch, 2]`` for points ``[batch, 2]``."""
        return self.last(nnx.relu(self.first(x)))


class WithBernstein(nnx.Module):
    """The model after the change."""

    def __init__(self, rngs: nnx.Rngs):
        """Create the layers."""
        self.first = nnx.Linear(2, WIDTH, rngs=rngs)
        self.norm = nnx.BatchNorm(WIDTH, use_bias=False, use_scale=False, rngs=rngs)
        self.act = jb.BernsteinAct(WIDTH, degree=5, rngs=rngs)  # was: nnx.relu
        self.last = nnx.Linear(WIDTH, 2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits ``[batch, 2]`` for points ``[batch, 2]``."""
        return self.last(self.act(self.norm(self.first(x))))


def xor(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw points around the four corners; the label says whether their signs differ."""
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.0, 1.0], (count, 2))
    points = corners + 0.2 * rng.normal(size=(count, 2))
    return points.astype("float32"), (corners[:, 0] != corners[:, 1]).astype("int32")


@nnx.jit
def step(model: nnx.Module, optimizer: nnx.Optimizer, x: jax.Array, labels: jax.Array):
    """Take one step of the optimiser."""

    def loss(model):
        losses = optax.softmax_cross_entropy_with_integer_labels(model(x), labels)
        return jnp.mean(losses)

    optimizer.update(model, nnx.grad(loss)(model))


def train(model: nnx.Module, steps: int) -> float:
    """Train, and return the accuracy on test points."""
    optimizer = nnx.Optimizer(model, optax.adam(3e-2), wrt=nnx.Param)
    points, labels = xor(256, seed=0)
    for _ in range(steps):
        step(model, optimizer, points, labels)
    model.eval()
    points, labels = xor(1000, seed=1)
    return float(np.mean(model(points).argmax(axis=1) == labels))


def main(steps: int = 200) -> dict[str, float]:
    """Train both models, and return their accuracies."""
    models = {"relu": WithRelu, "bernstein": WithBernstein}
    results = {name: train(model(nnx.Rngs(0)), steps) for name, model in models.items()}
    for name, accuracy in results.items():
        print(f"one hidden neuron with {name}: {accuracy:.1%} of the points are right")
    return results


if __name__ == "__main__":
    main()
