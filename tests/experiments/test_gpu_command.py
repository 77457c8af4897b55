"""The command of the GPU experiment: its help, its errors and what it writes."""

import csv
import subprocess
import sys

import pytest

from experiments import __main__ as dispatcher
from experiments.gpu import gpu_command, toolchain
from tests.experiments.gpu_cases import needs_compiler


def test_help_is_quick_and_lists_experiments():
    command = [sys.executable, "-c", _HELP_WITHOUT_JAX]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "gpu" in done.stdout


_HELP_WITHOUT_JAX = """
import sys
from experiments.__main__ import main
main(["--help"])
assert "jax" not in sys.modules
"""


def test_unknown_experiment_is_helped(capsys):
    assert dispatcher.main(["gpus"]) == 2
    assert "did you mean 'gpu'?" in capsys.readouterr().err


def test_unknown_gpu_is_explained(capsys):
    with pytest.raises(SystemExit):
        gpu_command.parser().parse_args(["--target", "a30,b9"])
    assert "one of a30, a100, h100, l4" in capsys.readouterr().err


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(toolchain, "cuda_plugin", lambda: None)
    assert gpu_command.main(["--degree", "3"]) == 1
    assert 'pip install "jaxbern[gpu-aot]"' in capsys.readouterr().err


def test_plugin_of_another_version_is_told(monkeypatch):
    monkeypatch.setattr(toolchain, "cuda_plugin", lambda: "0.0.1")
    with pytest.raises(toolchain.ToolchainMissing, match=r"found 0\.0\.1"):
        toolchain.require()
    assert not toolchain.available()


@pytest.mark.slow
@needs_compiler
def test_command_writes_table_csv_and_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    options = ["--degree", "3", "--rows", "1024", "--implementation", "xla"]
    options += ["--outside", "linear", "--out", str(tmp_path)]
    assert gpu_command.main(options) == 0
    printed = capsys.readouterr().out
    assert "NVIDIA A30, sm_80, degree 3, 1,024 x 256 float32, outside linear" in printed
    assert "h + act(batchnorm(h w + b))" in printed
    with (tmp_path / "gpu.csv").open() as file:
        rows = list(csv.DictReader(file))
    relu = [row for row in rows if row["activation"] == "relu"]
    assert [float(row["ratio"]) for row in relu] == [1, 1]
    assert [float(row["bytes_per_element"]) for row in relu] == [8, 12]
    assert {row["which"] for row in rows} == {"forward", "gradient"}
    assert {row["outside"] for row in rows} == {"linear"}
    assert all(float(row["ratio"]) >= 1 for row in rows)
    assert (tmp_path / "roofline.png").stat().st_size > 10_000
    assert (tmp_path / "roofline.svg").exists()
