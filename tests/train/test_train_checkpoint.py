"""A training that is interrupted goes on to the same bits; others are refused."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jaxbern as jb
from jaxbern.train._checkpoint import Checkpoints
from jaxbern.train._result import History
from tests.train.train_cases import IMPATIENT, assert_same_bits, changed, events

ROOT = Path(__file__).parents[2]
DATA = events()
SHORT = changed(epochs=4)


class Interrupt(jb.train.Callback):
    """Ctrl-C after some epochs."""

    def __init__(self, epoch: int, times: int = 1):
        self._epoch, self._times = epoch, times

    def epoch(self, records):
        if records[0]["epoch"] == self._epoch:
            for _ in range(self._times):
                os.kill(os.getpid(), signal.SIGINT)


def fit(directory, config=IMPATIENT, data=DATA, **options):
    options = {"checkpoint_seconds": 0} | options
    return jb.train.fit(config, data, directory=directory, **options)


@pytest.fixture(autouse=True)
def interruptible():
    """A shell's background job ignores Ctrl-C; these tests need Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole():
    return jb.train.fit(IMPATIENT, DATA)


@pytest.fixture
def begun(tmp_path):
    """A directory with a training of four epochs."""
    fit(tmp_path, SHORT)
    return tmp_path


def kept(directory) -> list[int]:
    return sorted(int(path.name) for path in (directory / "checkpoints").iterdir())


@pytest.mark.slow
def test_more_epochs_are_as_if_never_interrupted(begun, whole):
    assert kept(begun) == [3, 4]
    result = fit(begun, resume=True)
    assert_same_bits(result, whole)
    assert kept(begun) == [11, 12]
    again = fit(begun, resume=True)  # nothing is left to do
    assert_same_bits(again, whole)


@pytest.mark.slow
def test_files_of_a_training(begun, whole):
    lines = (begun / "history.jsonl").read_text().splitlines()
    assert len(lines) == 4 * 3
    # An epoch after the checkpoint, written before a kill, is trained again.
    with (begun / "history.jsonl").open("a") as file:
        file.write('{"seed": 3, "epoch": 4, "auc": 0.5}\n')
    fit(begun, resume=True)
    records = list(map(json.loads, (begun / "history.jsonl").read_text().splitlines()))
    for seed, columns in whole.history.items():
        found = [record for record in records if record["seed"] == seed]
        assert [record["epoch"] for record in found] == list(range(len(columns["auc"])))
        assert [record["auc"] for record in found] == columns["auc"].tolist()
        assert {record["saturation"] for record in found} == {None}  # NaN is no JSON
    config = jb.train.TrainConfig.from_json((begun / "config.json").read_text())
    assert config == IMPATIENT
    assert json.loads((begun / "summary.json").read_text()) == whole.summary()


@pytest.mark.slow
def test_killed_at_any_time_it_goes_on_to_the_same_bits(tmp_path, whole):
    """Twice at random; ``python -m tests.faults training`` does it more often."""
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PLATFORMS": "cpu",
    }
    run = tmp_path / "run"
    command = [sys.executable, "-m", "tests.train.train_child", str(run)]
    log, seen = run / "history.jsonl", 0
    for _ in range(2):
        child = subprocess.Popen(command, cwd=ROOT, env=environment)
        while not log.exists() or log.stat().st_size <= seen:
            assert child.poll() is None, "the child ended before it trained"
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.2))
        child.kill()
        assert child.wait() == -signal.SIGKILL
        seen = log.stat().st_size
    assert not (run / "summary.json").exists()
    assert_same_bits(fit(run, resume=True), whole)


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, whole, capsys):
    with pytest.raises(KeyboardInterrupt, match=r"2 epochs are saved; .*resume=True"):
        fit(tmp_path, callbacks=[Interrupt(1)], checkpoint_seconds=1e9)
    assert "again to stop at once" in capsys.readouterr().err
    assert kept(tmp_path) == [1, 2]
    assert_same_bits(fit(tmp_path, resume=True), whole)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_stops_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        fit(tmp_path, callbacks=[Interrupt(1, times=2)])
    assert kept(tmp_path) == [1, 2]


def test_ctrl_c_without_a_directory_is_as_ever():
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        jb.train.fit(IMPATIENT, DATA, callbacks=[Interrupt(0)])


def test_ctrl_c_that_is_ignored_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        fit(tmp_path, SHORT, callbacks=[Interrupt(1)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert kept(tmp_path) == [3, 4]


def test_short_epochs_are_not_all_saved(tmp_path):
    fit(tmp_path, SHORT, checkpoint_seconds=1e9)
    assert kept(tmp_path) == [1, 4]  # the first, and always the last


def test_what_is_being_saved_does_not_grow_with_the_next_epoch():
    """Orbax turns the history into text in a thread, while the training goes on."""
    history = History.empty((3,))
    saved = history.to_json()
    history.columns[3]["auc"].append(0.5)
    assert saved == History.empty((3,)).to_json()


def damage(directory, epoch):
    """Cut a file short."""
    file = directory / "checkpoints" / str(epoch) / "about" / "metadata"
    file.write_bytes(file.read_bytes()[:-9])


def test_damage_is_noticed_and_the_checkpoint_before_is_taken(begun, whole):
    damage(begun, 4)
    with pytest.warns(UserWarning, match="damaged checkpoint, that of epoch 4"):
        result = fit(begun, resume=True)
    assert_same_bits(result, whole)


@pytest.mark.slow
def test_bits_that_changed_on_the_disk_are_noticed(begun, whole, monkeypatch):
    """Orbax reads some of them without a word."""
    read = Checkpoints._read

    def read_changed(self, epochs):
        about, arrays = read(self, epochs)
        if epochs == 4:
            arrays["best.params.first.kernel"][0, 0, 0] *= 1 + 1e-6
        return about, arrays

    monkeypatch.setattr(Checkpoints, "_read", read_changed)
    with pytest.warns(UserWarning, match="epoch 4: its arrays have changed"):
        result = fit(begun, resume=True)
    assert_same_bits(result, whole)


@pytest.mark.slow
def test_a_digit_of_the_history_that_changed_is_noticed(begun, whole):
    about = begun / "checkpoints" / "4" / "about" / "metadata"
    text = about.read_text()
    digit = text.index("0.", text.index('"auc"')) + 4
    about.write_text(text[:digit] + str(9 - int(text[digit])) + text[digit + 1 :])
    with pytest.warns(UserWarning, match="epoch 4: its metadata has changed"):
        result = fit(begun, resume=True)
    assert_same_bits(result, whole)


def test_a_checkpoint_under_the_name_of_another_epoch_is_not_taken(begun, whole):
    step = begun / "checkpoints" / "4"
    step.rename(step.with_name("6"))
    with pytest.warns(
        UserWarning, match="that of epoch 6: it was written after epoch 4"
    ):
        result = fit(begun, resume=True)
    assert_same_bits(result, whole)


def test_damage_to_all_checkpoints_is_an_error(begun):
    for epoch in kept(begun):
        damage(begun, epoch)
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(jb.train.CheckpointError, match="Remove the directory"),
    ):
        fit(begun, resume=True)


def test_another_training_is_refused_with_the_difference(begun):
    other = changed(learning_rate=0.5, stop_patience=9)
    with pytest.raises(jb.train.CheckpointError) as error:
        fit(begun, other, resume=True)
    text = str(error.value)
    assert "config.learning_rate: 0.02 there, 0.5 here" in text
    assert "config.stop_patience: 3 there, 9 here" in text
    assert text.count(" there, ") == 2
    with pytest.raises(jb.train.CheckpointError, match=r"data.fingerprint: \w+ there"):
        fit(begun, SHORT, events(seed=1), resume=True)
    with pytest.raises(jb.train.CheckpointError, match="epochs=4 or more, got 2"):
        fit(begun, changed(epochs=2), resume=True)


def test_a_directory_that_is_in_use_is_not_overwritten(begun):
    with pytest.raises(jb.train.CheckpointError, match="write resume=True"):
        fit(begun, SHORT)
    with pytest.raises(ValueError, match="resume=True needs the directory"):
        jb.train.fit(SHORT, DATA, resume=True)
