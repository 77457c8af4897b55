"""Train cells on this machine, one after another or several at a time.

Several are trained by threads that share what JAX has compiled, one compiling while another
trains. On CPUs each thread leaves the work to a process of its own.
"""

import functools
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import jax

import jaxbern as jb
from experiments.sweep import cell_claims, cell_store, compiled_programs
from experiments.sweep.cell_training import Job, Outcome, train
from experiments.sweep.cell_worker import Worker
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_progress import Progress

RETRY_SECONDS = 1.0  # to look again at a cell that another process has


def run(
    jobs: Sequence[Job], progress: Progress, programs: Path | None, *, at_once: int
) -> list[Outcome]:
    """Train all cells; return when none is left, not even in another process.

    With several accelerators, each thread uses its own.

    Args:
      jobs: the cells.
      progress: told what happens.
      programs: directory of compiled programs; None to keep none.
      at_once: cells at a time.

    Raises:
      KeyboardInterrupt: Ctrl-C; cells in training have their checkpoints.
      DiskFull: the disk is full.
    """
    sweep = _Sweep(jobs, progress)
    devices = jax.local_devices()
    apart = at_once > 1 and devices[0].platform == "cpu"

    def work(k: int) -> None:
        try:
            if apart:
                with closing(Worker(programs)) as worker:
                    sweep.work(worker.train)
            else:
                own = [devices[k % len(devices)]]
                sweep.work(functools.partial(train, devices=own))
        finally:
            sweep.ended.release()

    threads = [
        threading.Thread(target=work, args=[k], daemon=True)
        for k in range(min(at_once, len(jobs)))
    ]
    # SIGTERM too: job arrays send it before a kill. At the second signal the process ends,
    # which is as good as a kill, and a store survives that.
    interrupts = jb.train.Interrupts(
        "the running epochs are finished first; again to stop at once",
        signals=(signal.SIGINT, signal.SIGTERM),
        at_once=lambda: os._exit(130),
        pending=sweep.stop,
    )
    with interrupts, compiled_programs.kept(programs):
        for thread in threads:
            thread.start()
        for _ in threads:
            while not sweep.ended.acquire(timeout=1):
                pass  # a wait without end would hear no Ctrl-C on some systems
    if sweep.problem is not None:
        raise sweep.problem
    if sweep.stop.is_set():
        raise KeyboardInterrupt
    return sweep.outcomes


def default_at_once(on_processor: int) -> int:
    """Return the number of cells at a time: ``on_processor`` on CPUs, else one per device."""
    devices = jax.local_devices()
    if devices[0].platform == "cpu":
        return max(1, min(on_processor, os.cpu_count() or 1))
    return len(devices)


class _Sweep:
    """State shared by the threads of a sweep."""

    def __init__(self, jobs: Sequence[Job], progress: Progress):
        self.stop = threading.Event()
        self.ended = threading.Semaphore(0)  # released by each thread at its end
        self.outcomes: list[Outcome] = []
        self.problem: BaseException | None = None
        self._waiting, self._progress = deque(jobs), progress
        self._not_before: dict[str, float] = {}
        self._awaited: set[Cell] = set()
        self._lock = threading.Lock()

    def work(self, train: Callable[..., Outcome]) -> None:
        """Train one cell after another until none is left."""
        try:
            while not self.stop.is_set() and (job := self._next()) is not None:
                outcome = train(job, stop=self.stop, watch=self._progress.epoch)
                self._took(job, outcome)
        except BaseException as problem:
            self.problem = self.problem or problem
            self.stop.set()

    def _next(self) -> Job | None:
        """Return the next cell that no other process is known to train, or None."""
        while not self.stop.is_set():
            with self._lock:
                if not self._waiting:
                    return None
                now = time.monotonic()
                for job in self._waiting:
                    if self._not_before.get(job.cell.name, now) <= now:
                        self._waiting.remove(job)
                        return job
                self._say_whom_it_waits_for()
            self.stop.wait(RETRY_SECONDS / 4)
        return None

    def _say_whom_it_waits_for(self) -> None:
        for job in self._waiting:
            if job.cell not in self._awaited:
                self._awaited.add(job.cell)
                begun = cell_claims.describe(
                    job.root / cell_store.RUNNING / job.cell.name
                )
                self._progress.say(f"waiting for {job.cell.name}: {begun}")

    def _took(self, job: Job, outcome: Outcome) -> None:
        with self._lock:
            if outcome.kind == "busy":
                self._not_before[job.cell.name] = time.monotonic() + RETRY_SECONDS
                self._waiting.append(job)
            elif outcome.kind != "stopped":
                self.outcomes.append(outcome)
        self._progress.outcome(outcome)
