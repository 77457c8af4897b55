"""Handwritten digits with a small convolutional network.

``BernsteinAct`` acts on the last axis. In images ``[batch, height, width, channels]`` each
channel learns its own activation, shared by all pixels; BatchNorm before it
brings most of its inputs to the interval ``[-4, 4]``.

    pip install scikit-learn
    python docs/examples/cnn_digits.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import jaxbern as jb


class Net(nnx.Module):
    """Two convolutions, each normalised and activated, then a linear classifier."""

    def __init__(self, rngs: nnx.Rngs):
        """Create the layers."""
        self.conv1 = nnx.Conv(1, 8, (3, 3), rngs=rngs)
        self.norm1 = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.act1 = jb.BernsteinAct(8, degree=5, rngs=rngs)
        self.conv2 = nnx.Conv(8, 16, (3, 3), rngs=rngs)
        self.norm2 = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.act2 = jb.BernsteinAct(16, degree=5, rngs=rngs)
        self.linear = nnx.Linear(2 * 2 * 16, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return logits ``[batch, 10]`` for images ``[batch, 8, 8, 1]``."""
        x = self.act1(self.norm1(self.conv1(x)))
        x = nnx.avg_pool(x, (2, 2), strides=(2, 2))
        x = self.act2(self.norm2(self.conv2(x)))
        x = nnx.avg_pool(x, (2, 2), strides=(2, 2))
        return self.linear(x.reshape(len(x), -1))


@nnx.jit
def train_step(model, optimizer, images, labels):
    """Take one step of the optimiser; return the loss before it."""

    def loss(model):
        losses = optax.softmax_cross_entropy_with_integer_labels(model(images), labels)
        return jnp.mean(losses)

    value, gradients = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    return value


def main(epochs: int = 6, batch: int = 32) -> float:
    """Train, and return the accuracy on test images."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 8, 8, 1).astype("float32")
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.25, stratify=labels, random_state=0
    )
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(5e-3), wrt=nnx.Param)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(train_x))
        for start in range(0, len(order) - batch + 1, batch):
            rows = order[start : start + batch]
            value = train_step(model, optimizer, train_x[rows], train_y[rows])
        print(f"epoch {epoch + 1}: loss {value:.3f}")
    model.eval()
    predicted = nnx.jit(lambda model, images: model(images).argmax(axis=1))
    accuracy = float(np.mean(predicted(model, test_x) == test_y))
    print(f"{accuracy:.1%} of the test images are right")
    return accuracy


if __name__ == "__main__":
    main()
