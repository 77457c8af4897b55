"""``python -m experiments sweep`` and ``plan``: options, what they print, exit status."""

import csv
import dataclasses
import errno
import os
import signal
from pathlib import Path

import jax
import pytest

from experiments.__main__ import main
from experiments.sweep import (
    cell_store,
    pace,
    plan_command,
    presets,
    sweep_command,
    sweep_local,
    sweep_run,
)
from experiments.sweep.cell_training import DiskFull, Outcome
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_progress import Progress
from tests.experiments import sweep_cases

CELLS = [Cell("higgs", True, 1, 2, name) for name in ("relu", "bernstein:3")]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    """The preset of tests for the command line, whose stores are in a fresh directory."""
    preset = dataclasses.replace(sweep_cases.TINY, cells=lambda: list(CELLS))
    monkeypatch.setitem(presets.PRESETS, "tiny", preset)
    monkeypatch.setattr(sweep_command, "_PRESETS", ("tiny",))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trained(monkeypatch):
    """No training: the outcomes are as told, cell by cell."""
    kinds = {}

    def instead(job, *, stop, watch, devices):
        kind = kinds.get(job.cell, "done")
        if isinstance(kind, BaseException):
            raise kind
        if callable(kind):
            return kind(job, stop)
        return Outcome(job.cell, kind, "as told", trained=True)

    monkeypatch.setattr(sweep_local, "train", instead)
    return kinds


def test_all_went_well(trained, capsys):
    assert main(["sweep", "--preset", "tiny"]) == 0
    said = capsys.readouterr().out.splitlines()
    names = [line.split()[1] for line in said if line.startswith("[")]
    assert names == [f"{cell.name}:" for cell in CELLS]
    assert said[-1].startswith("2 of 2 cells completed, in ")
    assert cell_store.asked(Path("results/sweep")) == sorted(c.name for c in CELLS)


def test_a_failure_shows_in_the_status(trained, capsys):
    trained[CELLS[0]] = "failed"
    assert main(["sweep", "--preset", "tiny"]) == 1
    said = capsys.readouterr().out
    assert f"{CELLS[0].name}: FAILED as told" in said
    assert "1 of 2 cells completed" in said
    assert "1 cells failed" in said


def test_ctrl_c_says_how_to_go_on(trained, capsys):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(job, stop):
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)
        return Outcome(job.cell, "stopped")

    trained[CELLS[0]] = interrupted
    try:
        assert main(["sweep", "--preset", "tiny", "--rows", "100"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert "python -m experiments sweep --preset tiny --rows 100" in said


def test_a_request_to_terminate_acts_like_ctrl_c(trained, capsys):
    def terminated(job, stop):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(10)
        return Outcome(job.cell, "stopped")

    trained[CELLS[0]] = terminated
    assert main(["sweep", "--preset", "tiny"]) == 130
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_full_disk_says_so(trained, capsys):
    trained[CELLS[1]] = DiskFull("the disk is full")
    assert main(["sweep", "--preset", "tiny"]) == 3
    said = capsys.readouterr().err
    assert "the disk is full" in said
    assert "python -m experiments sweep --preset tiny" in said


def test_a_disk_that_is_full_from_the_start_says_so(trained, capsys, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cell_store, "ask", full)
    assert main(["sweep", "--preset", "tiny"]) == 3
    assert "is full" in capsys.readouterr().err


def test_a_store_of_other_settings_says_so(trained, capsys):
    assert main(["sweep", "--preset", "tiny"]) == 0
    assert main(["sweep", "--preset", "tiny", "--epochs", "7"]) == 2
    said = capsys.readouterr().err
    assert "training.epochs: 4 there, 7 here" in said
    assert "--store" in said
    assert main(["sweep", "--preset", "tiny", "--epochs", "7", "--store", "b"]) == 0


@pytest.mark.parametrize(
    "words, message",
    [
        ("--shard 3/2", "such as 3/16"),
        ("--shard 0/2", "from 1 to N"),
        ("--epochs 0", "at least 1"),
        ("--activation tanh", "there is no 'tanh'"),
        ("--depth 7", "no cell fits --depth 7"),
        ("--data nowhere", "'nowhere', which does not exist"),
        ("--batch-size 1000", "batch_size must be at most 96"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_once(words, message, capsys, trained):
    try:
        status = main(["sweep", "--preset", "tiny", *words.split()])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert not Path("results/sweep/sweeps").exists()


def test_shards_are_parts(trained, capsys):
    for index in (1, 2):
        assert main(["sweep", "--preset", "tiny", "--shard", f"{index}/2"]) == 0
    assert main(["sweep", "--preset", "tiny", "--shard", "3/3"]) == 0  # nothing left
    said = capsys.readouterr().out
    assert said.count("1 of 1 cells completed") == 2
    assert said.count("0 of 0 cells completed") == 1
    assert all(f"{cell.name}:" in said for cell in CELLS)


def test_cells_at_a_time(monkeypatch):
    assert sweep_local.default_at_once(1) == 1
    assert sweep_local.default_at_once(1000) == os.cpu_count()

    class Card:
        platform = "gpu"

    monkeypatch.setattr(jax, "local_devices", lambda: [Card(), Card(), Card()])
    assert sweep_local.default_at_once(1) == 3


def test_time_left_is_in_proportion(capsys, monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    clock = [100.0]
    cells = [CELLS[0], CELLS[1], Cell("susy", True, 5, 16, "relu")]
    progress = Progress(dict(zip(cells, (1.0, 2.0, 3.0), strict=True)), 4, live=False)
    with progress:
        clock[0] = 110.0
        progress.outcome(Outcome(cells[0], "done", "x", trained=True))
        progress.outcome(Outcome(cells[1], "busy"))
        progress.outcome(Outcome(cells[1], "done", "x"))  # another process trained it
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("[50 s left]")  # 10 s for a cost of 1, and 5 are left
    assert lines[1].endswith("x (found)  [30 s left]")


def test_time_left_counts_the_rows_of_each_data_set(trained, monkeypatch):
    followed = {}

    class Followed(Progress):
        def __init__(self, costs, *arguments, **options):
            followed.update(costs)
            super().__init__(costs, *arguments, **options)

    monkeypatch.setattr(sweep_run, "Progress", Followed)
    costs = []
    for rows in "1000", "5000":
        store = ["--store", f"store-{rows}"]
        assert main(["sweep", "--preset", "tiny", "--rows", rows, *store]) == 0
        costs.append(dict(followed))
    few, many = costs
    assert all(many[cell] > few[cell] for cell in CELLS)


def test_bars_follow_and_go(capsys):
    progress = Progress({CELLS[0]: 1.0, CELLS[1]: 1.0}, 4, live=True)
    with progress:
        progress.found([])
        progress.epoch(CELLS[0], 2, 0.75)
        progress.outcome(Outcome(CELLS[0], "done", "AUC 0.75", trained=True))
        progress.outcome(Outcome(CELLS[1], "failed", "ValueError: no"))
    said = capsys.readouterr().err
    assert f"[1/2] {CELLS[0].name}: AUC 0.75" in said
    assert f"[2/2] {CELLS[1].name}: FAILED ValueError: no" in said


def test_plan_counts_measures_and_scales(monkeypatch, capsys):
    measured = []

    def measure(config):
        measured.append(config)
        return pace.Pace(0.5, 3.0, measured=True)

    monkeypatch.setattr(pace, "measure", measure)
    assert main(["plan", "--preset", "tiny", "--measure", "0"]) == 0
    said = capsys.readouterr().out
    assert (
        "2 cells, 4 trainings of at most 4 epochs, batch 48; events: higgs 120" in said
    )
    assert len(measured) == 1
    rows = list(csv.DictReader(Path("results/plan/plan.csv").read_text().splitlines()))
    first, second = rows
    assert first["cell"] == CELLS[0].name
    # 28 x 2 weights, 2 biases; 2 x 2 weights, 2 biases; for n = 3, 2 x 4 coefficients.
    assert (first["parameters"], second["parameters"]) == ("64", "72")
    # 96 rows are 2 steps of 48, for 4 epochs, and 3 s to begin with.
    assert float(first["seconds"]) == 3 + 4 * 2 * 0.5
    assert first["measured"] == "True"
    assert second["measured"] == "False"
    assert float(second["seconds"]) > float(first["seconds"])


def test_plan_knows_no_such_card(capsys):
    assert main(["plan", "--preset", "tiny", "--card", "voodoo"]) == 2
    assert "target must be one of a30" in capsys.readouterr().err


def test_plan_prints_the_memory_of_a_card(monkeypatch, capsys):
    monkeypatch.setattr(pace, "measure", lambda config: pace.Pace(0.1, 1.0, True))
    monkeypatch.setattr(
        plan_command, "on_card", lambda name: lambda c, n: (3 * 2**30, 7.0)
    )
    assert main(["plan", "--preset", "tiny", "--card", "a30"]) == 0
    said = capsys.readouterr().out
    assert "a30 GiB" in said
    assert said.count("     3.00       7 s") == len(CELLS)
    assert "0 of them need more than the 24 GiB" in said


def test_help_names_the_presets(capsys):
    for name in ("sweep", "plan"):
        with pytest.raises(SystemExit) as stopped:
            main([name, "--help"])
        assert stopped.value.code == 0
        assert "--preset" in capsys.readouterr().out
