"""The few numbers at the head of the report, of a store with known answers."""

import dataclasses

from experiments.report import evidence, report_contents
from experiments.report.grid_groups import Group
from experiments.sweep.grid import Cell
from tests.experiments.report_stores import on, result, trained

SMALL = Cell("higgs", True, 5, 16, "relu")  # 1,586 parameters
WIDE = Cell("higgs", True, 5, 32, "relu")  # 5,218
STORE = [
    trained(SMALL, [0.70] * 3, [0.6] * 3),  # two epochs
    trained(WIDE, [0.74, 0.70, 0.70], [0.5] * 3),
    # The smallest DBN, of 1,906 parameters. It crosses over in the second epoch.
    trained(on(SMALL, "bernstein:3"), [0.75] * 3, [0.55] * 3),
    # In the first, and the last of them ends above ReLU.
    result(on(SMALL, "bernstein:9"), [[0.5, 0.4]]),
    result(on(SMALL, "bernstein:15"), [[0.5, 0.5]]),
    result(on(SMALL, "bernstein:25"), [[0.5, 0.7]]),
]


def test_facts_of_a_store_with_known_answers():
    facts = report_contents.facts(STORE, evidence.of_store(STORE))
    assert [(fact.number, fact.detail) for fact in facts] == [
        ("6 of 448", "12 trainings"),
        ("1 of 2", "1 of 2 in training loss"),
        ("3 of 4", "4 cross over, in 50% of ReLU's epochs (median)"),
        ("0.7500", "DBN n=3, residual 5×16, 1,906 parameters"),
    ]


def test_as_many_parameters_are_no_more():
    found = evidence.of_store(STORE)
    rows = found.efficiency[Group("higgs", True), "auc"]
    [place] = [i for i, row in enumerate(rows) if (row.depth, row.width) == (5, 16)]
    for parameters, number in ((1905, "1 of 2"), (1906, "2 of 2")):
        rows[place] = dataclasses.replace(rows[place], relu_parameters=parameters)
        assert report_contents.facts(STORE, found)[1].number == number
