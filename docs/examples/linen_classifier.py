"""The layer in Flax Linen: ``jb.linen.BernsteinAct()`` in place of ``nn.relu``.

It infers its width from the input, and its coefficients are in ``params`` under ``coeffs``. A
LayerNorm before it brings most of its inputs to ``[-4, 4]``. The task is to separate two
spirals.

    python docs/examples/linen_classifier.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

import jaxbern as jb


class Classifier(nn.Module):
    """Two hidden layers, each normalised and activated."""

    width: int = 16

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return logits ``[batch, 2]`` for points ``[batch, 2]``."""
        for _ in range(2):
            x = nn.LayerNorm(use_bias=False, use_scale=False)(nn.Dense(self.width)(x))
            x = jb.linen.BernsteinAct(degree=5)(x)  # was: nn.relu(x)
        return nn.Dense(2)(x)


def spirals(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw points on two arms that turn once around the origin, and the arm of each."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.sqrt(rng.uniform(0.05, 1, count))
    labels = rng.integers(0, 2, count)
    turned = angle + np.pi * labels
    points = np.stack([np.cos(turned), np.sin(turned)], axis=1) * angle[:, None] / 3
    return points.astype("float32"), labels.astype("int32")


def main(steps: int = 300) -> float:
    """Train, and return the accuracy on test points."""
    model = Classifier()
    points, labels = spirals(512, seed=0)
    optimizer = optax.adam(1e-2)

    def loss(params):
        logits = model.apply({"params": params}, points)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))

    def step(carry, _):
        params, state = carry
        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return (optax.apply_updates(params, updates), state), value

    @jax.jit
    def train(key):
        params = model.init(key, points)["params"]
        return jax.lax.scan(step, (params, optimizer.init(params)), length=steps)

    (params, _), losses = train(jax.random.key(0))
    points, labels = spirals(1000, seed=1)
    logits = jax.jit(model.apply)({"params": params}, points)
    accuracy = float(np.mean(logits.argmax(axis=1) == labels))
    shape = params["BernsteinAct_0"]["coeffs"].shape
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; coefficients of a layer: {shape}")
    print(f"{accuracy:.1%} of the new points are on the right arm")
    return accuracy


if __name__ == "__main__":
    main()
