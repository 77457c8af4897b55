"""A worker process trains a cell to the same bits, and its death loses nothing."""

import dataclasses
import functools
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import jaxbern as jb
from experiments.sweep import cell_store, sweep_events
from experiments.sweep.cell_training import Job
from experiments.sweep.cell_worker import DEATHS, Worker
from tests.experiments.sweep_cases import CELLS, EPOCHS, SWEEP, histories

pytestmark = pytest.mark.slow


class Dying(jb.train.Callback):
    """Notes each process, and kills it after the first epoch that it trains."""

    def __init__(self, cell, *, log: str, deaths: int):
        del cell
        self._log, self._deaths = Path(log), deaths

    def epoch(self, records):
        with self._log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        died = set(self._log.read_text().split()) - {str(os.getpid())}
        if len(died) < self._deaths:
            os.kill(os.getpid(), signal.SIGKILL)


class Slow(jb.train.Callback):
    """Notes the process, then takes its time for every epoch."""

    def __init__(self, cell, *, log: str, seconds: float):
        del cell
        self._log, self._seconds = Path(log), seconds

    def epoch(self, records):
        self._log.write_text(f"{os.getpid()} {os.environ['NPROC']}")
        time.sleep(self._seconds)


@pytest.fixture
def worker():
    worker = Worker(None)
    yield worker
    worker.close()


def job(root, *callbacks) -> Job:
    cell = CELLS[0]
    events = sweep_events.load(cell.dataset, *SWEEP.where)
    return Job(root, cell, SWEEP.config(cell), events, {}, callbacks, 0)


def trained(worker, job, stop=None):
    epochs = []
    stop = stop or threading.Event()
    outcome = worker.train(
        job, stop=stop, watch=lambda cell, *epoch: epochs.append(epoch)
    )
    return outcome, epochs


def test_a_worker_trains_to_the_same_bits(worker, whole, tmp_path):
    outcome, epochs = trained(worker, job(tmp_path))
    assert outcome.kind == "done"
    assert epochs[-1][0] == EPOCHS
    [[name, history]] = histories(tmp_path).items()
    assert history == histories(whole)[name]


def test_a_worker_that_dies_is_replaced(worker, whole, tmp_path):
    """The new one goes on from the last checkpoint."""
    log = tmp_path / "log"
    dying = functools.partial(Dying, log=str(log), deaths=1)
    outcome, _ = trained(worker, job(tmp_path, dying))
    assert outcome.kind == "done"
    assert len(set(log.read_text().split())) == 2
    [[name, history]] = histories(tmp_path).items()
    assert history == histories(whole)[name]
    assert cell_store.read(tmp_path).results[0].about["attempts"] == 2


def test_a_cell_whose_workers_all_die_fails_and_the_next_is_trained(worker, tmp_path):
    dying = functools.partial(Dying, log=str(tmp_path / "log"), deaths=100)
    outcome, _ = trained(worker, job(tmp_path, dying))
    assert outcome.kind == "failed"
    assert outcome.text == f"its process died {DEATHS} times, last with exit status -9"
    assert trained(worker, job(tmp_path / "other"))[0].kind == "done"


def test_stop_ends_a_training_after_its_epoch(worker, tmp_path):
    stop, log = threading.Event(), tmp_path / "log"
    slow = job(tmp_path, functools.partial(Slow, log=str(log), seconds=1))
    found = []
    thread = threading.Thread(
        target=lambda: found.append(trained(worker, slow, stop)[0])
    )
    thread.start()
    process = _noted(log)
    stop.set()
    thread.join(60)
    assert [outcome.kind for outcome in found] == ["stopped"]
    worker.close()
    assert not _runs(process)


def test_a_worker_ends_when_its_sweep_is_gone(worker, tmp_path):
    """In the middle of an epoch: the next sweep would find the cell taken."""
    log = tmp_path / "log"
    slow = job(tmp_path, functools.partial(Slow, log=str(log), seconds=600))
    pipe = worker._open()
    pipe.send(slow.events)
    pipe.send(dataclasses.replace(slow, events=None))
    process = _noted(log)
    pipe.close()  # what the system does for a process that was killed
    end = time.monotonic() + 20
    while _runs(process) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _runs(process)


def _noted(log: Path) -> int:
    """Wait until a worker trains; return its number. It has one thread for arithmetic."""
    end = time.monotonic() + 120
    while not (log.exists() and log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.05)
    process, threads = log.read_text().split()
    assert threads == "1"
    return int(process)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
