"""Train cells as tasks of Ray, on this machine or on a cluster.

A task is a cell. If its worker dies, Ray runs the task again in another worker, which takes
over the claim and continues from the checkpoint. On a cluster the store must be
on a file system that all nodes see; the events travel with the tasks.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.sweep import cell_store, compiled_programs
from experiments.sweep.cell_training import DiskFull, Job, Outcome, train
from experiments.sweep.sweep_progress import Progress

RETRY_SECONDS = 1.0  # to look again at a cell that another sweep has
_INSTALL = (
    'Ray is not installed: pip install "jaxbern[ray]", or leave --executor ray out'
)


def run(
    jobs: Sequence[Job],
    progress: Progress,
    programs: Path | None,
    *,
    address: str | None = None,
    cpus: float = 1.0,
    gpus: float | None = None,
    retries: int = 20,
    init: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Train all cells.

    Args:
      jobs: the cells.
      progress: told what happens.
      programs: directory of compiled programs; None to keep none.
      address: of a cluster; if not given, Ray is started on this machine, unless the
        process is connected already.
      cpus: cores that a cell takes.
      gpus: GPUs that a cell takes, such as 0.5 for two cells on each; if not given, one,
        if there are any.
      retries: how often a cell may lose its worker before it fails.
      init: further options of ``ray.init``.

    Raises:
      DiskFull: the disk is full.
    """
    ray = _ray(on_this_machine=address is None)
    started = not ray.is_initialized()
    if started:
        _start(ray, address, dict(init or {}))
    try:
        if gpus is None:
            gpus = 1.0 if ray.cluster_resources().get("GPU") else 0.0
        task = ray.remote(_task).options(
            num_cpus=cpus, num_gpus=gpus, max_retries=retries
        )
        return _collect(ray, task, jobs, progress, programs)
    finally:
        if started:
            ray.shutdown()


def _ray(*, on_this_machine: bool) -> Any:
    """Import Ray late, because it reads the environment on import."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # tells nobody
    # Else Ray hides the GPUs from tasks that take none, in a way that JAX reports.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if on_this_machine:  # on 127.0.0.1, whatever the name of this variable says
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as problem:
        raise ImportError(_INSTALL) from problem
    return ray


def _start(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        ray.init(include_dashboard=False, **(quiet | options))
    else:
        ray.init(address, **(quiet | options))


def _collect(ray, task, jobs, progress, programs) -> list[Outcome]:
    by_dataset = {job.cell.dataset: job.events for job in jobs}
    events = {name: ray.put(each) for name, each in by_dataset.items()}

    def submit(job):
        light = replace(job, events=None)  # the events go once for all cells
        return task.remote(light, events[job.cell.dataset], programs)

    pending = {submit(job): job for job in jobs}
    outcomes = []
    busy: list[Job] = []
    while pending or busy:
        ready, _ = (
            ray.wait(list(pending), timeout=RETRY_SECONDS) if pending else ([], [])
        )
        if not ready:
            pending |= {submit(job): job for job in busy}
            busy = []
        progress.running(_running(jobs))
        for reference in ready:
            job = pending.pop(reference)
            outcome = _outcome(ray, reference, job)
            progress.outcome(outcome)
            if outcome.kind == "busy":
                busy.append(job)
            else:
                outcomes.append(outcome)
    return outcomes


def _running(jobs: Sequence[Job]) -> int:
    """Count the cells in training."""
    return sum((job.root / cell_store.RUNNING / job.cell.name).exists() for job in jobs)


def _outcome(ray, reference, job: Job) -> Outcome:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        cause = problem.cause
        if isinstance(cause, DiskFull):
            raise cause from problem
        raise
    except ray.exceptions.RayError as problem:
        text = f"its worker died too often ({type(problem).__name__})"
        return Outcome(job.cell, "failed", text)


def _task(job: Job, events: Any, programs: Path | None) -> Outcome:
    """Train a cell in a worker."""
    with compiled_programs.kept(programs):
        return train(replace(job, events=events), stop=threading.Event())
