"""Who is told what: JSON lines are in test_train_checkpoint, here are all others."""

import io
import sys
import types

import jax
import numpy as np
import pytest

import jaxbern as jb
from jaxbern.io import bar_wanted
from jaxbern.train import _callbacks
from tests.train.train_cases import IMPATIENT, changed, events

DATA = events()
SHORT = changed(epochs=2)
AUC = np.array([[0.5, 0.625], [0.75, 0.875]])  # [epoch, seed]


def record(epoch, seed, auc):
    numbers = {
        "train_loss": 0.7, "validation_loss": 0.6, "auc": auc,
        "learning_rate": 0.5, "saturation": 0.25, "seconds": 1.0,
    }  # fmt: skip
    return {"seed": seed, "epoch": epoch, **numbers}


EPOCHS = [[record(e, s, AUC[e, s]) for s in (0, 1)] for e in (0, 1)]


class Recorder(jb.train.Callback):
    def __init__(self):
        self.calls = []

    def start(self, config, past):
        self.calls.append(("start", config.epochs, [r["epoch"] for r in past]))

    def epoch(self, records):
        self.calls.append(("epoch", [(r["seed"], r["epoch"]) for r in records]))

    def end(self, result):
        self.calls.append(("end", list(result.stops)))

    def close(self):
        self.calls.append(("close",))


@pytest.mark.slow
def test_order_of_calls():
    recorder = Recorder()
    jb.train.fit(SHORT, DATA, callbacks=[recorder])
    assert recorder.calls == [
        ("start", 2, []),
        ("epoch", [(3, 0), (1, 0), (2, 0)]),
        ("epoch", [(3, 1), (1, 1), (2, 1)]),
        ("end", [3, 1, 2]),
        ("close",),
    ]


def test_past_epochs_are_told_and_closing_is_certain(tmp_path):
    class Fails(Recorder):
        def epoch(self, records):
            raise RuntimeError("as planned")

    jb.train.fit(changed(epochs=1), DATA, directory=tmp_path)
    fails = Fails()
    with pytest.raises(RuntimeError, match="as planned"):
        jb.train.fit(SHORT, DATA, directory=tmp_path, resume=True, callbacks=[fails])
    assert fails.calls == [("start", 2, [0, 0, 0]), ("close",)]


class Fake:
    """Remembers every call, returns itself."""

    def __init__(self, calls, name=""):
        self._calls, self._name = calls, name

    def __getattr__(self, name):
        return Fake(self._calls, f"{self._name}.{name}".strip("."))

    def __call__(self, *args, **kwargs):
        self._calls.append((self._name, args, kwargs))
        return self


@pytest.fixture
def calls(monkeypatch):
    found = []
    for module in ("tensorboardX", "wandb"):
        monkeypatch.setitem(sys.modules, module, Fake(found))
    return found


def test_tensorboard(calls):
    board = jb.train.TensorBoard("runs")
    board.start(IMPATIENT, EPOCHS[0])
    board.epoch(EPOCHS[1])
    board.close()
    assert calls[0] == ("SummaryWriter", ("runs",), {"purge_step": 1})
    points = [args for name, args, _ in calls if name.endswith("add_scalar")]
    assert ("auc/seed 1", 0.875, 1) in points
    assert len(points) == 2 * 5
    assert calls[-1][0].endswith("close")


def test_weights_and_biases(calls):
    run = jb.train.WandB(project="higgs")
    run.start(IMPATIENT, [])
    run.epoch(EPOCHS[0])
    run.epoch([])
    run.end(types.SimpleNamespace(summary=lambda: {"0": {"best_auc": 0.5}}))
    run.close()
    assert calls[0] == ("init", (), {"config": IMPATIENT.to_dict(), "project": "higgs"})
    logged = [(args, options) for name, args, options in calls if name.endswith("log")]
    [((numbers,), options)] = logged
    assert numbers["auc/seed 1"] == 0.625
    assert options == {"step": 0}
    assert calls[-2][1] == ({"0": {"best_auc": 0.5}},)
    assert calls[-1][0].endswith("finish")


@pytest.mark.parametrize(
    "callback, module", [("TensorBoard", "tensorboardX"), ("WandB", "wandb")]
)
def test_what_to_install(callback, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    arguments = ("runs",) if callback == "TensorBoard" else ()
    with pytest.raises(ImportError, match=f"needs {module}: pip install {module}"):
        getattr(jb.train, callback)(*arguments)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_shows_epoch_and_numbers_of_each_seed(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    assert bar_wanted()
    bar = _callbacks.ProgressBar()
    bar.start(SHORT, [])
    for records in EPOCHS:
        bar.epoch(records)
    bar.close()
    shown = terminal.getvalue()
    assert "2x4 relu" in shown
    assert "2/2" in shown
    assert "[1] loss 0.7000 AUC 0.8750" in shown


def test_nothing_is_shown_where_nobody_watches(capfd):
    assert not bar_wanted()
    jax.devices()  # JAX itself may say something when it starts
    capfd.readouterr()
    jb.train.fit(SHORT, DATA)
    assert capfd.readouterr() == ("", "")
