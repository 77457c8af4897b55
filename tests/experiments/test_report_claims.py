"""Verdicts: what half of the cells decide, and what one seed may not."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.report import evidence, paper_claims
from experiments.report.judging import Case, Status, judge
from experiments.report.report_contents import judged
from experiments.sweep.grid import Cell, paper
from tests.experiments import report_stores
from tests.experiments.report_stores import on, result, trained

MEANINGS = {
    "any": any,
    "all": all,
    "most": lambda truths: sum(truths) > len(truths) / 2,
}


@settings(max_examples=200, deadline=None)
@given(
    quantifier=st.sampled_from(["any", "all"]),
    truths=st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6),
)
def test_any_and_all_are_what_every_completion_agrees_on(quantifier, truths):
    unknown = truths.count(None)
    endings = set()
    for filling in itertools.product([True, False], repeat=unknown):
        rest = iter(filling)
        complete = [next(rest) if truth is None else truth for truth in truths]
        endings.add(MEANINGS[quantifier](complete))
    expected = {
        frozenset({True}): Status.HOLDS,
        frozenset({False}): Status.FAILS,
        frozenset({True, False}): Status.OPEN,
    }[frozenset(endings)]
    found = judge(quantifier, [Case("here", truth) for truth in truths])
    assert found.status is expected
    known = [truth for truth in truths if truth is not None]
    assert found.so_far == (MEANINGS[quantifier](known) if known else None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=9))
def test_most_is_the_majority_of_the_known_if_half_are_known(truths):
    known = [truth for truth in truths if truth is not None]
    found = judge("most", [Case("here", truth) for truth in truths])
    if len(known) < len(truths) / 2:
        assert found.status is Status.OPEN
    else:
        most = known.count(True) > known.count(False)  # exactly half is not most
        assert found.status is (Status.HOLDS if most else Status.FAILS)


def lucky(cell, seed):
    """DBN cells of which one seed alone is better than ReLU."""
    auc, loss = [0.79] * 3, [0.51] * 3
    auc[seed], loss[seed] = 0.81, 0.49
    return trained(cell, auc, loss)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_no_verdict_turns_on_one_seed(seed):
    relu = Cell("susy", True, 150, 256, "relu")
    small = Cell("susy", True, 5, 16, "bernstein:9")
    baseline = trained(relu, [0.8] * 3, [0.5] * 3)
    [found] = (
        v.ours
        for v in judged([baseline, lucky(small, seed)])
        if v.claim.key == "at-scale"
    )
    assert found.status is Status.OPEN
    assert found.on_one_seed
    assert str(found) == "cannot be told, so far it holds, but it turns on one seed"
    # Two cells, each by another seed: no single seed decides any more.
    other = lucky(on(small, "bernstein:3"), 1)
    [found] = (
        v.ours
        for v in judged([baseline, lucky(small, seed), other])
        if v.claim.key == "at-scale"
    )
    assert found.status is Status.HOLDS


def test_half_of_the_models_still_decide_with_a_seed_left_out():
    """The left-out seed of untrained cells must not count as missing."""
    half = [cell for cell in paper() if cell.residual and cell.width <= 32]
    store = [
        trained(cell, [0.7 if cell.degree is None else 0.8] * 3, [0.5] * 3)
        for cell in half
        if cell.degree is not None or cell.activation == "relu"
    ]
    [found] = (v.ours for v in judged(store) if v.claim.key == "qualifying")
    assert found.status is Status.HOLDS
    # One cell less is less than half of the models.
    [found] = (v.ours for v in judged(store[:-1]) if v.claim.key == "qualifying")
    assert found.status is Status.OPEN
    assert not found.on_one_seed


def test_what_is_not_settled_decides_nothing_but_is_told():
    found = judge("all", [Case("here", False, settled=False, value=0.5)])
    assert found.status is Status.OPEN
    assert found.so_far is False
    assert found.numbers == "true of 0 of 1 cases; not here (0.5)"


def test_no_case_at_all_is_open():
    assert judge("all", []).status is Status.OPEN


@pytest.fixture(scope="module")
def complete():
    """The whole grid, with some structure and much chance."""
    draw = random.Random(1)
    store = []
    for cell in paper():
        skill = 0.01 * (cell.degree is not None) + draw.uniform(0, 0.1)
        losses = [[0.69, 0.6, 0.55 - skill - draw.uniform(0, 0.02)] for _ in range(3)]
        aucs = [[0.6, 0.7, 0.75 + skill + draw.uniform(0, 0.02)] for _ in range(3)]
        seconds = draw.uniform(0.5, 3)
        store.append(result(cell, losses, aucs, seconds=seconds))
    return store


def evidence_of(store):
    """With the memory of its cells."""
    memory = {run.cell.name: 1000 + (run.cell.degree or 0) for run in store}
    return evidence.of_store(store, memory)


@pytest.mark.slow
def test_verdicts_on_a_part_are_those_on_the_whole(complete):
    """So is every case that is called settled."""
    everything = evidence_of(complete)
    whole, truths = {}, {}
    for claim in paper_claims.CLAIMS:
        whole[claim.key] = claim.judge(everything).status
        cases = list(claim.cases(everything))
        truths[claim.key] = {case.where: case.true for case in cases}
        assert len(truths[claim.key]) == len(cases)
    assert set(whole.values()) == {Status.HOLDS, Status.FAILS}
    draw = random.Random(2)
    decided = settled = 0
    for share in (0.05, 0.4, 0.8, 0.98):
        part = evidence_of(draw.sample(complete, int(share * len(complete))))
        for claim in paper_claims.CLAIMS:
            for case in claim.cases(part):
                if case.settled and case.true is not None:
                    settled += 1
                    assert case.true == truths[claim.key][case.where], (claim.key, case)
            found = claim.judge(part)
            if found.status is not Status.OPEN and claim.quantifier != "most":
                decided += 1
                assert found.status is whole[claim.key], claim.key
    assert decided > 15
    assert settled > 500


def test_claims_of_the_abstract_on_the_papers_tables():
    own = evidence.of_paper()
    whole = {v.claim.key: v for v in paper_claims.verdicts(own, own)}
    found = {key: verdict.paper for key, verdict in whole.items()}
    assert found["reduction"].status is Status.HOLDS
    assert found["reduction"].numbers.startswith("true of 65 of 112 cases")
    assert found["at-scale"].status is Status.HOLDS
    assert "SUSY, residual 150x256" in found["at-scale"].numbers
    assert found["speed"].status is Status.HOLDS
    assert found["final-loss"].numbers.endswith("45.1% at HIGGS, residual 150x256 n=25")
    assert found["degree-speed"].status is Status.FAILS
    assert found["all-activations"].status is Status.OPEN
    assert whole["all-activations"].paper_text == "not in its tables"


@pytest.mark.slow
def test_an_existing_case_settles_a_claim_of_existence():
    relu = Cell("susy", True, 150, 256, "relu")
    store = [
        trained(relu, [0.8] * 3, [0.5] * 3),
        trained(Cell("susy", True, 5, 16, "bernstein:9"), [0.81] * 3, [0.6] * 3),
    ]
    found = {v.claim.key: v.ours for v in judged(store)}
    assert found["at-scale"].status is Status.HOLDS  # 2,226 against 9.8 million
    assert found["reduction"].status is Status.OPEN
    assert found["reduction"].so_far is True
    assert found["final-loss"].status is Status.OPEN
    assert found["final-loss"].so_far is None


def test_a_counterexample_settles_a_claim_about_all():
    cell = Cell("higgs", True, 5, 16, "relu")
    store = [
        result(cell, [[0.7, 0.5]]),
        result(on(cell, "bernstein:3"), [[0.4, 0.4]]),
        result(on(cell, "bernstein:9"), [[0.6, 0.6]]),
    ]
    found = {v.claim.key: v.ours for v in judged(store)}
    assert found["degree-speed"].status is Status.FAILS
    assert found["degree-speed"].numbers.startswith(
        "true of 0 of 1 trained cases, the paper has 168"
    )
    assert found["always-cross"].status is Status.FAILS


def test_cells_outside_the_grid_judge_no_claim():
    cell = Cell("higgs", True, 3, 8, "relu")
    store = [
        trained(cell, [0.7] * 3, [0.6] * 3),
        trained(on(cell, "bernstein:5"), [0.8] * 3, [0.1] * 3),
    ]
    for verdict in judged(store):
        assert verdict.ours.so_far is None, verdict.claim.key


@pytest.mark.slow
def test_lines_are_the_headlines():
    lines = paper_claims.lines(judged(report_stores.learning(paper()[:8])))
    assert len(lines) == 5
    assert lines[0].startswith("For most architectures a DBN with over 70% fewer")
    assert all("cannot be told" in line for line in lines)
