"""Train one cell: claim it, continue from its last checkpoint, write it to the store."""

import contextlib
import dataclasses
import errno
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import jax

import jaxbern as jb
from experiments.core.environment import environment
from experiments.sweep import cell_claims as claims
from experiments.sweep import cell_store
from experiments.sweep.cell_record import CellResult, Damaged
from experiments.sweep.compiled_programs import Count, counted, release_some
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events

Kind = Literal["done", "nonfinite", "failed", "busy", "stopped"]


@dataclasses.dataclass(frozen=True)
class Job:
    """A cell to train, with everything that the training needs.

    Attributes:
      root: the store.
      cell: which.
      config: of its training.
      events: to train on.
      about: more that the record is to say.
      callbacks: each makes a callback of the training, given the cell.
      checkpoint_seconds: as in ``jb.train.fit``.
    """

    root: Path
    cell: Cell
    config: jb.train.TrainConfig
    events: Events
    about: dict[str, Any]
    callbacks: Sequence[Callable[[Cell], jb.train.Callback]] = ()
    checkpoint_seconds: float = 1.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of one cell.

    Attributes:
      cell: which.
      kind: ``"done"``; ``"nonfinite"``, done but some seed produced a non-finite loss;
        ``"failed"``, with an error; ``"busy"``, another process has it; ``"stopped"``,
        by Ctrl-C.
      text: in a line.
      trained: whether it was trained now, and not found completed.
    """

    cell: Cell
    kind: Kind
    text: str = ""
    trained: bool = False


class DiskFull(OSError):
    """Raised when the disk is full."""


class Stopped(Exception):
    """Raised to end a training on request; its last checkpoint is on the disk."""


def train(
    job: Job,
    *,
    stop: threading.Event,
    watch: Callable[[Cell, int, float], None] = lambda cell, epoch, auc: None,
    devices: Sequence[jax.Device] | None = None,
) -> Outcome:
    """Train a cell, unless it is completed or another process trains it.

    An error of the training is recorded in the store and returned in the outcome.

    Args:
      job: the cell.
      stop: once it is set, the training ends after the running epoch.
      watch: told after every epoch the cell, how many epochs it has, and its best AUC.
      devices: to train on.

    Raises:
      DiskFull: the disk is full; completed cells are not affected.
    """
    cell, root = job.cell, job.root
    began = time.perf_counter()
    try:
        claim = claims.take(root / cell_store.RUNNING / cell.name)
    except OSError as problem:
        raise disk_full(root, problem) or problem from problem
    if claim is None:
        return Outcome(cell, "busy")
    try:
        found = _completed(job)
        if found is None:
            found = _trained(job, claim, stop, watch, devices)
            trained = True
        else:
            trained = False
        cell_store.remove(root, claim.path.parent)
        cell_store.forget_failure(root, cell)
        return outcome(found, time.perf_counter() - began if trained else None)
    except Stopped:
        return Outcome(cell, "stopped")
    except claims.Lost as problem:
        return Outcome(cell, "busy", str(problem))
    except Exception as problem:
        if full := disk_full(root, problem):
            raise full from problem
        return _failed(job, problem)
    finally:
        claim.release()


def outcome(result: CellResult, seconds: float | None = None) -> Outcome:
    """Make the outcome of a completed cell, trained now in ``seconds`` or found."""
    best = (
        f"{columns['auc'].max():.4f}" if len(columns["auc"]) else "--"
        for columns in result.history.values()
    )
    epochs = max(len(columns["auc"]) for columns in result.history.values())
    words = [f"AUC {' '.join(best)}", f"{epochs} epochs"]
    if seconds is not None:
        words.append(f"{seconds:.1f} s")
    stops = {seed: stop["reason"] for seed, stop in result.stops.items()}
    lost = [seed for seed, reason in stops.items() if reason == "nonfinite"]
    if lost:
        words.append(f"not finite for seed {', '.join(map(str, lost))}")
    kind: Kind = "nonfinite" if lost else "done"
    return Outcome(result.cell, kind, "; ".join(words), seconds is not None)


def _completed(job: Job) -> CellResult | None:
    """Return the result if it is complete and intact; move a damaged one aside."""
    try:
        return cell_store.completed(job.root, job.cell)
    except Damaged as problem:
        damaged = job.root / cell_store.CELLS / job.cell.name
        cell_store.set_aside(job.root, damaged, str(problem))
        return None


def _trained(job, claim, stop, watch, devices) -> CellResult:
    directory = claim.path.parent / "training"

    def fit() -> jb.train.Result:
        return jb.train.fit(
            job.config,
            job.events.data,
            directory=directory,
            resume=True,
            callbacks=[
                *(make(job.cell) for make in job.callbacks),
                _Watcher(job.cell, claim, stop, watch),
            ],
            progress=False,
            devices=devices,
            checkpoint_seconds=job.checkpoint_seconds,
        )

    with counted() as count:
        try:
            result = fit()
        except jb.train.CheckpointError as problem:
            cell_store.set_aside(job.root, directory, str(problem))
            result = fit()
    record = _record(job, result, count, claim.number)
    models = {
        seed: result.model(seed)
        for seed in job.config.seeds
        if result.best_epoch[seed] >= 0
    }
    claim.check()
    with contextlib.suppress(FileExistsError):  # by one who took this process for dead
        cell_store.write(job.root, record, models)
    release_some()
    return record


class _Watcher(jb.train.Callback):
    """Reports every epoch, and ends the training on request or if the claim is lost."""

    def __init__(self, cell, claim, stop, watch):
        self._cell, self._claim, self._stop, self._watch = cell, claim, stop, watch
        self._epochs, self._best = 0, 0.0

    def start(self, config, past):
        for record in past:
            self._see(record)
        self._watch(self._cell, self._epochs, self._best)

    def epoch(self, records):
        self._claim.check()
        for record in records:
            self._see(record)
        self._watch(self._cell, self._epochs, self._best)
        if self._stop.is_set():
            raise Stopped

    def _see(self, record):
        self._epochs = max(self._epochs, record["epoch"] + 1)
        self._best = max(self._best, record["auc"])


def _record(job: Job, result: jb.train.Result, count: Count, claims: int) -> CellResult:
    about = {
        **job.about,
        **job.events.about(),
        "config": job.config.to_dict(),
        "environment": environment(),
        "compile_seconds": count.seconds,
        "compiled": count.compiled,
        "loaded": count.loaded,
        "attempts": claims,
        "completed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    stops = {seed: dataclasses.asdict(stop) for seed, stop in result.stops.items()}
    return CellResult(job.cell, result.history, stops, about)


def _failed(job: Job, problem: Exception) -> Outcome:
    said = (str(problem).splitlines() or [""])[0][:300]
    error = f"{type(problem).__name__}: {said}"
    text = "".join(traceback.format_exception(problem))
    failure = {"error": error, "traceback": text, "environment": environment()}
    cell_store.write_failure(job.root, job.cell, failure)
    return Outcome(job.cell, "failed", error)


def disk_full(root: Path, problem: BaseException) -> DiskFull | None:
    """Return DiskFull if a full disk is among the causes of an error, else None."""
    chain: BaseException | None = problem
    while chain is not None:
        number = getattr(chain, "errno", None)
        full = number in (errno.ENOSPC, errno.EDQUOT)
        # Checkpoints are written by C++ code, which has its own words for it.
        said = str(chain).lower()
        if full or "no space left" in said or "quota exceeded" in said:
            return DiskFull(
                f"the disk of {root} is full. Completed cells are whole, the others go on "
                "from their last checkpoints: make room and run the same command again"
            )
        chain = chain.__cause__ or chain.__context__
    return None
