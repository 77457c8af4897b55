"""Seeds on the cores of a CPU: the same bits, at the same time, within the memory."""

import threading

import jax
import numpy as np
import pytest

import jaxbern as jb
from jaxbern.train import _engine, _resident
from jaxbern.train._config import checked_split
from jaxbern.train._learner import Rules
from tests.train.train_cases import IMPATIENT, changed, compilations, events

DATA = events()


def side_by_side(config=IMPATIENT):
    """Return the initial state and the engine that ``fit`` uses on one CPU."""
    state, engine = _engine.engine(
        config, DATA, checked_split(config, DATA), devices=jax.local_devices()[:1]
    )
    assert isinstance(engine, _resident.SideBySide)
    return state, engine


def test_values_are_those_of_one_program_of_all_seeds():
    state, engine = side_by_side()
    first = engine._seeds[0]
    split = checked_split(IMPATIENT, DATA)
    data = first._data._replace(split=split, keys=engine.keys)
    together = _resident.Resident(data, **first._options)
    apart, whole = state, jax.tree.map(lambda a: a.copy(), state)
    for epoch in range(2):
        apart, ours = engine.run(apart, epoch)
        whole, theirs = together.run(whole, epoch)
        for got, wanted in zip(
            jax.tree.leaves((apart, ours)),
            jax.tree.leaves((whole, theirs)),
            strict=True,
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_the_state_that_was_given_is_not_overwritten():
    """XLA may reuse donated buffers, and NumPy's arrays can be such buffers."""
    state, engine = side_by_side()
    state, _ = engine.run(state, 0)
    before = jax.tree.map(np.copy, state)
    engine.run(state, 1)
    jax.tree.map(np.testing.assert_array_equal, state, before)


class Counting:
    """Counts how many calls of ``Resident.run`` are under way at the same time."""

    def __init__(self, monkeypatch, wanted: int):
        self.most, self._now, self._lock = 0, 0, threading.Lock()
        self._met = threading.Event()
        run = _resident.Resident.run

        def counted(*arguments):
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
                if self._now == wanted:
                    self._met.set()
            self._met.wait(0.2 if wanted == 1 else 30)
            try:
                return run(*arguments)
            finally:
                with self._lock:
                    self._now -= 1

        monkeypatch.setattr(_resident.Resident, "run", counted)


def test_all_seeds_train_at_the_same_time(monkeypatch):
    state, engine = side_by_side()
    counting = Counting(monkeypatch, wanted=3)
    engine.run(state, 0)
    assert counting.most == 3


@pytest.mark.parametrize("fit, most", [(0, 1), (1, 1), (2, 2), (5, 3)])
def test_as_many_as_half_of_the_memory_holds(monkeypatch, fit, most):
    state, engine = side_by_side()
    needed = engine.compile(state).memory_analysis().temp_size_in_bytes
    assert needed > 0
    monkeypatch.setattr(_resident, "_memory", lambda: 2 * fit * needed)
    counting = Counting(monkeypatch, wanted=most)
    engine.run(state, 0)
    assert counting.most == most


def test_no_thread_compiles_so_the_settings_of_the_caller_apply():
    """Such a setting belongs to a thread, and makes JAX compile anew."""
    state, engine = side_by_side(changed(batch_size=61))  # compiled by no other test
    with compilations() as compiled_in, jax.default_matmul_precision("float32"):
        engine.run(state, 0)
    assert set(compiled_in) == {threading.current_thread()}


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    state, engine = side_by_side()
    monkeypatch.setattr(engine._seeds[1], "run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.run(state, 0)


def test_every_seed_gets_the_bits_that_it_gets_alone():
    """Also after others have stopped."""
    together = jb.train.fit(IMPATIENT, DATA)
    assert len({len(columns["auc"]) for columns in together.history.values()}) > 1
    for place, seed in enumerate(IMPATIENT.seeds):
        alone = jb.train.fit(changed(seeds=(seed,)), DATA)
        own = jax.tree.map(lambda a, i=place: a[i : i + 1], together.final)
        jax.tree.map(np.testing.assert_array_equal, alone.final, own)
        np.testing.assert_array_equal(
            alone.history[seed]["auc"], together.history[seed]["auc"]
        )


@pytest.mark.parametrize(
    "batch_size, width, devices, suits",
    [
        (1024, 256, 1, True),
        (1025, 256, 1, False),
        (16384, 17, 1, False),
        (1024, 256, 2, False),
    ],
)
def test_on_one_cpu_and_if_a_layer_fits_into_the_cache(
    batch_size, width, devices, suits
):
    network = jb.train.NetworkConfig(3, depth=1, width=width, activation="relu")
    config = changed(network=network, batch_size=batch_size)
    mesh = jax.sharding.AbstractMesh((devices,), ("rows",))
    found = _resident.SideBySide.suits(Rules.of(config, "cpu"), mesh)
    assert found == suits
    assert not _resident.SideBySide.suits(Rules.of(config, "gpu"), mesh)
