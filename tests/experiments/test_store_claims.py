"""A cell is trained by one process at a time, and by another if that one has died."""

import dataclasses
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from experiments.sweep import cell_claims

# Without JAX, which is slow to import: a claim needs none of it.
_CHILD = """
import sys
from pathlib import Path
sys.modules["jax"] = None
from experiments.sweep import cell_claims as claims
claim = claims.take(Path(sys.argv[1]))
print("none" if claim is None else claim.number, flush=True)
sys.stdin.read()
"""


class Process:
    """Another process that takes a claim and keeps it."""

    def __init__(self, directory):
        command = [sys.executable, "-c", _CHILD, str(directory)]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.said = self._child.stdout.readline().strip()

    def kill(self):
        self._child.kill()
        assert self._child.wait() == -signal.SIGKILL
        self._child.stdin.close()
        self._child.stdout.close()


@pytest.fixture
def other(tmp_path):
    process = Process(tmp_path / "cell")
    yield process
    process.kill()


def test_who_lives_keeps_it_and_who_dies_loses_it(tmp_path):
    place = tmp_path / "cell"
    first = Process(place)
    assert first.said == "1"
    assert cell_claims.take(place) is None
    assert "begun by process" in cell_claims.describe(place)
    first.kill()
    assert cell_claims.describe(place).endswith("which has ended")
    mine = cell_claims.take(place)
    assert mine.number == 2
    assert cell_claims.take(place) is None  # not even to this process
    second = Process(place)
    assert second.said == "none"
    second.kill()
    mine.check()
    mine.release()
    cell_claims.take(place).release()


def test_one_of_many_takes_over(tmp_path):
    """All see the same dead owner, all at once."""
    for attempt in range(10):
        place = tmp_path / str(attempt)
        cell_claims.take(place).release()
        _foreign(place, host=cell_claims.this_process().host, pid=2**22 + 1)
        barrier, won = threading.Barrier(8), []

        def contend(place=place, barrier=barrier, won=won):
            barrier.wait()
            if claim := cell_claims.take(place):
                won.append(claim)

        threads = [threading.Thread(target=contend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        won[0].release()


def _foreign(place, **changes):
    """A claim of an owner that differs from this process."""
    last = cell_claims.newest(place)
    number = 1 if last is None else cell_claims._number(last) + 1
    owner = dataclasses.replace(cell_claims.this_process(), **changes)
    path = place / f"claim-{number:06}.json"
    place.mkdir(exist_ok=True)
    path.write_text(json.dumps(dataclasses.asdict(owner)))
    return path


def test_a_number_that_another_process_has_now_is_no_life(tmp_path):
    _foreign(tmp_path, began="1")  # this process number, but begun long ago
    claim = cell_claims.take(tmp_path)
    assert claim.number == 2
    claim.release()


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"kernel": "another boot"}])
def test_an_owner_elsewhere_lives_as_long_as_it_beats(tmp_path, changes):
    path = _foreign(tmp_path, **changes)
    assert cell_claims.take(tmp_path) is None
    silent = os.stat(path).st_mtime - cell_claims.SILENCE_SECONDS - 5
    os.utime(path, (silent, silent))
    cell_claims.take(tmp_path).release()


def test_an_owner_elsewhere_that_holds_its_lock_lives_though_silent(tmp_path):
    path = _foreign(tmp_path, host="elsewhere")
    os.utime(path, (0, 0))
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert cell_claims.take(tmp_path) is None
    cell_claims.take(tmp_path).release()


def test_a_claim_that_cannot_be_read_is_judged_by_its_beat(tmp_path):
    path = tmp_path / "claim-000007.json"
    path.write_text("")
    assert cell_claims.take(tmp_path) is None
    os.utime(path, (0, 0))
    claim = cell_claims.take(tmp_path)
    assert claim.number == 8
    claim.release()


def test_beats_are_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(cell_claims, "BEAT_SECONDS", 0.01)
    claim = cell_claims.take(tmp_path)
    os.utime(claim.path, (0, 0))
    for _ in range(1000):
        if claim.path.stat().st_mtime > 0:
            break
        threading.Event().wait(0.01)
    assert cell_claims._silence(claim.path) < 60
    claim.release()


def test_who_was_taken_for_dead_notices(tmp_path):
    mine = cell_claims.take(tmp_path)
    mine.check()
    _foreign(tmp_path, host="elsewhere")
    with pytest.raises(cell_claims.Lost, match="took over"):
        mine.check()
    mine.release()
    again = cell_claims.newest(tmp_path)
    assert cell_claims.owner(again).host == "elsewhere"  # which is left alone


def test_the_directory_may_vanish(tmp_path):
    place = tmp_path / "cell"
    mine = cell_claims.take(place)
    os.rename(place, tmp_path / "removed")  # completed, and cleared away
    with pytest.raises(cell_claims.Lost):
        mine.check()
    mine.release()
