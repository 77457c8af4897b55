"""Train cells in a process of their own that has one thread for arithmetic.

XLA splits even loops of a few microseconds over all threads of a process. For a small network
on a CPU the handover costs more than it saves, and cells side by side in one process also
wait for each other's threads. So each gets a process with a single one.
"""

import dataclasses
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import jax

from experiments.sweep import compiled_programs
from experiments.sweep.cell_training import Job, Outcome, train
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events

DEATHS = 3  # of workers, before a cell counts as failed
_POLL_SECONDS = 0.2
# The size of the pools that XLA:CPU makes. It is read when a process first uses JAX.
_THREADS = {"NPROC": "1"}
# Messages to a worker are Events, then Jobs that leave out these events, and this word.
_STOP = "stop"
_LEFT_OUT: Any = None
_starting = threading.Lock()  # of processes: the environment is changed meanwhile


class Worker:
    """Trains cells one after another in another process, for one thread of this one."""

    def __init__(self, programs: Path | None):
        """Prepare a worker that keeps compiled programs in ``programs``, or nowhere."""
        self._programs = programs
        self._process: Any = None
        self._pipe: Connection | None = None
        self._sent: Events | None = None

    def train(
        self,
        job: Job,
        *,
        stop: threading.Event,
        watch: Callable[[Cell, int, float], None],
    ) -> Outcome:
        """Train a cell as :func:`cell_training.train` does.

        A worker that dies is replaced, and the new one continues from the checkpoint.
        """
        code = None
        for _ in range(DEATHS):
            try:
                return self._attempt(job, stop, watch)
            except (EOFError, ConnectionError):
                code = self._exit_code()
                self.close()
                if stop.is_set():
                    return Outcome(job.cell, "stopped")
        text = f"its process died {DEATHS} times, last with exit status {code}"
        return Outcome(job.cell, "failed", text)

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()  # which the process takes as the sign to end
        if self._process is not None:
            self._process.join()
        self._process = self._pipe = self._sent = None

    def _attempt(self, job: Job, stop, watch) -> Outcome:
        pipe = self._open()
        if self._sent is not job.events:  # the events go once for all cells
            pipe.send(job.events)
            self._sent = job.events
        pipe.send(dataclasses.replace(job, events=_LEFT_OUT))
        told = False
        while True:
            if stop.is_set() and not told:
                pipe.send(_STOP)
                told = True
            if not pipe.poll(_POLL_SECONDS):
                continue
            said = pipe.recv()
            if isinstance(said, Outcome):
                return said
            if isinstance(said, BaseException):
                raise said
            watch(*said)

    def _open(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(
                target=_serve, args=[theirs, self._programs], daemon=True
            )
            with _starting, _environment(_THREADS):
                self._process.start()
            theirs.close()  # so that the end of the process closes the pipe
        return self._pipe

    def _exit_code(self) -> int | None:
        self._process.join()
        return self._process.exitcode


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables that the user has not set, for processes that are started meanwhile."""
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def _serve(pipe: Connection, programs: Path | None) -> None:
    """Train what comes through the pipe until the other end is closed."""
    # Ctrl-C reaches all processes of a terminal. The sweep hears it and says what to do.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    inbox = _Inbox(pipe)
    events = _LEFT_OUT
    with compiled_programs.kept(programs):
        while True:
            message = inbox.next()
            if isinstance(message, Events):
                events = message
                continue
            try:
                said = train(
                    dataclasses.replace(message, events=events),
                    stop=inbox.stop,
                    watch=lambda *epoch: inbox.send(epoch),
                    devices=jax.local_devices()[:1],
                )
            except Exception as problem:  # DiskFull: the sweep ends with it
                said = problem
            inbox.send(said)


class _Inbox:
    """Receives messages while a cell is trained; ends the process with the sweep."""

    def __init__(self, pipe: Connection):
        self.stop = threading.Event()
        self._pipe, self._messages = pipe, []
        self._came = threading.Condition()
        threading.Thread(target=self._receive, daemon=True).start()

    def next(self) -> Events | Job:
        """Wait for the next message."""
        with self._came:
            self._came.wait_for(lambda: self._messages)
            return self._messages.pop(0)

    def send(self, message: Any) -> None:
        """Send to the sweep."""
        self._pipe.send(message)

    def _receive(self) -> None:
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                # The sweep has ended or was killed: the next one goes on from the last
                # checkpoint, and must not find this process still training.
                os._exit(0)
            if isinstance(message, str):  # _STOP
                self.stop.set()
                continue
            with self._came:
                self._messages.append(message)
                self._came.notify()
