"""All measurements of one run: which, in what order, and what was refused."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import jax

from experiments.gpu.gpu_layers import LayerRow, measure_layer
from experiments.gpu.gpu_measure import Row, measure, measure_relu
from experiments.gpu.gpu_programs import PASSES, Workload
from experiments.gpu.gpu_targets import Target


@dataclass(frozen=True)
class Job:
    """One compilation: what to call it, and what does it."""

    label: str
    target: str
    implementation: str | None  # None for ReLU
    run: Callable[[], Row | LayerRow]


@dataclass
class Results:
    """What came of the jobs."""

    rows: list[Row] = field(default_factory=list)
    layers: list[LayerRow] = field(default_factory=list)
    # (target, implementation): why it could not be compiled
    refused: dict[tuple[str, str], str] = field(default_factory=dict)


def jobs(
    targets: list[Target],
    workload: Workload,
    degrees: list[int],
    implementations: list[str],
    layers: bool,
) -> list[Job]:
    """List all compilations, ReLU first on each target."""
    cases = [(n, name) for n in degrees for name in implementations]
    listed = []
    for target in targets:
        for which in PASSES:
            run = partial(measure_relu, target, workload, which)
            listed.append(Job(f"relu {which}", target.name, None, run))
        for degree, name in cases:
            for which in PASSES:
                run = partial(measure, target, workload, degree, name, which)
                label = f"{name} n={degree} {which}"
                listed.append(Job(label, target.name, name, run))
    for target in targets if layers else ():
        run = partial(measure_layer, target, workload, None, "xla")
        listed.append(Job("relu layer", target.name, None, run))
        for degree, name in cases:
            run = partial(measure_layer, target, workload, degree, name)
            listed.append(Job(f"{name} n={degree} layer", target.name, name, run))
    return listed


def run(listed: list[Job], done: Callable[[str], None], must_work: bool) -> Results:
    """Do every job; one that an implementation refuses ends its others, or the run.

    An implementation refuses with ``NotImplementedError``; the compiler, whose version
    may not suit the kernel's, with ``JaxRuntimeError``.
    """
    results = Results()
    for job in listed:
        case = (job.target, job.implementation)
        try:
            result = None if case in results.refused else job.run()
        except (NotImplementedError, jax.errors.JaxRuntimeError) as reason:
            if must_work or job.implementation is None:
                raise
            results.refused[job.target, job.implementation] = str(reason).strip()
            result = None
        done(f"{job.target} {job.label}")
        if isinstance(result, Row):
            results.rows.append(result)
        elif result is not None:
            results.layers.append(result)
    return results
