"""What the small networks learn: simulated collisions, and a smooth function."""

import dataclasses

import numpy as np

import jaxbern as jb


@dataclasses.dataclass(frozen=True)
class Task:
    """Rows to learn and rows to judge by; inputs in [-1, 1].

    Attributes:
      name: of the task.
      x, y: what is learned.
      test_x, test_y: what is held out.
      classes: how many; 0 for a function.
      target: the held-out loss (cross-entropy or mean square) to reach.
      budget: the most parameters that a network may have.
      batches: ``[steps, rows]``, the numbers of the rows of every step.
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
        """Inputs and outputs of a network."""
        return self.x.shape[1], self.classes or 1


def collider(rows: int, batch: int, steps: int) -> Task:
    """Signal or background of ``collider:higgs``, scaled as for the paper's training."""
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
    """``exp(sin(pi x_1) + x_2^2)``, the example with which KANs were introduced."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2 * rows, 2)).astype(np.float32)
    y = np.exp(np.sin(np.pi * x[:, 0]) + x[:, 1] ** 2)
    return Task(
        "function", x[:rows], y[:rows], x[rows:], y[rows:], classes=0, target=1e-3,
        budget=1000, batches=_batches(rows, batch, steps),
    )  # fmt: skip


def _batches(rows: int, batch: int, steps: int) -> np.ndarray:
    """Every epoch in an order of its own; rows that fill no batch are left out."""
    rng = np.random.default_rng(1)
    own = rows // batch
    epochs = -(-steps // own)
    orders = [rng.permutation(rows)[: own * batch] for _ in range(epochs)]
    return np.concatenate(orders).reshape(-1, batch)[:steps]
