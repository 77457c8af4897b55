"""Handwritten digits, trained so that predictions can be proved.

``jb.certify.robust_loss`` stands where the loss stood; ``jb.certify.robustness`` then proves,
for test images, that no change of any pixels by at most ``EPS`` changes the class. The
same network trained in the usual way is beside it.

    pip install scikit-learn
    python docs/examples/certified_digits.py
"""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import jaxbern as jb

EPS = 0.05


def train(x, labels, *, mix: float, epochs: int, batch: int = 128) -> jb.MLP:
    """A network of two hidden layers; ``mix`` is the weight of the worst case."""
    model = jb.MLP(64, depth=2, width=64, degree=3, residual=False, out_features=10,
                   rngs=nnx.Rngs(0))  # fmt: skip
    steps = epochs * (len(x) // batch)
    schedule = jb.certify.RobustSchedule(EPS, steps, mix=mix)
    rate = optax.cosine_decay_schedule(5e-3, steps)
    optimizer = nnx.Optimizer(model, optax.adamw(rate), wrt=nnx.Param)

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
            rows = order[start : start + batch]
            step(model, optimizer, jnp.asarray(count), x[rows], labels[rows])
            count += 1
    model.eval()
    return model


def main(epochs: int = 40, rows: int = 200) -> dict[str, tuple[float, float]]:
    """Clean and certified accuracy of both networks on test images."""
    images, labels = load_digits(return_X_y=True)
    x, test_x, y, test_y = train_test_split(
        (images / 16).astype("float32"),
        labels.astype("int32"),
        test_size=0.25,
        stratify=labels,
        random_state=0,
    )
    accuracies = {}
    for name, mix in (("usual", 0.0), ("robust", 0.7)):
        model = train(x, y, mix=mix, epochs=epochs)
        clean = float(np.mean(np.argmax(model(test_x), axis=1) == test_y))
        found = jb.certify.robustness(
            model, test_x[:rows], test_y[:rows], EPS, lower=0.0, upper=1.0
        )
        accuracies[name] = clean, found.certified_accuracy
        print(f"{name} training: {clean:.1%} of the test images are right")
        print(found, end="\n\n")
    return accuracies


if __name__ == "__main__":
    main()
