"""A convolutional network of one's own, trained for robustness and certified.

Nothing in ``Net`` is made for certification: ``jb.certify`` reads what a module does from its
code. Convolutions, BatchNorm, skips, pooling and the usual activations are known to it.

    pip install scikit-learn
    python docs/examples/certified_cnn.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import jaxbern as jb

EPS = 0.03


class Net(nnx.Module):
    """Two convolutions with steps of two pixels, a skip, a linear classifier."""

    def __init__(self, rngs: nnx.Rngs):
        """Create the layers."""
        self.conv1 = nnx.Conv(1, 8, (3, 3), strides=2, rngs=rngs)
        self.norm1 = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.act1 = jb.BernsteinAct(8, degree=3, rngs=rngs)
        self.conv2 = nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.norm2 = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.act2 = jb.BernsteinAct(16, degree=3, rngs=rngs)
        self.linear = nnx.Linear(2 * 2 * 16, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits ``[batch, 10]`` for images ``[batch, 8, 8, 1]``."""
        x = self.act1(self.norm1(self.conv1(x)))
        x = self.norm2(self.conv2(x))
        x = x + self.act2(x)
        return self.linear(x.reshape(len(x), -1))


def main(epochs: int = 30, rows: int = 64, batch: int = 64) -> dict[str, float]:
    """Train, and return clean and certified accuracy on test images."""
    images, labels = load_digits(return_X_y=True)
    x, test_x, y, test_y = train_test_split(
        (images / 16).reshape(-1, 8, 8, 1).astype("float32"),
        labels.astype("int32"),
        test_size=0.25,
        stratify=labels,
        random_state=0,
    )
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(5e-3), wrt=nnx.Param)
    schedule = jb.certify.RobustSchedule(EPS, epochs * (len(x) // batch))

    @nnx.jit
    def step(model, optimizer, count, x, labels):
        eps, mix = schedule(count)

        def loss(model):
            return jb.certify.robust_loss(
                model, x, labels, eps, mix=mix, lower=0.0, upper=1.0
            )

        optimizer.update(model, nnx.grad(loss)(model))

    rng, count = np.random.default_rng(0), 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            rows_of_step = order[start : start + batch]
            inputs = x[rows_of_step], y[rows_of_step]
            step(model, optimizer, jnp.asarray(count), *inputs)
            count += 1
    model.eval()
    predict = nnx.jit(lambda model, x: model(x))
    clean = float(np.mean(np.argmax(predict(model, test_x), axis=1) == test_y))
    found = jb.certify.robustness(
        model, test_x[:rows], test_y[:rows], EPS, lower=0.0, upper=1.0
    )
    print(f"{clean:.1%} of the test images are right")
    print(found)
    return {"clean": clean, "certified": found.certified_accuracy}


if __name__ == "__main__":
    main()
