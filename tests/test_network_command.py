"""``python -m experiments network``: the quick parts, at a size that takes seconds."""

import pytest

from experiments.__main__ import main


def test_step(capsys):
    small = ["--depth", "1", "--width", "4,8", "--degree", "3", "--rows", "64"]
    assert main(["network", "step", *small, "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "relu standard" in lines[1]
    assert "bernstein n=3" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == ["4", "8"]
    assert all(line.count("(1.00x)") >= 1 for line in lines[2:])


def test_compile(capsys):
    small = ["--width", "4", "--degree", "3", "--rows", "16", "--rounds", "1"]
    assert main(["network", "compile", *small]) == 0
    out = capsys.readouterr().out
    assert out.count("L=150") == 2


def test_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["network", "fly"])
    assert "invalid choice" in capsys.readouterr().err
