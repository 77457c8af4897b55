"""The results: rows of the tables, and why seeds fail."""

from dataclasses import dataclass

import numpy as np

from experiments.capacity.capacity_tasks import Network, Task
from experiments.capacity.capacity_training import Points, Run, Trained


@dataclass(frozen=True, eq=False)
class Outcome:
    """One task: its runs and the trained networks of both kinds."""

    task: Task
    runs: list[Run]
    points: Points
    trained: dict[str, Trained]  # by kind, "DBN" and "ReLU"
    normalised: dict[str, Trained]  # the first seeds again, with BatchNorm; or empty

    def of(self, variant: str) -> np.ndarray:
        """Return the indices of the runs of a variant; ``""`` is the base setting."""
        return np.array(
            [k for k, run in enumerate(self.runs) if run.variant == variant]
        )

    def values(self, network: Network, variant: str = "") -> np.ndarray:
        """Return accuracy or MSE on held-out points, for each seed of a variant."""
        return self.trained[network.kind].value[self.of(variant)]

    def best(self, network: Network) -> int:
        """Return the index of the best run of the base setting."""
        return int(self.of("")[self.task.best(self.values(network))])


@dataclass(frozen=True)
class Row:
    """One network on one task, over the seeds of one setting.

    ``best`` is the best of the seeds, on held-out points like every other figure;
    ``reached`` is the number of seeds that reach ``target``, the goal of the DBN.
    """

    task: str
    network: str
    variant: str
    width: int
    degree: int | None
    parameters: int
    metric: str
    paper: float
    target: float
    best: float
    best_seed: int
    median: float
    worst: float
    reached: int
    seeds: int


def rows(outcome: Outcome, variant: str = "") -> list[Row]:
    """Return the row of the DBN, then that of ReLU."""
    return [_row(outcome, network, variant) for network in outcome.task.networks]


def _row(outcome: Outcome, network: Network, variant: str) -> Row:
    task, values = outcome.task, outcome.values(network, variant)
    best = task.best(values)
    worst = values.min() if task.classification else values.max()
    return Row(
        task=task.name,
        network=network.kind,
        variant=variant,
        width=network.width,
        degree=network.degree,
        parameters=parameter_count(task, network),
        metric="accuracy in percent" if task.classification else "MSE",
        paper=network.paper,
        target=task.target,
        best=float(values[best]),
        best_seed=outcome.runs[outcome.of(variant)[best]].seed,
        median=float(np.median(values)),
        worst=float(worst),
        reached=int(task.reached(values).sum()),
        seeds=len(values),
    )


def parameter_count(task: Task, network: Network) -> int:
    """Return the number of weights, biases and coefficients."""
    count = (task.features + 1) * network.width + (network.width + 1) * task.outputs
    if network.degree is not None:
        count += network.width * (network.degree + 1)
    return count


@dataclass(frozen=True)
class Failure:
    """A seed of the base setting whose DBN misses the target."""

    task: str
    seed: int
    value: float  # on held-out points
    learned: float  # on the training points
    outside: float  # fraction of inputs outside the interval of the activation
    why: str


def failures(outcome: Outcome) -> list[Failure]:
    """Return the failed seeds of a task."""
    task, trained = outcome.task, outcome.trained[outcome.task.dbn.kind]
    base = outcome.of("")
    missed = base[~task.reached(trained.value[base])]
    return [
        Failure(
            task.name,
            outcome.runs[k].seed,
            float(trained.value[k]),
            float(trained.learned[k]),
            float(trained.outside[k]),
            _why(outcome, int(k)),
        )
        for k in missed
    ]


def rescued(outcome: Outcome, variant: str) -> list[int]:
    """Return the seeds that fail in the base setting but not in a variant."""
    task, dbn = outcome.task, outcome.task.dbn
    there = task.reached(outcome.values(dbn, variant))
    base = task.reached(outcome.values(dbn)[: len(there)])
    return np.flatnonzero(there & ~base).tolist()


def _why(outcome: Outcome, k: int) -> str:
    """Explain a failed seed from its measurements, in a few words."""
    task, trained = outcome.task, outcome.trained[outcome.task.dbn.kind]
    if task.classification:
        if task.reached(trained.learned[k]):
            return "fits its own points; held-out ones near the boundary are wrong"
        return "stopped in a local minimum: wrong on its own points too"
    if trained.value[k] > 0.5 * outcome.points.held_out_y[k].var():
        inside = trained.outside[k] < 0.01
        return "stayed near a constant" + (
            ": inputs never reached the ends of the interval, so it is one "
            "polynomial, which cannot follow the waves"
            if inside
            else ""
        )
    return "has the right shape, but has not converged after the last step"
