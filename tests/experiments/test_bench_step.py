"""``python -m experiments bench``: the quick parts, at a size that takes seconds."""

import types

import jax
import pytest

from experiments.__main__ import main
from experiments.bench import bench_step
from tests.quick import quickly


@pytest.fixture
def compiled_quickly(monkeypatch):
    """What is measured does not matter here, only that it is measured and printed."""
    instead = types.SimpleNamespace(**vars(jax) | {"jit": quickly})
    monkeypatch.setattr(bench_step, "jax", instead)


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_quickly")
def test_step(capsys):
    small = ["--depth", "1", "--width", "4,8", "--degree", "3", "--rows", "64"]
    assert main(["bench", "step", *small, "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "relu standard" in lines[1]
    assert "bernstein n=3" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == ["4", "8"]
    assert all(line.count("(1.00x)") >= 1 for line in lines[2:])


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_quickly")
def test_compile(capsys):
    small = ["--width", "4", "--degree", "3", "--rows", "16", "--rounds", "1"]
    assert main(["bench", "compile", *small]) == 0
    out = capsys.readouterr().out
    assert out.count("L=150") == 2


@pytest.mark.parametrize("text", ["a", "3,", "0", "-1", "2.5"])
def test_numbers_are_whole_and_positive(text, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "step", f"--degree={text}"])
    assert f"such as 3,9; got {text!r}" in capsys.readouterr().err


def test_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "fly"])
    assert "invalid choice" in capsys.readouterr().err
