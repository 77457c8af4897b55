"""The study: choose rates on validation rows, score fresh seeds on test rows."""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from experiments.core.timing import best_in_turns
from experiments.dropin.dropin_data import Missing, Split
from experiments.dropin.dropin_methods import METHODS, OURS, RIVALS, Method
from experiments.dropin.dropin_tasks import Task
from experiments.dropin.dropin_training import Program


@dataclass(frozen=True)
class Setting:
    """The size of the study."""

    quick: bool
    rates: tuple[float, ...]
    tuning_seeds: int
    seeds: int
    most_time: float  # largest factor by which a rival may take more steps

    @property
    def full(self) -> int:
        """Index of the number of steps of a task."""
        return 0 if self.quick else 1


QUICK = Setting(True, (2e-3, 6e-3, 2e-2), 1, 3, 4.0)
FULL = Setting(False, (2e-3, 5e-3, 1.2e-2, 3e-2, 8e-2, 2e-1), 4, 6, 4.0)


@dataclass(frozen=True)
class Result:
    """One method on one task.

    ``kind``: "steps" (equal steps), "parameters" or "time" (a rival made equal to ours).
    """

    task: str
    method: str
    kind: str
    rate: float
    width: int
    steps: int
    parameters: int
    validation: np.ndarray
    test: np.ndarray
    finest: float = 0.0  # the least step of the score, one row of an accuracy


@dataclass
class Study:
    """All results so far, and what could not be run."""

    setting: Setting
    results: list[Result] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)


def run(
    chosen: list[Task],
    methods: list[str],
    setting: Setting,
    done: Callable[[str], None],
    save: Callable[[Study, Task], object] = lambda study, task: None,
    load: Callable[[Study, Task], bool] = lambda study, task: False,
) -> Study:
    """Train everything; ``done`` is called with each task and method that is finished.

    ``save`` is called with all results so far after each task; ``load`` adds the results of
    a task to the study, if an earlier run has left them, and says whether it did.
    """
    study = Study(setting)
    for task in chosen:
        if load(study, task):
            for name in (*methods, "equal"):
                done(f"{task.name} {name}: done before")
            continue
        try:
            parts = task.load()
        except Missing as problem:
            study.missing[task.name] = str(problem)
            for name in (*methods, "equal"):
                done(f"{task.name} {name}: left out")
            continue
        programs = {}
        for name in methods:
            programs[name] = _steps(study, task, METHODS[name], parts)
            done(f"{task.name} {name}")
        _equals(study, task, programs, parts)
        done(f"{task.name} equal parameters and time")
        save(study, task)
    return study


def _steps(study: Study, task: Task, method: Method, parts: Split) -> Program:
    """Train fresh seeds at the best learning rate."""
    setting, steps = study.setting, task.steps[study.setting.full]
    program = Program(task, method.make, task.width, setting.seeds, parts)
    _judge(study, task, method.name, "steps", program, steps)
    return program


def _judge(
    study: Study, task: Task, method: str, kind: str, program: Program, steps: int
) -> None:
    """Choose the learning rate by the validation rows, then train fresh seeds with it."""
    setting = study.setting
    rates = [rate for rate in setting.rates for _ in range(setting.tuning_seeds)]
    seeds = [1000 + k for _ in setting.rates for k in range(setting.tuning_seeds)]
    tuned = program.train(seeds, rates, steps).validation
    means = tuned.reshape(len(setting.rates), -1).mean(axis=1)
    rate = setting.rates[_best(means, higher=task.higher)]
    fresh = list(range(setting.seeds))
    scores = program.train(fresh, [rate] * setting.seeds, steps)
    finest = 1 / program.test_rows if task.metric == "accuracy" else 0.0
    study.results.append(
        Result(
            task.name, method, kind, rate, program.width, steps, program.parameters,
            scores.validation, scores.test, finest,
        )
    )  # fmt: skip


def _equals(
    study: Study, task: Task, programs: dict[str, Program], parts: Split
) -> None:
    """Train the best rival with as many parameters as ours, and with as much time."""
    rival = best_rival(study, task)
    if OURS not in programs or rival is None:
        return
    ours, its = programs[OURS], programs[rival.method]
    steps, setting = rival.steps, study.setting
    few = max(steps // 10, 20)
    pair = {OURS: ours, rival.method: its}
    runs = {name: functools.partial(p.seconds, few) for name, p in pair.items()}
    times = best_in_turns(runs, 3 if setting.quick else 5)
    study.seconds.update({(task.name, name): t / few for name, t in times.items()})
    ratio = min(max(times[OURS] / times[rival.method], 1.0), setting.most_time)
    longer = math.ceil(steps * ratio)
    _judge(study, task, rival.method, "time", its, longer)
    make = METHODS[rival.method].make
    width = task.width
    while True:
        width += max(1, task.width // 16)
        wider = Program(task, make, width, setting.seeds, parts)
        if wider.parameters >= ours.parameters:
            break
    _judge(study, task, rival.method, "parameters", wider, steps)


def best_rival(study: Study, task: Task) -> Result | None:
    """Choose the best rival by its test scores, which favours the rival."""
    found = [
        r for r in study.results
        if (r.task, r.kind) == (task.name, "steps") and r.method in RIVALS
    ]  # fmt: skip
    if not found:
        return None
    means = np.array([r.test.mean() for r in found])
    return found[_best(means, higher=task.higher)]


def _best(means: np.ndarray, *, higher: bool) -> int:
    """Return the index of the best finite score; a run that diverged is never best."""
    worst = -np.inf if higher else np.inf
    finite = np.where(np.isfinite(means), means, worst)
    return int(np.argmax(finite) if higher else np.argmin(finite))


def as_records(study: Study) -> list[dict]:
    """Return one record per run, for a CSV file."""
    return [
        {
            **{k: v for k, v in dataclasses.asdict(r).items()
               if k not in ("validation", "test", "finest")},
            "seed": seed,
            "validation": float(r.validation[seed]),
            "test": float(r.test[seed]),
            "seconds_per_step": study.seconds.get((r.task, r.method), math.nan),
        }
        for r in study.results
        for seed in range(len(r.test))
    ]  # fmt: skip
