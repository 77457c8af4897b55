"""One bad cell ends neither a report nor a sweep, and no command line ends in a traceback."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.report import report_build
from experiments.sweep import cell_record, cell_store, grid
from experiments.sweep.grid import Cell
from tests.experiments.report_stores import trained

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GOOD = Cell("higgs", True, 5, 16, "relu")
BAD = Cell("higgs", True, 5, 16, "gelu")


def put(*keys, to):
    """Change an entry of ``cell.json``."""

    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return change


SPOILED = {
    "unknown data set": put("cell", "dataset", to="lhc"),
    "degree x": put("cell", "activation", to="bernstein:x"),
    "negative degree": put("cell", "activation", to="bernstein:-3"),
    "huge degree": put("cell", "activation", to="bernstein:1000000"),
    "unknown activation": put("cell", "activation", to="tanh"),
    "activation a number": put("cell", "activation", to=5),
    "depth a text": put("cell", "depth", to="5"),
    "depth zero": put("cell", "depth", to=0),
    "width a list": put("cell", "width", to=[16]),
    "width true": put("cell", "width", to=True),
    "residual a text": put("cell", "residual", to="no"),
    "about a list": put("about", to=[1]),
    "config a list": put("about", "config", to=[1]),
    "events a text": put("about", "events", to="many"),
    "events negative": put("about", "events", to=-1),
    "environment a number": put("about", "environment", to=5),
    "fingerprint a list": put("about", "fingerprint", to=["a"]),
    "epochs a text": put("about", "config", "epochs", to="many"),
    "batch size a list": put("about", "config", "batch_size", to=[1]),
    "fraction a text": put("about", "config", "test_fraction", to="a"),
    "fraction NaN": put("about", "config", "test_fraction", to=float("nan")),
    "unknown reason": put("stops", "0", "reason", to="bored"),
    "reason a list": put("stops", "0", "reason", to=["early"]),
    "stops a list": put("stops", to=[]),
    "loss a list": put("stops", "0", "last_loss", to=[0.5]),
    "epoch a text": put("stops", "0", "epoch", to="last"),
}


def spoil(folder: Path, change) -> None:
    """Change what a cell says, with checksums that agree: another program wrote it."""
    content = json.loads((folder / "cell.json").read_text())
    change(content)
    (folder / "cell.json").write_text(json.dumps(content))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["cell.json"] = cell_record._listed(
        (folder / "cell.json").read_bytes()
    )
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def store(tmp_path):
    root = tmp_path / "store"
    for cell in (GOOD, BAD):
        cell_store.write(root, trained(cell, [0.7] * 3, [0.6] * 3))
    return root


@pytest.fixture
def undrawn(monkeypatch):
    """Figures take seconds, and bad cells are none of their business."""
    from experiments.report import report_contents

    monkeypatch.setattr(report_contents, "draw", lambda *arguments: [])


@pytest.mark.parametrize("what", SPOILED)
def test_a_bad_cell_is_set_aside(what, store):
    spoil(store / "cells" / BAD.name, SPOILED[what])
    reading = cell_store.read(store, thorough=True)
    assert [result.cell for result in reading.results] == [GOOD]
    [(name, reason)] = reading.damaged
    assert name == BAD.name
    assert len(reason) > 15


def test_a_report_names_every_bad_cell(store, tmp_path, undrawn):
    cells = [cell for cell in grid.paper() if cell not in (GOOD, BAD)]
    cells = cells[: len(SPOILED)]
    for cell, change in zip(cells, SPOILED.values(), strict=True):
        cell_store.write(store, trained(cell, [0.7] * 3, [0.6] * 3))
        spoil(store / "cells" / cell.name, change)
    page = report_build.run(store, tmp_path / "report")
    text = page.with_name("report.md").read_text().replace("\\", "")
    for cell in cells:
        assert f"{cell.name} is damaged" in text
        assert cell.name in page.read_text()


def test_names_that_are_no_text(store, tmp_path, undrawn, capsys):
    odd = os.fsdecode(b"caf\xe9\xff")
    (store / "cells" / odd).mkdir()
    (store / "running" / f"{odd}2").mkdir(parents=True)
    (store / "failed").mkdir()
    (store / "failed" / f"{odd}3.json").write_text('{"error": "\\ud800 <script>"}')
    (store / "sweeps").mkdir()
    names = json.dumps({"cells": [BAD.name, 7, None, "\ud800odd"]})
    (store / "sweeps" / "a.json").write_text(names)
    (store / "sweeps" / "b.json").write_text('{"cells": "letters"}')
    assert main(["report", "--store", str(store), "--out", str(tmp_path / "r")]) == 0
    text = (tmp_path / "r" / "report.md").read_text()
    assert "caf" in text
    assert "udce9" in text
    assert "<script>" not in text
    assert "letters" not in cell_store.asked(store)


def test_markdown_is_escaped(store, tmp_path, undrawn):
    evil = "<script>alert(1)</script> [x](http://evil) `a` | b\n# head\n![i](y)"
    odd = Cell("higgs", True, 5, 32, "relu")
    result = trained(odd, [0.7] * 3, [0.6] * 3)
    result.about.update(source=evil, fingerprint=evil, environment={evil: evil})
    cell_store.write(store, result)
    (store / "failed").mkdir()
    (store / "failed" / "x.json").write_text(json.dumps({"error": evil}))
    report_build.run(store, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text()
    assert "alert(1)" in text
    for raw in ("<script", "[x](", "`a`", "\n# head", "![i]"):
        assert raw not in text, raw


def run_main(arguments, capsys) -> tuple[int, str]:
    status = main([str(argument) for argument in arguments])
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.strip()
    return status, said


def test_a_file_in_the_place_of_a_store(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("not a store")
    arguments = ["sweep", "--rows", "200", "--batch-size", "50", "--store", file]
    status, said = run_main(arguments, capsys)
    assert status == 2
    assert str(file) in said
    status, said = run_main(["report", "--store", file], capsys)
    assert status == 1
    assert str(file) in said
    assert file.read_text() == "not a store"


def test_a_store_that_may_only_be_read(tmp_path, capsys, monkeypatch):
    """By a stand-in: who runs the tests may be allowed everything."""

    def refused(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "s"))

    monkeypatch.setattr(cell_store, "ask", refused)
    arguments = ["--rows", "200", "--batch-size", "50", "--store", tmp_path / "s"]
    status, said = run_main(["sweep", *arguments], capsys)
    assert status == 2
    assert "Permission denied" in said
    assert str(tmp_path / "s") in said


def test_a_report_to_a_file(store, tmp_path, capsys, undrawn):
    file = tmp_path / "file"
    file.write_text("mine")
    status, said = run_main(["report", "--store", store, "--out", file], capsys)
    assert status == 1
    assert str(file) in said
    assert file.read_text() == "mine"


def test_a_disk_that_fills_during_the_report(
    store, tmp_path, capsys, undrawn, monkeypatch
):
    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(report_build, "_write", full)
    arguments = ["report", "--store", store, "--out", tmp_path / "r"]
    status, said = run_main(arguments, capsys)
    assert status == 3
    assert "No space left on device" in said


def test_too_few_rows_to_advise_a_batch(tmp_path, capsys):
    arguments = ["sweep", "--rows", "1", "--store", tmp_path / "s"]
    status, said = run_main(arguments, capsys)
    assert status == 2
    assert "--batch-size 0" not in said
    assert "--rows" in said


@pytest.mark.parametrize(
    "command", [["jaxbern", "doctor"], ["experiments", "report", "--help"]]
)
def test_output_that_nobody_reads(command):
    """As in ``doctor | head -1``."""
    arguments = [sys.executable, "-m", *command]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    read, write = os.pipe()
    os.close(read)
    child = subprocess.run(
        arguments, cwd=ROOT, env=environment, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    said = child.stderr.decode()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def ctrl_c_while_jax_is_imported(arguments, folder):
    """The exit status and what was said, when Ctrl-C comes as JAX is imported."""
    blocker = folder / "jax.py"  # stands in for the real one, and takes its time
    mark = folder / "mark"
    blocker.write_text(f"open({str(mark)!r}, 'w')\nimport time\ntime.sleep(60)\n")
    # A test runner in the background may have SIGINT ignored, which children inherit.
    start = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", start, *arguments], cwd=folder, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    return child.returncode, said


def test_ctrl_c_while_modules_are_imported(tmp_path):
    """JAX takes seconds; whoever stops then has typed the wrong command."""
    arguments = ["-m", "experiments", "sweep"]
    status, said = ctrl_c_while_jax_is_imported(arguments, tmp_path)
    assert status == 130
    assert b"Traceback" not in said


def test_ctrl_c_while_the_doctor_is_imported(tmp_path):
    """The package imports JAX before its command can run."""
    arguments = ["-m", "jaxbern", "doctor"]
    status, said = ctrl_c_while_jax_is_imported(arguments, tmp_path)
    assert status == -signal.SIGINT
    assert said == b""


def test_ctrl_c_in_a_program_that_imports_jaxbern_is_its_own(tmp_path):
    status, said = ctrl_c_while_jax_is_imported(["-c", "import jaxbern"], tmp_path)
    assert status == -signal.SIGINT
    assert said.endswith(b"KeyboardInterrupt\n")
