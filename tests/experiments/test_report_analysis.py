"""Tables of made-up stores with known answers, and against brute force."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.report import convergence, efficiency, intervals, runtime
from experiments.report.grid_groups import METRICS, Group
from experiments.report.report_figures import frontier, histogram
from experiments.report.trained_models import diverged, event_flops, models, untrained
from experiments.sweep.grid import Cell
from tests.experiments.report_stores import on, result, trained

HIGGS = Group("higgs", True)
SMALL = Cell("higgs", True, 5, 16, "relu")
WIDE = Cell("higgs", True, 5, 32, "relu")


def parameters(cell: Cell) -> int:
    """The formula, written out once more."""
    features = {"higgs": 28, "susy": 18}[cell.dataset]
    width, depth = cell.width, cell.depth
    count = features * width + width + (depth - 1) * (width * width + width)
    count += 2 * width + 2
    if cell.activation.startswith("bernstein:"):
        count += depth * width * (int(cell.activation[10:]) + 1)
    return count


def rows_of(table):
    return {(row.depth, row.width): row for row in table}


def test_efficiency_of_a_store_with_known_answers():
    store = [
        trained(SMALL, [0.70, 0.72, 0.71], [0.6, 0.6, 0.6]),
        trained(WIDE, [0.74, 0.70, 0.70], [0.5, 0.6, 0.6]),
        # Equal to the baseline is not better.
        trained(on(SMALL, "bernstein:3"), [0.72, 0.70, 0.70], [0.7, 0.7, 0.7]),
        trained(on(SMALL, "bernstein:9"), [0.73, 0.74, 0.75], [0.6, 0.59, 0.58]),
        trained(on(WIDE, "bernstein:25"), [0.80, 0.80, 0.60], [0.4, 0.4, 0.4]),
        # Not DBN, not residual, not HIGGS: nothing to do with it.
        trained(on(SMALL, "gelu"), [0.9] * 3, [0.1] * 3),
        trained(Cell("higgs", False, 5, 16, "bernstein:3"), [0.9] * 3, [0.1] * 3),
        trained(Cell("susy", True, 5, 16, "bernstein:3"), [0.9] * 3, [0.1] * 3),
    ]
    rows = rows_of(efficiency.table(models(store), HIGGS, METRICS["auc"]))
    small, wide = rows[5, 16], rows[5, 32]
    assert small.relu_value == 0.72
    assert small.qualifying == {3: 0, 9: 3, 15: 0, 25: 2}
    assert small.best == efficiency.Best(2386, 5, 16, 9, 0.75)
    assert small.efficiency == pytest.approx(100 * (1 - 2386 / 1586))
    assert wide.relu_value == 0.74
    assert wide.qualifying == {3: 0, 9: 1, 15: 0, 25: 2}
    assert wide.best == efficiency.Best(2386, 5, 16, 9, 0.75)
    assert (small.compared, small.untrained) == (9, 240 - 9)

    rows = rows_of(efficiency.table(models(store), HIGGS, METRICS["loss"]))
    assert rows[5, 16].qualifying == {3: 0, 9: 2, 15: 0, 25: 3}
    assert rows[5, 16].best == efficiency.Best(2386, 5, 16, 9, 0.58)
    assert rows[5, 32].qualifying == {3: 0, 9: 0, 15: 0, 25: 3}
    assert rows[5, 32].best == efficiency.Best(9378, 5, 32, 25, 0.4)


def test_what_is_not_trained_is_none_and_what_may_change_is_marked():
    store = [
        trained(SMALL, [0.7] * 3, [0.6] * 3),
        trained(on(SMALL, "bernstein:9"), [0.8] * 3, [0.5] * 3),
    ]
    rows = rows_of(efficiency.table(models(store), HIGGS, METRICS["auc"]))
    assert rows[5, 32].relu_value is None
    assert rows[5, 32].best is None
    assert rows[5, 32].total == 0
    assert not rows[5, 16].final  # 5x16 of degree 3 is smaller, and not trained
    store.append(trained(on(SMALL, "bernstein:3"), [0.6] * 3, [0.5] * 3))
    rows = rows_of(efficiency.table(models(store), HIGGS, METRICS["auc"]))
    assert rows[5, 16].final
    assert rows[5, 16].best.degree == 9


CELLS = [
    Cell("susy", False, *shape, activation)
    for shape in ((5, 16), (5, 32), (15, 16))
    for activation in ("relu", "gelu", "bernstein:3", "bernstein:9", "bernstein:25")
]


@st.composite
def stores(draw):
    """Few values, so that there are many ties; some cells; one to three seeds."""
    level = st.integers(1, 6).map(lambda k: k / 10)
    store = []
    for cell in draw(st.lists(st.sampled_from(CELLS), min_size=1, unique=True)):
        seeds = draw(st.integers(1, 3))
        numbers = [draw(st.lists(level, min_size=seeds, max_size=seeds)) for _ in "ab"]
        store.append(trained(cell, *numbers))
    return store


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(store=stores(), name=st.sampled_from(["auc", "loss"]))
def test_efficiency_is_that_of_brute_force(store, name):
    """Every pair of models compared, by loops, from the raw histories."""
    column = {"auc": "auc", "loss": "train_loss"}[name]
    sign = {"auc": 1, "loss": -1}[name]
    found = rows_of(
        efficiency.table(models(store), Group("susy", False), METRICS[name])
    )
    for shape in ((5, 16), (5, 32), (15, 16), (15, 256)):
        baseline = None
        for cell in store:
            found_shape = cell.cell.depth, cell.cell.width
            if cell.cell.activation == "relu" and found_shape == shape:
                baseline = max(sign * h[column][-1] for h in cell.history.values())
        counts, best = {3: 0, 9: 0, 15: 0, 25: 0}, []
        for cell in store:
            if baseline is not None and cell.cell.activation.startswith("bernstein"):
                for history in cell.history.values():
                    if sign * history[column][-1] > baseline:
                        counts[int(cell.cell.activation[10:])] += 1
                        value = sign * history[column][-1]
                        best.append((parameters(cell.cell), -value))
        row = found[shape]
        assert row.qualifying == counts
        if baseline is None:
            assert row.relu_value is None
        else:
            assert row.relu_value == sign * baseline
        if best:
            fewest, value = min(best)
            assert (row.best.parameters, row.best.value) == (fewest, -sign * value)
            assert row.efficiency == 100 * (1 - fewest / row.relu_parameters)
        else:
            assert row.best is None


def test_convergence_of_a_store_with_known_answers():
    store = [
        # Finals 0.50, 0.40, 0.60: the median is 0.50; lengths 3, 2, 4: 3.
        result(SMALL, [[0.9, 0.7, 0.5], [0.8, 0.4], [0.9, 0.8, 0.7, 0.6]]),
        # Medians 0.9, 0.6, 0.45, 0.45: the second seed keeps its 0.45.
        result(
            on(SMALL, "bernstein:3"),
            [[0.9, 0.6, 0.5], [0.9, 0.7, 0.45], [0.8, 0.5, 0.4, 0.3]],
        ),
        # Below for an epoch, then above: it crossed over all the same.
        result(on(SMALL, "bernstein:9"), [[0.9, 0.4, 0.55]]),
        # Equal is not below.
        result(on(SMALL, "bernstein:15"), [[0.9, 0.5], [0.9, 0.5]]),
    ]
    row = rows_of(convergence.table(store, HIGGS))[5, 16]
    assert row.relu_epochs == 3
    assert row.against[3] == convergence.Against(3, 3, pytest.approx(-10))
    assert row.against[9] == convergence.Against(2, 3, pytest.approx(10))
    assert row.against[15] == convergence.Against(None, 2, pytest.approx(0))
    assert row.against[25] is None
    assert rows_of(convergence.table(store[1:], HIGGS))[5, 16].against[3] is None


losses = st.lists(
    st.lists(st.integers(1, 9).map(lambda k: k / 10), min_size=1, max_size=8),
    min_size=1,
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(relu=losses, dbn=losses)
def test_crossovers_are_those_of_loops(relu, dbn):
    def median(seeds, epoch):
        return statistics.median(s[min(epoch, len(s) - 1)] for s in seeds)

    final = statistics.median(seed[-1] for seed in relu)
    crossover = None
    for epoch in range(max(map(len, dbn))):
        if median(dbn, epoch) < final:
            crossover = epoch + 1
            break
    end = statistics.median(seed[-1] for seed in dbn)
    found = convergence.against(
        convergence.curve(result(SMALL, relu)),
        convergence.curve(result(on(SMALL, "bernstein:9"), dbn)),
    )
    assert found.crossover == crossover
    assert found.epochs == statistics.median(map(len, dbn))
    assert found.change == pytest.approx(100 * (end / final - 1))


def test_a_seed_without_an_epoch_is_told_and_left_out():
    store = [
        result(SMALL, [[], [0.6, 0.5]], reasons=["nonfinite", "early"]),
        result(WIDE, [[]], reasons=["nonfinite"]),
    ]
    assert [model.seed for model in models(store)] == [1]
    assert untrained(store) == [(SMALL, 0), (WIDE, 0)]
    assert diverged(store) == [(SMALL, 0), (WIDE, 0)]
    assert convergence.curve(store[0]).final == 0.5
    assert convergence.curve(store[1]) is None
    assert runtime.runtime(store[1]) is None


def test_a_model_has_its_highest_auc_and_its_last_loss():
    store = [result(SMALL, [[0.6, 0.4, 0.5]], [[0.7, np.nan, 0.6]])]
    (model,) = models(store)
    assert (model.auc, model.loss, model.epochs) == (0.7, 0.5, 3)


def test_seconds_are_shared_by_the_seeds_of_a_program():
    relu = result(SMALL, [[0.5] * 4, [0.5] * 2], seconds=3.0)
    dbn = result(on(SMALL, "bernstein:9"), [[0.5], [0.5]], seconds=8.0)
    row = rows_of(runtime.table([relu, dbn], HIGGS))[5, 16]
    # Epochs of 3 s for two seeds: 1.5 s each; 4 and 2 of them.
    assert row.relu == runtime.Runtime(seconds=4.5, epochs=3)
    assert row.relu.per_epoch == 1.5
    assert row.dbn[9] == runtime.Runtime(seconds=4.0, epochs=1)
    assert row.dbn[3] is None


def test_an_interruption_during_one_epoch_does_not_count_as_training_time():
    relu = result(SMALL, [[0.6] * 5] * 3, seconds=2.0)
    for columns in relu.history.values():
        columns["seconds"][3] = 4000.0

    assert runtime.runtime(relu) == runtime.Runtime(seconds=10 / 3, epochs=5)


def test_intervals_are_students_and_differences_are_paired():
    store = [
        trained(SMALL, [0.70, 0.80, 0.90], [0.5, 0.5, 0.5]),
        trained(on(SMALL, "bernstein:3"), [0.71, 0.81, 0.92], [0.4, 0.5, 0.6]),
    ]
    relu, dbn = intervals.table(models(store), HIGGS)
    t = 4.302652730  # Student's t, 2 degrees of freedom, 97.5%: from printed tables
    assert relu.auc.mean == pytest.approx(0.8)
    assert relu.auc.half == pytest.approx(t * 0.1 / math.sqrt(3))
    assert relu.auc_difference is None
    spread = statistics.stdev([0.01, 0.01, 0.02]) / math.sqrt(3)
    assert dbn.auc_difference.mean == pytest.approx(0.04 / 3)
    assert dbn.auc_difference.half == pytest.approx(t * spread)
    assert dbn.auc_difference.sign == 0
    assert dbn.loss_difference.mean == pytest.approx(0, abs=1e-12)
    assert intervals.interval([1.0, 1.1, 1.05]).sign == 1
    assert math.isnan(intervals.interval([1.0]).half)
    assert intervals.interval([1.0]).sign == 0


def test_epochs_of_a_cell_are_the_median():
    [row] = intervals.table(
        models([result(SMALL, [[0.5], [0.5] * 2, [0.5] * 6])]), HIGGS
    )
    assert row.epochs == 2


def test_operations_by_hand():
    # Weights 28*2 + 2*2 + 2*2 = 64; neurons 4; skips 2.
    tiny = Cell("higgs", True, 2, 2, "relu")
    assert event_flops(tiny) == 6 * 64 + 4 * (16 + 2) + 2 * 2
    plain = Cell("higgs", False, 2, 2, "bernstein:9")
    assert event_flops(plain) == 6 * 64 + 4 * (16 + 7 * 9 + 16)
    run = result(tiny, [[0.5, 0.4, 0.3]])
    (model,) = models([run])
    assert model.flops == pytest.approx(3 * 16_000 * event_flops(tiny))
    run.about.pop("events")
    assert models([run])[0].flops is None


def test_histograms_count_every_model_once():
    store = [
        trained(SMALL, [0.70, 0.71, 0.72], [0.5] * 3),
        trained(on(SMALL, "bernstein:3"), [0.75, 0.76], [0.5] * 2),
    ]
    edges, counts = histogram(models(store), METRICS["auc"])
    assert list(counts) == ["relu", "bernstein:3"]
    assert {name: int(count.sum()) for name, count in counts.items()} == {
        "relu": 3,
        "bernstein:3": 2,
    }
    assert (edges[0], edges[-1]) == (pytest.approx(0.70), pytest.approx(0.76))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1))
def test_a_front_has_the_points_that_none_dominates(points):
    best = {
        (cost, value)
        for cost, value in points
        if not any(
            (c <= cost and v >= value and (c, v) != (cost, value)) for c, v in points
        )
    }
    assert set(zip(*frontier(points), strict=True)) == best
