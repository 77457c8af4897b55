"""``python -m experiments bench dropin`` at a size that takes seconds."""

import types

import jax
import pytest

from experiments.__main__ import main
from experiments.bench import bench_dropin
from tests.quick import quickly

pytestmark = pytest.mark.slow


@jax.numpy_dtype_promotion("standard")  # optax.adam raises a float to an int power
def test_steps_and_compilations_are_printed(capsys, monkeypatch):
    """What is measured does not matter here: compile without optimisations."""
    instead = types.SimpleNamespace(**vars(jax) | {"jit": quickly})
    monkeypatch.setattr(bench_dropin, "jax", instead)
    monkeypatch.setattr(
        bench_dropin, "COMPILED", {"tanh": bench_dropin.COMPILED["tanh"]}
    )
    small = ["--sizes", "1x4,2x8", "--rows", "16", "--rounds", "1"]
    assert main(["bench", "dropin", *small]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == list(bench_dropin.STEPS)
    assert [line.split()[0] for line in lines[3:5]] == ["1x4", "2x8"]
    for line in lines[3:5]:
        assert line.count("x)") == 2 * len(bench_dropin.STEPS)
        assert line.count("(1.00x)") >= 2
    assert float(lines[-1].split()[1]) > 0


def test_a_size_is_layers_x_neurons(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "dropin", "--sizes", "3"])
    assert "layers x neurons" in capsys.readouterr().err
