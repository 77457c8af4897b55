"""What is compiled and called: one program, one call per epoch and seed; data on the host."""

import collections
import time

import jax
import numpy as np
import pytest
from jax.profiler import ProfileData

import jaxbern as jb
from jaxbern.train import _engine
from jaxbern.train._config import checked_split
from tests.train.train_cases import IMPATIENT, changed, compilations, events

DATA = events()
# Two pieces of data on the device at a time, each of a batch for each of three seeds.
ONE_BATCH = 2 * 3 * IMPATIENT.batch_size * (4 * 3 + 1)


@pytest.fixture(scope="module")
def result():
    return jb.train.fit(IMPATIENT, DATA)


def calls(directory) -> int:
    """How many programs were executed, by the profiler's record."""
    [file] = directory.rglob("*.xplane.pb")
    names = collections.Counter(
        event.name
        for plane in ProfileData.from_file(str(file)).planes
        for line in plane.lines
        for event in line.events
    )
    return names["CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"]


@pytest.mark.slow
def test_another_cell_compiles_nothing_and_calls_a_program_per_epoch_and_seed(
    result, tmp_path
):
    """Other seeds, data, learning rate and decay are arguments of the same program."""
    cell = changed(seeds=(5, 6, 7), learning_rate=0.01, weight_decay=0.0, epochs=5)
    data = events(seed=1)
    with compilations() as found, jax.profiler.trace(str(tmp_path)):
        other = jb.train.fit(cell, data)
    assert found == []
    epochs = max(len(columns["auc"]) for columns in other.history.values())
    # Before the first epoch one call made the parameters, three took a key for each seed.
    assert calls(tmp_path) == 3 * epochs + 1 + 3
    assert other.history[5]["learning_rate"][0] == np.float32(0.01)


@pytest.mark.slow
def test_data_on_the_host_give_the_same_history(result):
    streamed = jb.train.fit(IMPATIENT, DATA, device_bytes=ONE_BATCH)
    for seed, columns in result.history.items():
        for name in ("train_loss", "validation_loss", "auc", "learning_rate"):
            np.testing.assert_allclose(
                streamed.history[seed][name], columns[name], rtol=1e-4, err_msg=name
            )


def test_the_next_piece_is_on_its_way_while_one_is_used():
    class Recorder:
        sizes = ()

        def __getitem__(self, part):
            self.sizes += (part.shape,)
            return DATA.x[part]

    split = checked_split(IMPATIENT, DATA)
    _, engine = _engine.engine(IMPATIENT, DATA, split, device_bytes=ONE_BATCH)
    engine._x = recorder = Recorder()
    pieces = engine._pieces(split.test, engine._test_rows)
    first = next(pieces)
    np.testing.assert_array_equal(first.x, DATA.x[split.test[:, :48]])
    deadline = time.monotonic() + 30
    while len(recorder.sizes) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert recorder.sizes == ((3, 48), (3, 32))
    np.testing.assert_array_equal(next(pieces).y, DATA.y[split.test[:, 48:]])
    assert list(pieces) == []
    assert engine._train_rows == IMPATIENT.batch_size


def test_as_much_as_fits_stays_on_the_device():
    split = checked_split(IMPATIENT, DATA)
    needed = sum(a.nbytes for a in (DATA.x, DATA.y, *jax.tree.leaves(split)))
    for spare, expected in ((0, "SideBySide"), (-1, "Streamed")):
        _, engine = _engine.engine(IMPATIENT, DATA, split, device_bytes=needed + spare)
        assert type(engine).__name__ == expected
