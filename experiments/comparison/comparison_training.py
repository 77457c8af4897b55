"""Train small networks until a held-out loss is reached: steps, time, parameters."""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from experiments.comparison.candidates import Candidate
from experiments.comparison.compared_layers import ENGINES
from experiments.comparison.comparison_tasks import Task

CHECK = 20  # steps between two evaluations of the held-out loss


@dataclasses.dataclass
class Run:
    """One training.

    Attributes:
      parameters: number of parameters.
      steps: steps until the loss was reached; infinite if it never was.
      milliseconds: time of one step, the best over all intervals between evaluations.
      loss: lowest loss on held-out rows.
      problem: the error that stopped it, if any.
    """

    parameters: int
    steps: float = math.inf
    milliseconds: float = math.inf
    loss: float = math.inf
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Trained:
    """A network over seeds, at its best learning rate.

    Attributes:
      candidate: the network.
      width: width of its hidden layers.
      learning_rate: the one with the fewest steps, then the lowest loss.
      runs: one run per seed.
    """

    candidate: Candidate
    width: int
    learning_rate: float
    runs: tuple[Run, ...]

    @property
    def steps(self) -> float:
        """Median over seeds; infinite if half of them never reached the target."""
        return statistics.median_high(run.steps for run in self.runs)

    @property
    def milliseconds(self) -> float:
        """Time of one step."""
        return min(run.milliseconds for run in self.runs)

    @property
    def seconds(self) -> float:
        """Time of all steps, without compilation."""
        return self.steps * self.milliseconds / 1e3

    @property
    def loss(self) -> float:
        """Median over seeds of the lowest loss."""
        return statistics.median_high(run.loss for run in self.runs)

    @property
    def reached(self) -> int:
        """Number of seeds that reached the target."""
        return sum(math.isfinite(run.steps) for run in self.runs)


def fitting_width(candidate: Candidate, task: Task) -> int:
    """Return the largest width whose network has at most ``budget`` parameters."""

    def fits(width: int) -> bool:
        count = ENGINES[candidate.framework].count
        return count(lambda: candidate.make(*task.sizes, width, 0)) <= task.budget

    if not fits(1):
        raise ValueError(
            f"{candidate.name} has more than {task.budget} parameters at width 1; write a "
            "larger budget"
        )
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def measure(
    candidates: Sequence[Candidate],
    task: Task,
    seeds: Sequence[int],
    learning_rates: Sequence[float],
    done: Callable[[str], None] = lambda what: None,
) -> list[Trained]:
    """Train every network over all seeds and learning rates; networks take turns."""
    widths = {c: fitting_width(c, task) for c in candidates}
    runs: dict[tuple[Candidate, float], list[Run]] = {}
    for rate in learning_rates:
        for seed in seeds:
            trainers = {
                c: ENGINES[c.framework].Trainer(
                    c.make(*task.sizes, width, seed), task, rate
                )
                for c, width in widths.items()
            }
            for candidate, run in race(trainers, task).items():
                runs.setdefault((candidate, rate), []).append(run)
            done(f"{task.name}, rate {rate}, seed {seed}")
    found = []
    for candidate, width in widths.items():
        tried = [
            Trained(candidate, width, rate, tuple(runs[candidate, rate]))
            for rate in learning_rates
        ]
        found.append(min(tried, key=lambda trained: (trained.steps, trained.loss)))
    return found


def race(trainers: dict[Candidate, Any], task: Task) -> dict[Candidate, Run]:
    """Train all networks in turns until each reaches the target or the last step."""
    runs = {c: Run(trainer.parameters) for c, trainer in trainers.items()}
    waiting = dict(trainers)
    for first in range(0, len(task.batches), CHECK):
        stretch = task.batches[first : first + CHECK]
        for candidate, trainer in list(waiting.items()):
            run = runs[candidate]
            try:
                began = time.perf_counter()
                trainer.train(stretch)
                seconds = time.perf_counter() - began
                loss = trainer.loss()
            except Exception as error:  # raised by another package: drop its network
                run.problem = f"stopped after {first} steps: {error}"
                del waiting[candidate]
                continue
            run.milliseconds = min(run.milliseconds, 1e3 * seconds / len(stretch))
            run.loss = min(run.loss, loss)
            if loss <= task.target:
                run.steps = first + len(stretch)
                del waiting[candidate]
    return runs
