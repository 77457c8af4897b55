"""Several devices and several processes give the history of one, to rounding."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxbern as jb
from tests.train import train_devices_child
from tests.train.train_cases import IMPATIENT, changed, events

ROOT = Path(__file__).parents[2]
COMPARED = ("train_loss", "validation_loss", "auc", "learning_rate")


def start(*arguments, devices: int = 1) -> subprocess.Popen:
    flags = (
        f"--xla_force_host_platform_device_count={devices} "
        # These compile in half the time.
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    )
    return subprocess.Popen(
        [sys.executable, "-m", "tests.train.train_devices_child", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
    )


def assert_close(one, other):
    assert one.keys() == other.keys()
    for seed in one:
        for name in COMPARED:
            np.testing.assert_allclose(
                one[seed][name], other[seed][name], rtol=1e-4, err_msg=name
            )


@pytest.mark.slow
def test_two_devices_give_the_history_of_one(tmp_path):
    child = start(tmp_path / "out", devices=2)
    try:
        assert child.wait(300) == 0
    finally:
        child.kill()
    devices, two, one = json.loads((tmp_path / "out").read_text())
    assert devices == 2
    assert_close(two, one)


@pytest.mark.slow
def test_two_processes_give_the_history_of_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = [start(tmp_path / "out", process, port) for process in range(2)]
    try:
        assert [child.wait(300) for child in children] == [0, 0]
    finally:
        for child in children:
            child.kill()  # one waits for ever for the other
    result = jb.train.fit(train_devices_child.RELU, train_devices_child.EVEN)
    [expected] = json.loads(json.dumps(train_devices_child.histories(result)))
    for process in range(2):
        devices, found = json.loads((tmp_path / f"out{process}").read_text())
        assert devices == 2
        assert_close(found, expected)
    lines = (tmp_path / "out.run" / "history.jsonl").read_text().splitlines()
    assert len(lines) == sum(len(columns["auc"]) for columns in result.history.values())


def test_batches_that_cannot_be_divided_are_told():
    import jax

    devices = jax.devices() * 2
    with pytest.warns(UserWarning, match="63 cannot be divided by 2 .* batch_size=62"):
        jb.train._engine.mesh_for(IMPATIENT.batch_size, devices)
    with pytest.raises(ValueError, match="devices must hold at least one"):
        jb.train.fit(changed(), events(), devices=[])
