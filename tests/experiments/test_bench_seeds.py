"""``python -m experiments bench``: its options, and the tables without a training."""

import itertools

import pytest

import jaxbern as jb
from experiments.__main__ import main
from experiments.bench import bench_command, bench_seeds

EVENTS = "collider:higgs"


@pytest.fixture
def events(monkeypatch):
    data = jb.data.load(EVENTS, rows=60)
    monkeypatch.setattr(bench_seeds, "events", lambda source: data)
    return data


def test_activations_are_spelt_as_in_the_sweep(events):
    networks = {
        name: bench_seeds.config(events, "2x4", name).network
        for name in ("relu", "bernstein:3", "bernstein:25")
    }
    assert networks["relu"].activation == "relu"
    for degree in (3, 25):
        network = networks[f"bernstein:{degree}"]
        assert (network.activation, network.degree) == ("bernstein", degree)
        assert (network.depth, network.width, network.residual) == (2, 4, True)


@pytest.mark.parametrize("kind", ["seeds", "auc"])
def test_another_spelling_is_refused_before_any_work(kind, capsys):
    parse = bench_command.parser().parse_args
    assert parse([kind]).activation == ["relu", "bernstein:3", "bernstein:9"]
    assert parse([kind, "--activation", "gelu,bernstein:4"]).activation == [
        "gelu",
        "bernstein:4",
    ]
    for word in ("n=3", "bernstein", "bernstein:x", "tanh", ""):
        with pytest.raises(SystemExit):
            parse([kind, "--activation", f"relu,{word}"])
        said = capsys.readouterr().err
        assert f"there is no {word!r}; there are relu, " in said
        assert "such as bernstein:9" in said


@pytest.mark.parametrize("words", [["seeds", "--sizes"], ["auc", "--size"]])
def test_sizes_are_layers_and_neurons(words, capsys):
    assert bench_command.parser().parse_args([*words, "15x16"])
    for size in ("15", "0x16", "5-16", "5x"):
        with pytest.raises(SystemExit):
            bench_command.parser().parse_args([*words, size])
        assert f"such as 5x32, got {size!r}" in capsys.readouterr().err


def test_the_table_has_the_best_epoch_of_each(events, monkeypatch, capsys):
    """One seed takes 4, 2, 6 ms, three seeds three times as long."""

    def epochs(config, data):
        seconds = itertools.cycle([0.004, 0.002, 0.006])
        return lambda: next(seconds) * len(config.seeds)

    monkeypatch.setattr(bench_seeds, "epochs", epochs)
    words = ["--sizes", "5x16", "--activation", "relu,bernstein:3", "--rounds", "3"]
    assert main(["bench", "seeds", *words]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "| 5x16 | ReLU | 2 ms | 6 ms | 3.00 |",
        "| 5x16 | DBN n=3 | 2 ms | 6 ms | 3.00 |",
    ]
