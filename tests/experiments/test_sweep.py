"""A sweep trains what is missing, alone or beside another, and nothing else."""

import dataclasses
import itertools
import threading

import numpy as np
import pytest

import jaxbern as jb
from experiments.sweep import cell_store, compiled_programs
from experiments.sweep.grid_filter import Filter
from experiments.sweep.sweep_run import Sweep
from experiments.sweep.sweep_settings import OtherSettings
from tests.experiments.sweep_cases import (
    CELLS,
    EPOCHS,
    SWEEP,
    histories,
    noting,
    once,
    seen,
    sweep,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def test_cells_are_what_the_trainings_are(whole):
    reading = cell_store.read(whole)
    assert {result.cell for result in reading.results} == set(CELLS)
    data = jb.data.load("collider:higgs", rows=120)
    for result in reading.results:
        expected = jb.train.fit(SWEEP.config(result.cell), data)
        for seed, columns in expected.history.items():
            for name in columns.keys() - {"seconds"}:
                np.testing.assert_array_equal(result.history[seed][name], columns[name])
        stops = {k: dataclasses.asdict(stop) for k, stop in expected.stops.items()}
        assert result.stops == stops
        network = jb.MLP.load(whole / "cells" / result.cell.name / "best-1.npz")
        best = expected.model(1)
        np.testing.assert_array_equal(network.last.kernel[...], best.last.kernel[...])


def test_a_cell_says_what_it_hangs_on(whole):
    for result in cell_store.read(whole).results:
        about = result.about
        assert about["config"] == SWEEP.config(result.cell).to_dict()
        assert about["source"] == "collider:higgs"
        assert about["events"] == 120
        data = jb.data.load("collider:higgs", rows=120)
        assert about["fingerprint"] == data.fingerprint
        assert about["environment"]["jaxbern"] == jb.__version__
        assert about["environment"]["platform"] == "cpu"
        assert about["compile_seconds"] > 0
        assert about["attempts"] == 1
    left = [path.name for path in whole.rglob("*") if "claim" in path.name]
    assert not left
    assert not list((whole / "running").iterdir())


def test_a_second_sweep_trains_and_compiles_nothing(whole, log):
    before = histories(whole)
    with compiled_programs.counted() as count:
        summary = sweep(whole, callbacks=[noting(log)])
    assert len(summary.outcomes) == len(CELLS)
    assert not seen(log)
    assert count.programs == 0
    assert histories(whole) == before


def test_a_cell_of_the_same_shape_compiles_nothing(whole, tmp_path, monkeypatch):
    """Other seeds, other events, another rate: the programs are there already."""
    # Of all cells of these tests this is not the one after which programs are released.
    monkeypatch.setattr(compiled_programs, "_cells", itertools.count(1))
    other = Sweep(
        "tiny",
        Filter(residual=True),
        training={"seeds": (5, 6), "learning_rate": 0.1, "epochs": 2},
    )
    assert not sweep(tmp_path, other).failed
    [result] = cell_store.read(tmp_path).results
    assert result.about["compiled"] == result.about["loaded"] == 0


@pytest.mark.parametrize(
    "other, difference",
    [
        ({"training": {"epochs": 9}}, "training.epochs: 4 there, 9 here"),
        ({"training": {"batch_size": 24}}, "training.batch_size: 48 there, 24 here"),
        ({"rows": 150}, "higgs.events: 120 there, 150 here"),
    ],
)
def test_a_store_of_other_settings_is_refused(whole, other, difference):
    with pytest.raises(OtherSettings, match=difference):
        sweep(whole, dataclasses.replace(SWEEP, **other))


def test_cells_of_other_options_are_refused(whole, monkeypatch):
    """As after a change of the network's defaults, which no settings tell of."""
    config = Sweep.config

    def changed(self, cell):
        found = config(self, cell)
        return dataclasses.replace(
            found, network=dataclasses.replace(found.network, momentum=0.5)
        )

    monkeypatch.setattr(Sweep, "config", changed)
    with pytest.raises(OtherSettings, match=r"network.momentum: 0.9 there, 0.5 here"):
        sweep(whole)


def test_two_sweeps_at_once_share_the_cells(whole, tmp_path, log):
    """The first begins a cell; the second trains the other one, then waits for it."""
    root, begun, other_done = tmp_path / "store", threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert other_done.wait(60)

    first = threading.Thread(
        target=sweep,
        args=(root,),
        kwargs={"callbacks": [noting(log), once(tmp_path, wait)]},
    )
    first.start()
    assert begun.wait(60)

    class Tell(jb.train.Callback):
        def end(self, result):
            other_done.set()

    summary = sweep(root, callbacks=[noting(log), lambda cell: Tell()])
    first.join()
    assert {each.cell for each in summary.outcomes} == set(CELLS)
    assert not summary.failed
    assert sorted(seen(log)) == sorted(
        f"{cell.name} {epoch}" for cell in CELLS for epoch in range(EPOCHS)
    )
    assert histories(root) == histories(whole)


def test_cells_at_a_time_are_the_same_as_one_after_another(whole, tmp_path):
    """In processes with one thread each, beside which other checkpoints are written."""
    longer = dataclasses.replace(SWEEP, training={"epochs": 12})
    assert not sweep(tmp_path, longer, at_once=2).failed
    data = jb.data.load("collider:higgs", rows=120)
    for result in cell_store.read(tmp_path).results:
        expected = jb.train.fit(longer.config(result.cell), data).history
        for seed in expected:
            np.testing.assert_array_equal(
                result.history[seed]["train_loss"], expected[seed]["train_loss"]
            )


def test_shards_complete_a_store_together(whole, tmp_path):
    root = tmp_path / "store"
    for index in (1, 2):
        sweep(root, dataclasses.replace(SWEEP, shard=(index, 2)))
        assert len(cell_store.read(root).results) == index
    assert histories(root) == histories(whole)
