"""The grid, its parts, their order and their division between jobs."""

import argparse
import csv
import doctest
import itertools
from pathlib import Path

import pytest

from experiments.sweep import cell_order, grid, grid_filter, presets, sweep_progress
from experiments.sweep.grid import Cell
from experiments.sweep.grid_filter import Filter

PAPER = grid.paper()


@pytest.mark.parametrize("module", [grid, cell_order, sweep_progress, grid_filter])
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_the_paper_has_448_cells_of_as_many_names():
    assert len(PAPER) == len({cell.name for cell in PAPER}) == 448
    shapes = {(c.residual, c.depth, c.width) for c in PAPER}
    deep = set(itertools.product([True], [5, 15, 50, 100, 150], [16, 32, 128, 256]))
    assert shapes == deep | set(itertools.product([False], [5, 15], [16, 32, 128, 256]))
    assert len({cell.activation for cell in PAPER}) == 8


def test_parameters_are_those_the_paper_prints():
    path = Path(__file__).parents[1] / "fixtures" / "paper_parameters.csv"
    by_name = {cell.name: cell for cell in PAPER}
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert rows
    for row in rows:
        activation = row["activation"] + row["degree"]
        size = f"{row['depth']}x{row['width']}"
        cell = by_name[f"{row['dataset']}-{row['kind']}-{size}-{activation}"]
        assert cell.parameters == int(row["parameters"]), cell


def test_presets():
    demo, small, half, paper = (
        presets.PRESETS[k] for k in ("demo", "small", "half", "paper")
    )
    assert paper.cells() == PAPER
    assert not paper.training  # the defaults are the paper's
    assert len(half.cells()) == 224
    assert set(half.cells()) == {cell for cell in PAPER if cell.width in (16, 32)}
    assert set(small.cells()) < set(half.cells())
    assert {cell.depth for cell in small.cells()} == set(grid.RESIDUAL_DEPTHS)
    assert half.training == small.training == {"epochs": 25, "batch_size": 1024}
    cells = demo.cells()
    assert set(cells) <= set(PAPER)
    assert len(cells) == len(set(cells))
    # Depth first: what the demo is to show.
    first = [(c.depth, c.activation) for c in cells[:8] if c.dataset == "higgs"]
    assert first == list(itertools.product((5, 15, 50, 150), ("relu", "bernstein:3")))
    for dataset in grid.FEATURES:
        part = [c for c in cells if (c.residual, c.dataset) == (True, dataset)]
        others = {"relu", "gelu", "bernstein:3", "bernstein:9", "bernstein:25"}
        assert {c.activation for c in part} == others
        assert any(not c.residual for c in cells if c.dataset == dataset)


@pytest.mark.parametrize(
    "words, expected",
    [
        ("", 448),
        ("--dataset higgs", 224),
        ("--plain", 128),
        ("--residual --width 16", 80),
        ("--dataset higgs --depth 5,15 --activation relu,bernstein:9", 32),
        ("--depth 150 --width 256 --activation bernstein:25 --dataset susy", 1),
    ],
)
def test_filters(words, expected):
    parser = argparse.ArgumentParser()
    grid_filter.add_options(parser)
    part = grid_filter.from_options(parser.parse_args(words.split()))
    assert len(part.of(PAPER)) == expected


def test_a_filter_that_nothing_fits_says_what_there_is():
    some = [cell for cell in PAPER if cell.dataset == "susy" and cell.width == 16]
    with pytest.raises(ValueError, match="no cell fits --depth 150 --plain; there are"):
        Filter(depth=(150,), residual=False).of(some)
    with pytest.raises(ValueError, match="plain: dataset susy; depth 5,15; width 16;"):
        Filter(width=(32,)).of(some)


@pytest.mark.parametrize(
    "words",
    ["--activation tanh", "--depth five", "--dataset mnist", "--residual --plain"],
)
def test_filters_that_make_no_sense(words, capsys):
    parser = argparse.ArgumentParser()
    grid_filter.add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(words.split())
    said = capsys.readouterr().err
    assert "there are" in said or "such as" in said or "not allowed with" in said


def test_cheap_architectures_first_each_with_all_its_rivals():
    cells = cell_order.ordered(PAPER)
    assert sorted(cells) == sorted(PAPER)
    groups = [cells[k : k + 8] for k in range(0, len(cells), 8)]
    for group in groups:
        assert len({(c.dataset, c.residual, c.depth, c.width) for c in group}) == 1
        assert group[0].activation == "relu"
        assert group[1].degree
    sizes = [group[0].depth * group[0].width for group in groups]
    assert sizes[0] == 5 * 16
    assert sizes[-1] == 150 * 256
    relu = [cell_order.cost(group[0]) for group in groups]
    assert relu == sorted(relu)


def test_cost_grows_with_every_size():
    base = Cell("susy", True, 5, 16, "bernstein:3")
    dearer = [
        Cell("higgs", True, 5, 16, "bernstein:3"),
        Cell("susy", True, 15, 16, "bernstein:3"),
        Cell("susy", True, 5, 32, "bernstein:3"),
        Cell("susy", True, 5, 16, "bernstein:9"),
    ]
    assert all(cell_order.cost(cell) > cell_order.cost(base) for cell in dearer)
    assert cell_order.cost(Cell("susy", True, 5, 16, "relu")) < cell_order.cost(base)


@pytest.mark.parametrize("count", [1, 3, 16])
def test_shards_share_all_cells_and_the_work(count):
    cells = cell_order.ordered(PAPER)
    shards = [cell_order.shard(cells, k, count) for k in range(1, count + 1)]
    assert sorted(itertools.chain(*shards)) == sorted(cells)
    loads = [sum(map(cell_order.cost, shard)) for shard in shards]
    assert max(loads) - min(loads) <= max(map(cell_order.cost, cells))
    for shard in shards:
        assert shard == [cell for cell in cells if cell in set(shard)]  # in order
    with pytest.raises(ValueError, match=f"got {count + 1}/{count}"):
        cell_order.shard(cells, count + 1, count)
