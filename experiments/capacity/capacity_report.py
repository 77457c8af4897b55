"""Write the results as CSV files and a Markdown page, reproducibly."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.capacity.capacity_results import (
    Failure,
    Outcome,
    Row,
    failures,
    rescued,
    rows,
)
from experiments.capacity.capacity_tasks import FASTER, HELD_OUT, INTERVAL, Budget, Task
from experiments.core.tables import Lines, csv_text, pipe_table


def write(outcomes: list[Outcome], out: Path, budget: Budget) -> list[Path]:
    """Write ``capacity.csv``, ``seeds.csv``, ``capacity.md`` and, if any, the variants."""
    main = [row for outcome in outcomes for row in rows(outcome)]
    texts = {
        "capacity.csv": csv_text(map(dataclasses.asdict, main)),
        "seeds.csv": csv_text(_every_run(outcomes)),
        "capacity.md": markdown(outcomes, budget),
    }
    if budget.seeds_of_variants:
        varied = [
            row
            for outcome in outcomes
            for variant in outcome.task.variants
            for row in rows(outcome, variant)
        ]
        texts["sensitivity.csv"] = csv_text(map(dataclasses.asdict, varied))
    for name, text in texts.items():
        (out / name).write_text(text)
    return [out / name for name in texts]


def markdown(outcomes: list[Outcome], budget: Budget) -> str:
    """Format the page: results, data, sensitivity, seeds that fail, pictures."""
    parts = [
        "# One neuron that solves XOR: capacity on analytic tasks",
        _method(budget),
        "## Results",
        results_table(outcomes),
        "Best is the best of the seeds, chosen on held-out points: it says what a network "
        "can do, the median what to expect from one training. The paper reports one "
        "number for each.",
        "![every seed](seeds.png)",
        "## The data",
        _data(outcomes),
        *_sensitivity(outcomes, budget),
        "## Seeds whose DBN stays behind the target",
        _failures([failure for outcome in outcomes for failure in failures(outcome)]),
        *_rescued(outcomes, budget),
        *_batchnorm(outcomes),
        "## Pictures",
        *(f"![{o.task.title}]({o.task.name}.png)" for o in outcomes),
        "![forming](xor_blobs.gif)",
    ]
    return "\n\n".join(parts) + "\n"


def results_table(outcomes: list[Outcome]) -> str:
    """Return the rows of both networks of every task, with the paper's figures."""
    lines: Lines = [("task", "network", "parameters", "paper", "target", "best", "best seed",
              "median", "seeds at the target")]  # fmt: skip
    for outcome in outcomes:
        task = outcome.task
        for row, network in zip(rows(outcome), task.networks, strict=True):
            lines.append(
                (
                    task.title,
                    str(network),
                    str(row.parameters),
                    task.show(row.paper),
                    _target(task) if network is task.dbn else "",
                    task.show(row.best),
                    str(row.best_seed),
                    task.show(row.median),
                    f"{row.reached} of {row.seeds}",
                )
            )
    return pipe_table(lines)


def _sensitivity(outcomes: list[Outcome], budget: Budget) -> list[str]:
    if not budget.seeds_of_variants:
        return []
    return [
        "## Sensitivity",
        f"The same trainings with one thing changed, {budget.seeds_of_variants} seeds each "
        "(the first line of a task is its base setting, with all seeds).",
        sensitivity_table(outcomes),
    ]


def sensitivity_table(outcomes: list[Outcome]) -> str:
    """Return best and median of both networks in every setting."""
    lines: Lines = [("task", "setting", "DBN best", "ReLU best", "DBN median", "ReLU median",
              "DBN ahead")]  # fmt: skip
    for outcome in outcomes:
        task = outcome.task
        for variant in ("", *task.variants):
            dbn, relu = rows(outcome, variant)
            lines.append(
                (
                    task.title,
                    variant or "base",
                    *(task.show(row.best) for row in (dbn, relu)),
                    *(task.show(row.median) for row in (dbn, relu)),
                    _ahead(task, dbn, relu),
                )
            )
    return pipe_table(lines)


def _batchnorm(outcomes: list[Outcome]) -> list[str]:
    if not all(outcome.normalised for outcome in outcomes):
        return []
    return ["## With BatchNorm", _BATCHNORM, batchnorm_table(outcomes)]


def batchnorm_table(outcomes: list[Outcome]) -> str:
    """Return the results of the same seeds without and with BatchNorm."""
    lines: Lines = [("task", "network", "best without", "best with", "median without",
              "median with", "inputs outside without", "with")]  # fmt: skip
    for outcome in outcomes:
        task = outcome.task
        for network in task.networks:
            with_it = outcome.normalised[network.kind]
            count = len(with_it.value)
            both = (outcome.trained[network.kind].value[:count], with_it.value)
            shares = (outcome.trained[network.kind].outside[:count], with_it.outside)
            lines.append(
                (
                    task.title,
                    str(network),
                    *(task.show(values[task.best(values)]) for values in both),
                    *(task.show(np.median(values)) for values in both),
                    *(
                        "" if network.degree is None else f"{share.mean():.0%}"
                        for share in shares
                    ),
                )
            )
    return pipe_table(lines)


def _ahead(task: Task, dbn: Row, relu: Row) -> str:
    """Say in what the DBN is better, and by how much its best seed is."""
    sign = 1 if task.classification else -1
    better = [
        name
        for name, a, b in (
            ("best", dbn.best, relu.best),
            ("median", dbn.median, relu.median),
        )
        if sign * (a - b) > 0
    ]
    if task.classification:
        margin = f"{dbn.best - relu.best:+.1f} points"
    else:
        margin = f"{relu.best / dbn.best:.1f} times"
    return f"{' and '.join(better) or 'no'}, {margin}"


_BATCHNORM = """\
The paper puts BatchNorm before each activation. Here it was left out, and this is what it
does to the same seeds. A Bernstein activation without it is free to put the ends of its
interval where they help: beyond them it is constant, and the network a spline with kinks.
With it, inputs stay inside. In the plane little changes. On a line every neuron then sees
the same numbers up to sign: a DBN is one polynomial of degree 7 in x, whatever its width,
which follows the oscillator, if slowly, while no such polynomial comes near the Gaussian
sine (least squares leaves an MSE of 0.103 on [-3, 3]); and a ReLU network has a single
kink."""


def _method(budget: Budget) -> str:
    lower, upper = INTERVAL
    return (
        "Each network has one hidden layer: Linear, activation, Linear. Bernstein "
        f"activations (DBN) live on [{lower:g}, {upper:g}] and are constant outside. There "
        "is no BatchNorm: without a shift it would put the kinks of all ReLUs of a "
        "one-dimensional task at one point. Inputs are standardised with the mean and "
        "deviation of the points learned. Training is full-batch Adam, "
        f"{budget.steps:,} steps under a cosine schedule from the learning rate of the "
        "task's setting to zero, the same for both kinds; classes by cross-entropy of two "
        "logits, functions by squared error. A seed draws the points to learn, "
        f"{HELD_OUT:,} other points that judge, and the initial weights (uniform in "
        "+-1/sqrt(fan in); coefficients by `jb.initializers.smooth`). "
        f"{budget.seeds} seeds, trained in one compiled call for each task and network."
    )


def _data(outcomes: list[Outcome]) -> str:
    """Describe the data by the generators' docstrings and the base settings."""
    lines = [
        "The paper names the shapes; sizes, noise and intervals are chosen here "
        "(`experiments/capacity/capacity_tasks.py`).",
        "",
    ]
    for outcome in outcomes:
        task, base = outcome.task, outcome.task.base
        words = " ".join((task.draw.__doc__ or "").replace("``", "`").split())
        lines.append(
            f"- **{task.title}**: {words} Here {base.points} points to learn, noise "
            f"{base.noise:g}, geometry {base.geometry:g}, learning rate "
            f"{base.learning_rate:g}."
        )
    return "\n".join(lines)


def _failures(found: list[Failure]) -> str:
    if not found:
        return "None."
    lines: Lines = [
        ("task", "why", "seeds: on held-out points; on those learned; outside")
    ]
    for task, why in dict.fromkeys((failure.task, failure.why) for failure in found):
        own = [f for f in found if (f.task, f.why) == (task, why)]
        seeds = (
            f"{f.seed}: {f.value:.4g}; {f.learned:.4g}; {f.outside:.0%}" for f in own
        )
        lines.append((task, why, "<br>".join(seeds)))
    return pipe_table(lines)


def _rescued(outcomes: list[Outcome], budget: Budget) -> list[str]:
    """Say which failed seeds reach the target with a higher learning rate."""
    if not budget.seeds_of_variants:
        return []
    found = [
        f"{outcome.task.title} {', '.join(map(str, seeds))}"
        for outcome in outcomes
        if (seeds := rescued(outcome, FASTER))
    ]
    return [
        f"Of the first {budget.seeds_of_variants} seeds, these reach the target with "
        f"three times the learning rate: {'; '.join(found) or 'none'}."
    ]


def _every_run(outcomes: list[Outcome]) -> Iterable[dict[str, Any]]:
    for outcome in outcomes:
        for network in outcome.task.networks:
            trained = outcome.trained[network.kind]
            for run, value, learned, outside in zip(
                outcome.runs,
                trained.value,
                trained.learned,
                trained.outside,
                strict=True,
            ):
                yield {
                    "task": outcome.task.name,
                    "network": network.kind,
                    "variant": run.variant,
                    "seed": run.seed,
                    "held_out": float(value),
                    "learned": float(learned),
                    "outside": "" if network.degree is None else float(outside),
                    **dataclasses.asdict(run.setting),
                }


def _target(task: Task) -> str:
    return ("at least " if task.classification else "at most ") + task.show(task.target)
