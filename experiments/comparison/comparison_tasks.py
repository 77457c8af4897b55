"""Tasks of the small networks: simulated collisions, and a smooth function."""

import dataclasses

import numpy as np

import jaxbern as jb


@dataclasses.dataclass(frozen=True)
class Task:
    """Training rows and held-out rows; inputs in [-1, 1].

    Attributes:
      name: name of the task.
      x, y: training rows.
      test_x, test_y: held-out rows.
      classes: number of classes; 0 for a function.
      target: the held-out loss (cross-entropy or mean square) to reach.
      budget: maximum number of parameters of a network.
      batches: ``[steps, rows]``, the row indices of every step.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int
    target: float
    budget: int
    batches: np.ndarray

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of inputs and outputs of a network."""
        return self.x.shape[1], self.classes or 1


def collider(rows: int, batch: int, steps: int) -> Task:
    """Return the task to classify ``collider:higgs``, scaled as in the paper's training."""
    data = jb.data.load("collider:higgs", rows=rows, seed=0)
    split = jb.data.split(data, seeds=(0,))[0]

    def part(numbers):
        x = 2 * np.asarray(split.scale(data.x[numbers])) - 1
        return x.astype(np.float32), data.y[numbers].astype(np.int64)

    x, y = part(split.train)
    return Task(
        "collider", x, y, *part(split.test), classes=2, target=0.60, budget=4000,
        batches=_batches(len(x), batch, steps),
    )  # fmt: skip


def function(rows: int, batch: int, steps: int) -> Task:
    """Return the task to fit ``exp(sin(pi x_1) + x_2^2)``, the example of the KAN paper."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2 * rows, 2)).astype(np.float32)
    y = np.exp(np.sin(np.pi * x[:, 0]) + x[:, 1] ** 2)
    return Task(
        "function", x[:rows], y[:rows], x[rows:], y[rows:], classes=0, target=1e-3,
        budget=1000, batches=_batches(rows, batch, steps),
    )  # fmt: skip


def _batches(rows: int, batch: int, steps: int) -> np.ndarray:
    """Draw batches, shuffled anew in every epoch; incomplete batches are left out."""
    rng = np.random.default_rng(1)
    own = rows // batch
    epochs = -(-steps // own)
    orders = [rng.permutation(rows)[: own * batch] for _ in range(epochs)]
    return np.concatenate(orders).reshape(-1, batch)[:steps]
