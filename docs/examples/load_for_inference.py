"""Train a network, save it, and use the file elsewhere.

``save`` writes parameters, running statistics, options and the mode (here evaluation) into
one ``.npz`` file; any other path becomes an orbax checkpoint. ``load`` needs only the path:
the file describes the network. Loading never runs code from the file.

    python docs/examples/load_for_inference.py
"""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxbern as jb


def points(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw points in a square; the label says whether they are in a disk."""
    x = np.random.default_rng(seed).uniform(-1, 1, (count, 2)).astype("float32")
    return x, (np.linalg.norm(x, axis=1) < 0.8).astype("int32")


def train(steps: int) -> jb.MLP:
    """Train a small residual network; return it in evaluation mode."""
    model = jb.MLP(2, depth=3, width=8, degree=5, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)
    x, labels = points(512, seed=0)

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(x), labels)
            return jnp.mean(losses)

        optimizer.update(model, nnx.grad(loss)(model))

    for _ in range(steps):
        step(model, optimizer)
    model.eval()  # use running statistics from here on
    return model


def answer(path: Path, x: np.ndarray) -> np.ndarray:
    """Load once, compile once, then compute probabilities, as a service would."""
    model = jb.MLP.load(path)
    predict = jax.jit(lambda x: jax.nn.softmax(model(x))[:, 1])
    return np.asarray(predict(x))


def main(steps: int = 100) -> dict[str, float]:
    """Train, save, load; return the accuracy and the difference of the answers."""
    model = train(steps)
    x, labels = points(1000, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        print(f"{path.name}: {path.stat().st_size / 1024:.1f} KiB")
        probabilities = answer(path, x)
    accuracy = float(np.mean((probabilities > 0.5) == labels))
    here = np.asarray(jax.nn.softmax(model(x))[:, 1])
    difference = float(np.abs(probabilities - here).max())
    print(f"{accuracy:.1%} right; the loaded model differs by {difference:.1e}")
    return {"accuracy": accuracy, "difference": difference}


if __name__ == "__main__":
    main()
