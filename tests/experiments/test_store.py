"""A store of completed cells: all or nothing, and every change is noticed."""

import json
import os
import random
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from experiments.sweep import cell_record, cell_store
from experiments.sweep.cell_record import COLUMNS
from experiments.sweep.grid import Cell
from tests.experiments.sweep_cases import CELLS, made_up

CELL = CELLS[0]


@pytest.fixture(scope="module")
def model():
    """Of random numbers that NumPy draws: nothing needs to be compiled."""
    shapes = nnx.eval_shape(lambda: jb.MLP.from_config(CELL.network, rngs=nnx.Rngs(0)))
    random = np.random.default_rng(0)
    graph, state = nnx.split(shapes)
    draw = jax.tree.map(lambda a: random.random(a.shape, np.float32), state)
    return nnx.merge(graph, draw)


@pytest.fixture
def written(tmp_path, model):
    """A store with a cell that has networks."""
    cell_store.write(tmp_path, made_up(source="x"), {0: model, 1: model})
    return tmp_path


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_what_was_written_is_read(tmp_path):
    result = made_up(about={"versions": {"jax": "1"}}, compile_seconds=1.5)
    result.history[1]["saturation"][:] = [np.nan, np.inf, -np.inf]
    result.history[0] = {name: np.array([]) for name in COLUMNS}  # failed at once
    result.stops[0] |= {"reason": "nonfinite", "step": 3, "last_loss": float("nan")}
    place = cell_store.write(tmp_path, result)
    assert place == tmp_path / "cells" / CELL.name
    [found] = cell_store.read(tmp_path).results
    assert found.cell == CELL
    assert found.about == result.about
    assert found.stops[1] == result.stops[1]
    assert np.isnan(found.stops[0].pop("last_loss"))
    assert found.stops[0] == {"reason": "nonfinite", "epoch": 2, "step": 3}
    for seed, columns in result.history.items():
        for name, column in columns.items():
            np.testing.assert_array_equal(found.history[seed][name], column)


def test_networks_can_be_loaded(written, model):
    loaded = jb.MLP.load(written / "cells" / CELL.name / "best-1.npz")
    assert loaded.config == CELL.network
    jax.tree.map(np.testing.assert_array_equal, nnx.state(loaded), nnx.state(model))


def test_files_are_for_people_too(written):
    folder = written / "cells" / CELL.name
    summary = json.loads((folder / "summary.json").read_text())
    [result] = cell_store.read(written).results
    auc = result.history[1]["auc"]
    assert summary["1"]["best_auc"] == auc.max()
    assert summary["1"]["best_epoch"] == auc.argmax()
    assert summary["1"]["stop"]["reason"] == "finished"
    lines = (folder / "history.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["seed"] == 1
    assert json.loads((folder / "cell.json").read_text())["about"] == {"source": "x"}


def test_a_changed_byte_is_noticed_wherever_it_is(written):
    chance = random.Random(1)
    for path in sorted((written / "cells" / CELL.name).iterdir()):
        content = path.read_bytes()
        for _ in range(20):
            changed = bytearray(content)
            changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            reading = cell_store.read(written, thorough=True)
            # A space that becomes another in the list of files changes nothing it says.
            blank = path.name == "manifest.json" and _same_json(content, changed)
            assert blank or [each.name for each in reading.damaged] == [CELL.name]
        path.write_bytes(content)
    assert not cell_store.read(written, thorough=True).damaged


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


@pytest.mark.parametrize(
    "spoil, reason",
    [
        (
            lambda folder: (folder / "history.jsonl").unlink(),
            "history.jsonl is missing",
        ),
        (lambda folder: (folder / "best-0.npz").unlink(), "best-0.npz is missing"),
        (lambda folder: (folder / "best-0.npz").write_bytes(b""), "has 0 bytes"),
        (
            lambda folder: (folder / "manifest.json").unlink(),
            "manifest.json is missing",
        ),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "understood"),
        (lambda folder: shutil.move(folder, folder.with_name("another")), "holds the"),
    ],
)
def test_damage_is_told_and_left_alone(written, spoil, reason):
    spoil(written / "cells" / CELL.name)
    before = files(written)
    reading = cell_store.read(written)  # no need to be thorough for these
    assert not reading.results
    [damaged] = reading.damaged
    assert reason in damaged.reason
    assert files(written) == before


def test_a_cell_of_another_format_is_not_believed(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(cell_record, "FORMAT", 2)
        cell_store.write(tmp_path, made_up())
    assert "format 2" in cell_store.read(tmp_path).damaged[0].reason


def test_a_completed_cell_is_not_replaced(written):
    before = files(written)
    with pytest.raises(FileExistsError, match="completed already"):
        cell_store.write(written, made_up(source="another"))
    assert files(written) == before


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cell_record, "_to_disk", full)
    with pytest.raises(OSError, match="No space"):
        cell_store.write(tmp_path, made_up())
    assert files(tmp_path) == {}
    assert cell_store.read(tmp_path).results == []


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda r: r.history[0].pop("auc"), "must have the columns"),
        (lambda r: r.history.pop(1), "of the same seeds"),
        (lambda r: r.stops[0].pop("step"), "the stop of seed 0"),
        (lambda r: r.history[0].update(auc=np.ones(9)), "one length"),
    ],
)
def test_what_no_reader_expects_is_refused(tmp_path, change, message):
    result = made_up()
    change(result)
    with pytest.raises(ValueError, match=message):
        cell_store.write(tmp_path, result)
    assert files(tmp_path) == {}


def test_cells_without_a_result(written):
    cells = [Cell("susy", True, 5, 16, name) for name in ("relu", "gelu", "selu")]
    failed, begun, missing = cells
    cell_store.ask(written, [CELL, *cells], {"preset": "x"})
    cell_store.write_failure(written, failed, {"error": "ValueError: no"})
    (written / "running" / begun.name).mkdir(parents=True)
    (written / "running" / failed.name).mkdir(parents=True)
    (written / "cells" / ".half-written").mkdir()
    before = files(written)
    reading = cell_store.read(written)
    assert [result.cell for result in reading.results] == [CELL]
    assert reading.failed == [(failed.name, "ValueError: no")]
    assert reading.running == [(begun.name, "begun; nobody has it now")]
    assert reading.missing == [(missing.name, "not begun")]
    assert not reading.damaged
    assert files(written) == before


def test_results_come_in_the_order_of_cells(tmp_path):
    for depth in (100, 5, 50):
        cell_store.write(tmp_path, made_up(Cell("higgs", True, depth, 16, "relu")))
    depths = [result.cell.depth for result in cell_store.read(tmp_path).results]
    assert depths == [5, 50, 100]


def test_no_store_at_all(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m experiments sweep"):
        cell_store.read(tmp_path / "nowhere")


def test_what_killed_processes_left_is_removed_when_it_is_old(written):
    old, young = written / "cells" / ".old.1", written / "cells" / ".young.1"
    for path in (old, young):
        path.mkdir()
    os.utime(old, (0, 0))
    cell_store.remove_remains(written)
    assert not old.exists()
    assert young.exists()
    assert len(cell_store.read(written).results) == 1
