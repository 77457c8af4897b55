"""The tasks: a loss, a score and a network for any activation."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import jaxbern as jb
from experiments.dropin import dropin_data as data
from experiments.dropin.dropin_networks import CharTransformer, Cnn, Mlp

EPOCHS_15 = 15 * 24_000 // 256  # steps over the 24,000 of 40,000 events to learn from


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
      name: name of the row in the table.
      about: one line for the page.
      load: function that returns a :class:`dropin_data.Split`.
      build: ``build(act, width, rngs)`` returns a network.
      width: width of the network at equal steps.
      loss: ``loss(model, x, y)`` to train by.
      score: ``score(model, x, y)`` to choose and judge by.
      higher: whether a higher score is better.
      steps: number of Adam steps, quick and full.
      batch: rows of a step; None for all rows.
    """

    name: str
    about: str
    load: Callable[[], data.Split]
    build: Callable
    width: int
    loss: Callable
    score: Callable
    metric: str
    higher: bool
    steps: tuple[int, int]
    batch: int | None


def cross_entropy(model, x, y):
    """Compute the mean over rows, and over positions of a text."""
    losses = optax.softmax_cross_entropy_with_integer_labels(model(x), y)
    return jnp.mean(losses)


def accuracy(model, x, y):
    """Compute the fraction of rows that are classified correctly."""
    return jnp.mean((jnp.argmax(model(x), axis=-1) == y).astype(jnp.float32))


def area(model, x, y):
    """Compute the AUC of the difference of two logits."""
    logits = model(x)
    return jb.metrics.auc(logits[:, 1] - logits[:, 0], y)


def squared(model, x, y):
    """Compute the mean square error."""
    return jnp.mean(jnp.square(model(x) - y))


def rmse(model, x, y):
    """Compute the root mean square error."""
    return jnp.sqrt(squared(model, x, y))


def bits(model, x, y):
    """Compute the bits per character."""
    return cross_entropy(model, x, y) / math.log(2)


def reconstruction(model, x, y):
    """Compute the mean square error of reconstructed images."""
    del y
    return jnp.mean(jnp.square(model(x) - x))


def root_reconstruction(model, x, y):
    """Compute the root mean square error of a reconstruction."""
    return jnp.sqrt(reconstruction(model, x, y))


def solution(x):
    """Compute the exact solution, with ``u(0) = u(1) = 0``."""
    return jnp.sin(math.pi * x) + 0.4 * jnp.sin(5 * math.pi * x)


def trial(model, x):
    """Evaluate the network at one ``x``, with the boundary conditions built in."""
    return x * (1 - x) * model(4 * x[None] - 2)[0]


def residual(model, x, y):
    """Compute the mean square of ``u'' - f``, scaled by the size of ``f``."""
    del y

    def second(f, x):
        return jax.grad(jax.grad(f))(x)

    error = jax.vmap(lambda x: second(lambda x: trial(model, x), x))(x[:, 0])
    right = jax.vmap(lambda x: second(solution, x))(x[:, 0])
    return jnp.mean(jnp.square((error - right) / 50))


def solution_error(model, x, y):
    """Compute the root mean square error of ``u``."""
    found = jax.vmap(lambda x: trial(model, x))(x[:, 0])
    return jnp.sqrt(jnp.mean(jnp.square(found - y[:, 0])))


def points() -> data.Split:
    """Make points of [0, 1] with the solution there, which training does not use."""
    parts = [jnp.linspace(0, 1, count)[:, None] for count in (129, 101, 203)]
    return data.Split(*((x, solution(x)) for x in parts))


def _mlp(inputs: int, depth: int, outputs: int, act, width: int, rngs) -> Mlp:
    return Mlp(inputs, [width] * depth, outputs, act, rngs)


def _autoencoder(act, width: int, rngs) -> Mlp:
    return Mlp(64, [width, 8, width], 64, act, rngs)


def _cnn(act, width: int, rngs) -> Cnn:
    return Cnn(28, width, act, rngs)


def _image_mlp(act, width: int, rngs) -> nnx.Sequential:
    return nnx.Sequential(_flat, Mlp(28 * 28, [width] * 2, 10, act, rngs))


def _flat(images: jax.Array) -> jax.Array:
    return images.reshape(images.shape[0], -1)


def tasks(folder: Path | None, *, quick: bool) -> list[Task]:
    """List all tasks; ``folder`` has the downloaded files, or is None."""
    mlp, events = functools.partial, 4_000 if quick else 40_000
    fewer = 3 * events // 4
    letters = 100_000 if quick else 600_000
    fit = {"loss": squared, "score": rmse, "metric": "RMSE", "higher": False}
    classify = {"loss": cross_entropy, "score": accuracy, "metric": "accuracy",
                "higher": True}  # fmt: skip
    rank = {"loss": cross_entropy, "score": area, "metric": "AUC", "higher": True}
    return [
        Task("waves", "a smooth function of two variables, MLP 3x32, all points in a step",
             lambda: data.function(data.waves, 1500), mlp(_mlp, 2, 3, 1), 32,
             **fit, steps=(300, 2000), batch=None),
        Task("edges", "a ridge and a step, MLP 3x32",
             lambda: data.function(data.edges, 1500), mlp(_mlp, 2, 3, 1), 32,
             **fit, steps=(300, 2000), batch=None),
        Task("poisson", "u'' = f by its residual (PINN), MLP 2x32",
             points, mlp(_mlp, 1, 2, 1), 32, loss=residual, score=solution_error,
             metric="RMSE", higher=False, steps=(300, 2000), batch=None),
        Task("digits", "images of 8 x 8, MLP 3x64",
             data.digits, mlp(_mlp, 64, 3, 10), 64, **classify, steps=(200, 1000),
             batch=64),
        Task("autoencoder", "the same images through 8 numbers, MLP 64-8-64",
             data.digits, _autoencoder, 64, loss=reconstruction,
             score=root_reconstruction, metric="RMSE", higher=False,
             steps=(200, 1500), batch=128),
        Task("collider", f"{events:,} simulated HIGGS events, MLP 5x32",
             lambda: data.collider(events), mlp(_mlp, 28, 5, 2), 32, **rank,
             steps=(200, EPOCHS_15), batch=256),
        Task("text", "next character of the Python library's sources, transformer block",
             lambda: data.python_sources(letters),
             lambda act, width, rngs: CharTransformer(
                 data.LETTERS, data.CONTEXT, width, act, rngs),
             64, loss=cross_entropy, score=bits, metric="bits", higher=False,
             steps=(100, 600), batch=32),
        Task("higgs", f"{events:,} HIGGS events, MLP 5x32",
             lambda: data.published(folder, "HIGGS.csv.gz", events),
             mlp(_mlp, 28, 5, 2), 32, **rank, steps=(200, EPOCHS_15), batch=256),
        Task("susy", f"{fewer:,} SUSY events, MLP 5x32",
             lambda: data.published(folder, "SUSY.csv.gz", fewer),
             mlp(_mlp, 18, 5, 2), 32, **rank, steps=(200, 3 * EPOCHS_15 // 4),
             batch=256),
        Task("mnist", "the 10,000 test images of MNIST, split anew, CNN",
             lambda: data.mnist(folder), _cnn, 8, **classify,
             steps=(100, 400), batch=64),
        Task("mnist_mlp", "the same images, MLP 2x128",
             lambda: data.mnist(folder), _image_mlp, 128, **classify,
             steps=(200, 1000), batch=64),
    ]  # fmt: skip
