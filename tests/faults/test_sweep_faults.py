"""A sweep goes on where it was, and bears what fails."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

import jaxbern as jb
from experiments.sweep import cell_store, compiled_programs
from experiments.sweep.cell_training import DiskFull
from experiments.sweep.grid_filter import Filter
from experiments.sweep.sweep_run import Sweep
from tests.experiments.sweep_cases import (
    CELLS,
    EPOCHS,
    histories,
    noting,
    once,
    programs,
    seen,
    sweep,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIRST, SECOND = CELLS
FIRST_ONLY = Sweep("tiny", Filter(residual=False))


@pytest.fixture(autouse=True)
def interruptible():
    """A shell's background job ignores Ctrl-C; these tests need Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def test_killed_in_the_middle_it_goes_on_to_the_same_bits(
    whole, tmp_path, tmp_path_factory, log
):
    """A process of its own, killed in the third epoch of the second cell.

    It has the programs of the first sweep and compiles nothing.
    """
    script = f"""
import functools, sys
from pathlib import Path
from experiments.sweep import compiled_programs as compiled
from tests.experiments import sweep_cases as cases
killing = functools.partial(cases.Once, of=cases.CELLS[1], epoch=2,
    mark=Path({str(tmp_path / "mark")!r}), what=cases.kill_this_process)
noting = functools.partial(cases.Seen, log=Path({str(log)!r}))
with compiled.kept(Path({str(programs(tmp_path_factory))!r})):
    cases.sweep(Path({str(tmp_path / "store")!r}), callbacks=[noting, killing])
"""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    child = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment)
    assert child.returncode == -signal.SIGKILL
    done = [f"{FIRST.name} {epoch}" for epoch in range(EPOCHS)]
    begun = [f"{SECOND.name} {epoch}" for epoch in range(3)]
    assert seen(log) == done + begun
    reading = cell_store.read(tmp_path / "store")
    [result] = reading.results
    assert result.cell == FIRST
    assert result.about["compiled"] == 0
    assert result.about["loaded"] > 0
    [running] = reading.running
    assert running.name == SECOND.name
    assert "which has ended" in running.reason
    summary = sweep(tmp_path / "store", callbacks=[noting(log)])
    assert not summary.failed
    # At most the epoch that was running is trained again.
    rest = [f"{SECOND.name} {epoch}" for epoch in range(EPOCHS)]
    assert seen(log) in (done + begun + rest[3:], done + begun + rest[2:])
    assert histories(tmp_path / "store") == histories(whole)
    [second] = [
        r for r in cell_store.read(tmp_path / "store").results if r.cell == SECOND
    ]
    assert second.about["attempts"] == 2


def test_ctrl_c_ends_after_the_epoch_and_a_second_sweep_goes_on(
    whole, tmp_path, log, capsys
):
    root = tmp_path / "store"
    interrupt = once(tmp_path, _interrupt_the_main_thread)
    with pytest.raises(KeyboardInterrupt):
        sweep(root, callbacks=[noting(log), interrupt, _patient(tmp_path)])
    assert "again to stop at once" in capsys.readouterr().err
    assert seen(log) == [f"{FIRST.name} {epoch}" for epoch in (0, 1)]
    sweep(root, callbacks=[noting(log)])
    assert seen(log)[2:4] == [f"{FIRST.name} {epoch}" for epoch in (2, 3)]
    assert histories(root) == histories(whole)


def _interrupt_the_main_thread():
    """Given to the process, another thread may get it, and the main one a second later."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def _patient(tmp_path):
    """Wait in the epoch of the interrupt until the main thread has seen it."""

    class Patient(jb.train.Callback):
        def epoch(self, records):
            if (tmp_path / "mark").exists():
                time.sleep(0.5)

    return lambda cell: Patient()


def test_a_cell_that_fails_is_noted_and_stops_no_other(whole, tmp_path, log):
    root = tmp_path / "store"

    def fail():
        raise ValueError("this one does not work")

    summary = sweep(root, callbacks=[once(tmp_path, fail)])
    [failed] = summary.failed
    assert failed.cell == FIRST
    assert failed.kind == "failed"
    reading = cell_store.read(root)
    assert [result.cell for result in reading.results] == [SECOND]
    assert reading.failed == [(FIRST.name, "ValueError: this one does not work")]
    noted = json.loads((root / "failed" / f"{FIRST.name}.json").read_text())
    assert "in fail" in noted["traceback"]
    # The next sweep tries again, from the checkpoint.
    summary = sweep(root, callbacks=[noting(log)])
    assert not summary.failed
    assert seen(log)[0] in (f"{FIRST.name} 1", f"{FIRST.name} 2")
    assert not cell_store.read(root).failed
    assert histories(root) == histories(whole)


def test_numbers_that_are_not_finite_are_a_result_and_a_failure(tmp_path, log):
    wild = dataclasses.replace(FIRST_ONLY, training={"learning_rate": 1e38})
    summary = sweep(tmp_path / "store", wild)
    [failed] = summary.failed
    assert failed.kind == "nonfinite"
    assert "not finite for seed 0, 1" in failed.text
    [result] = cell_store.read(tmp_path / "store").results
    assert result.stops[0]["reason"] == "nonfinite"
    # It would be the same again: it is told, and not trained.
    summary = sweep(tmp_path / "store", wild, callbacks=[noting(log)])
    assert [each.kind for each in summary.failed] == ["nonfinite"]
    assert not seen(log)


def test_a_full_disk_ends_the_sweep_and_loses_nothing(whole, tmp_path):
    root = tmp_path / "store"

    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull, match=r"is full\. Completed cells are whole"):
        sweep(root, callbacks=[once(tmp_path, full, of=SECOND)])
    reading = cell_store.read(root, thorough=True)
    assert [result.cell for result in reading.results] == [FIRST]
    assert not reading.failed
    sweep(root)
    assert histories(root) == histories(whole)


def test_damaged_cells_are_set_aside_and_trained_again(whole, tmp_path, capsys):
    root = tmp_path / "store"
    sweep(root)
    path = root / "cells" / FIRST.name / "history.jsonl"
    path.write_text(path.read_text().replace("0.", "0.1", 1))
    summary = sweep(root)
    assert [each.name for each in summary.damaged] == [FIRST.name]
    said = capsys.readouterr().out
    assert f"{FIRST.name} is damaged: history.jsonl" in said
    aside = root / "damaged" / f"{FIRST.name}-1"
    assert "history.jsonl" in (aside / "reason.txt").read_text()
    assert (aside / "best-0.npz").exists()
    assert histories(root) == histories(whole)


def test_damaged_checkpoints_are_set_aside_and_the_cell_begun_anew(whole, tmp_path):
    root = tmp_path / "store"

    def stop():
        raise ValueError("enough")

    sweep(root, callbacks=[once(tmp_path, stop, epoch=2)])
    begun = root / "running" / FIRST.name / "training" / "checkpoints"
    for file in begun.rglob("*"):
        if file.is_file() and "state" in file.parts:
            file.write_bytes(b"spoiled")
    with pytest.warns(UserWarning, match="damaged checkpoint"):
        sweep(root)
    aside = root / "damaged" / "training-1"
    assert "no checkpoint" in (aside / "reason.txt").read_text()
    assert histories(root) == histories(whole)


def test_a_checkpoint_that_a_kill_cut_short_is_not_in_the_way(whole, tmp_path):
    root = tmp_path / "store"

    def stop():
        raise ValueError("enough")

    sweep(root, FIRST_ONLY, callbacks=[once(tmp_path, stop)])
    checkpoints = root / "running" / FIRST.name / "training" / "checkpoints"
    half = checkpoints / "4.orbax-checkpoint-tmp" / "state.orbax-checkpoint-tmp"
    half.mkdir(parents=True)
    (half / "part").touch()

    class Look(jb.train.Callback):
        def epoch(self, records):
            # The checkpoint of this epoch is on its way, that of the last is not.
            if records[0]["epoch"] == EPOCHS - 2:
                assert not half.exists()

    assert not sweep(root, FIRST_ONLY, callbacks=[lambda cell: Look()]).failed
    assert histories(root)[FIRST.name] == histories(whole)[FIRST.name]


def test_programs_cut_short_are_removed(tmp_path):
    content = zlib.compress(b"program" * 1000)
    whole, cut, young = (tmp_path / f"{name}-cache" for name in ("a", "b", "c"))
    whole.write_bytes(content)
    cut.write_bytes(content[:-3])
    young.write_bytes(content[:-3])
    for path in (whole, cut):
        os.utime(path, (0, 0))
    compiled_programs.remove_incomplete(tmp_path)
    assert sorted(tmp_path.iterdir()) == [whole, young]
