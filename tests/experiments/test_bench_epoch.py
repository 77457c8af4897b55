"""``python -m experiments bench epoch``: what is measured, and the arithmetic of its tables."""

import csv
import dataclasses
import re

import jax
import numpy as np
import pytest

import jaxbern as jb
from experiments.bench import bench_epoch, epoch_measure, epoch_tables
from experiments.bench.bench_command import main
from experiments.bench.epoch_measure import Measured, Program, Setup
from experiments.core.tables import comma_separated, markdown
from experiments.report.grid_groups import Group
from experiments.sweep import compiled_programs
from experiments.sweep.card_memory import Memory
from experiments.sweep.grid import ACTIVATIONS, Cell, paper
from experiments.sweep.grid_filter import Filter

pytestmark = pytest.mark.slow

SETUP = Setup(batch_size=48, steps=2, seeds=2, rounds=3)
CELLS = [Cell("higgs", True, 1, 2, name) for name in ("relu", "bernstein:3")]
GROUP = Group("higgs", True)


def made_up(depth, activation, milliseconds, mib, **cards) -> Measured:
    cell = Cell("higgs", True, depth, 16, activation)
    on_cards = {name: round(size * 2**20) for name, size in cards.items()}
    return Measured(cell, milliseconds / 1e3, round(mib * 2**20), on_cards)


MADE_UP = [
    made_up(5, "gelu", 8.0, 3.0, a30=6.0),
    made_up(5, "relu", 4.0, 2.0, a30=4.0),
    made_up(5, "bernstein:9", 6.0, 1.0, a30=5.0),
    made_up(15, "relu", 10.0, 5.0, a30=8.0),
    made_up(15, "bernstein:9", 25.0, 5.0, a30=8.0),
]


def quantity(name, setup=SETUP):
    found = epoch_tables.quantities(setup, GROUP, {"a30": "NVIDIA A30"})
    [own] = [each for each in found if each.name == name]
    return own


@pytest.mark.parametrize(
    "name, first, second",
    [
        ("step", "| 5×16 | 4.00 | 6.00 (1.50×) | 8.00 (2.00×) |", "25.00 (2.50×)"),
        # 8,800,000 rows are 183,334 steps of 48.
        ("epoch", "| 5×16 | 733.3 | 1,100.0 (1.50×) |", "4,583.4 (2.50×)"),
        ("memory", "| 5×16 | 2.0 | 1.0 (0.50×) | 3.0 (1.50×) |", "5.0 (1.00×)"),
        ("memory-a30", "| 5×16 | 4.0 | 5.0 (1.25×) | 6.0 (1.50×) |", "8.0 (1.00×)"),
    ],
)
def test_tables_have_the_papers_layout_and_ratios_to_relu(name, first, second):
    table = epoch_tables.table(quantity(name), GROUP, MADE_UP)
    assert table.columns == ("L×W", "ReLU", "n=9", "GeLU")
    text = markdown(table)
    assert first in text
    assert second in text
    assert text.count("·") == 1  # GeLU of the other was not measured


def test_what_is_not_run_is_said_to_be_compiled_or_computed():
    assert "Computed" in quantity("epoch").caption
    assert "compiled for that GPU, not run" in quantity("memory-a30").caption
    assert "best of 3 epochs of 2 steps, batch 48" in quantity("step").caption


def test_csv_has_the_papers_columns():
    text = comma_separated(epoch_tables.table(quantity("step"), GROUP, MADE_UP))
    five, fifteen = csv.DictReader(text.splitlines())
    assert list(five)[:5] == ["depth", "width", "relu_ms", "n9_ms", "gelu_ms"]
    assert (five["relu_ms"], five["n9_ratio"], five["gelu_ratio"]) == (
        "4.0",
        "1.5",
        "2.0",
    )
    assert (fifteen["n9_ratio"], fifteen["gelu_ms"]) == ("2.5", "")


def test_the_summary_is_the_median_ratio():
    assert epoch_tables.summary(quantity("step"), MADE_UP) == (
        "Time per step, ReLU = 1, median over 2 networks: DBN n=9 2.00×, GeLU 2.00×."
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Each of the two programs is compiled once in this module."""
    with compiled_programs.kept(tmp_path_factory.mktemp("programs")):
        yield


@pytest.fixture(scope="module")
def measured(programs):
    order = []
    fakes = {"a30": lambda config, events: Memory(events * config.network.degree, 0.0)}

    class Noted(Program):
        def __init__(self, config, data):
            self._learned = config.network.activation == "bernstein"
            super().__init__(config, data)

        def seconds(self):
            order.append(self._learned)
            return super().seconds()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_measure, "Program", Noted)
        found = epoch_measure.architecture(CELLS, SETUP, cards=fakes)
    return found, order


def test_programs_take_turns(measured):
    """One epoch each while they are made, then three rounds."""
    assert measured[1] == [False, True] * 4


def test_memory_is_more_than_what_goes_in(measured):
    data = SETUP.data("higgs")
    for found in measured[0]:
        weights = 4 * found.cell.parameters
        state = SETUP.seeds * 4 * weights  # parameters, the best of them, two moments
        assert found.memory > data.x.nbytes + data.y.nbytes + state
        assert found.memory < 100 * (data.x.nbytes + state)
        degree = found.cell.network.degree
        assert found.on_cards == {"a30": SETUP.events * degree}


def test_what_is_timed_is_the_training(programs, measured):
    """The same numbers as ``jb.train.fit`` gives."""
    config, data = SETUP.config(CELLS[1]), SETUP.data("higgs")
    assert len(data) == SETUP.events == 120
    program = Program(config, data)
    seconds = program.seconds()
    short = dataclasses.replace(config, epochs=2)
    history = jb.train.fit(short, data, progress=False).history
    expected = [history[seed]["train_loss"][1] for seed in config.seeds]
    np.testing.assert_array_equal(program.metrics.train_loss, expected)
    assert 0 < seconds < 60


def test_the_step_is_of_one_training(monkeypatch):
    """The best epoch, over its steps and seeds."""
    times = iter((9.0, 6.0, 7.0))

    class Fake:
        memory = 5

        def __init__(self, config, data):
            assert config.batch_size == 48

        def seconds(self):
            return next(times)

    monkeypatch.setattr(epoch_measure, "Program", Fake)
    [found] = epoch_measure.architecture(CELLS[:1], SETUP)
    assert found == Measured(CELLS[0], 6.0 / 2 / 2, 5)


def test_the_default_is_a_part_and_relu_is_always_in_it():
    assert len(bench_epoch.cells_of(Filter())) == 4 * len(ACTIVATIONS)
    assert set(bench_epoch.cells_of(Filter(), everything=True)) == set(paper())
    deep = bench_epoch.cells_of(Filter(depth=(50,), activation=("bernstein:9",)))
    assert {c.activation for c in deep} == {"relu", "bernstein:9"}
    assert {(c.depth, c.width, c.kind) for c in deep} == {
        (50, 16, "residual"),
        (50, 32, "residual"),
    }
    plain = bench_epoch.cells_of(Filter(residual=False, dataset=("susy",)))
    assert {c.name.rpartition("-")[0] for c in plain} == {
        f"susy-plain-{depth}x{width}" for depth in (5, 15) for width in (16, 32)
    }


def test_the_command_writes_tables(measured, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench_epoch, "architecture", lambda *_, **__: measured[0])
    out = tmp_path / "timing"
    options = ["--quick", "--depth", "5", "--width", "16", "--rounds", "5"]
    assert main(["epoch", *options, "--out", str(out)]) == 0
    text = (out / "timing.md").read_text()
    assert text in capsys.readouterr().out
    assert f"JAX {jax.__version__}" in text
    assert "best of 5 epochs counts" in text
    assert re.search(r"\| 1×2 \| [\d.]+ \| [\d.]+ \([\d.]+×\) \|", text)
    names = {"step", "epoch", "memory"}
    assert {path.stem for path in out.glob("*.csv")} == {
        f"{name}-higgs-residual" for name in names
    }
    with (out / "step-higgs-residual.csv").open() as file:
        [row] = csv.DictReader(file)
    relu, bernstein = (1e3 * found.step for found in measured[0])
    assert float(row["n3_ratio"]) == pytest.approx(bernstein / relu)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--steps", "0"], "steps must be at least 1"),
        (["--depth", "7"], "no cell fits"),
        (["--target", "a31"], "target must be one of"),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(options, words, capsys):
    assert main(["epoch", *options]) == 2
    assert words in capsys.readouterr().err
