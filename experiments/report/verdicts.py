"""Verdicts as a table, and in words."""

from collections.abc import Sequence

from experiments.core.tables import Column, Fields, Table, build
from experiments.report.judging import Judgement, Status
from experiments.report.paper_claims import Verdict

FIELDS: Fields = {
    "claim": lambda verdict: verdict.claim.key,
    "text": lambda verdict: verdict.claim.text,
    "where": lambda verdict: verdict.claim.where,
    "headline": lambda verdict: int(verdict.claim.headline),
    "ours": lambda verdict: ours_text(verdict.ours),
    "numbers": lambda verdict: verdict.ours.numbers,
    "paper": lambda verdict: paper_text(verdict.paper),
    "paper_numbers": lambda verdict: paper_numbers(verdict.paper),
}
_TITLES = {
    "text": "Claim",
    "where": "In the paper",
    "ours": "Our cells",
    "numbers": "Numbers",
    "paper": "Its own tables",
    "paper_numbers": "Their numbers",
}


def view(verdicts: Sequence[Verdict]) -> Table:
    """Each claim, on our cells and on the paper's own tables."""
    tones = {
        "ours": lambda verdict: verdict.ours.status.tone,
        "paper": lambda verdict: verdict.paper.status.tone,
    }
    return build(
        [
            Column(
                title,
                field,
                lambda verdict, field=field: str(FIELDS[field](verdict)),
                tone=tones.get(field, lambda verdict: ""),
            )
            for field, title in _TITLES.items()
        ],
        FIELDS,
        verdicts,
        key=lambda verdict: verdict.claim.key,
        name="claims",
        title="The paper's claims",
        caption="Judged by our cells, and by the tables that the paper itself prints.",
    )


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """The headline claims, one line each."""
    return [
        f"{verdict.claim.text}: {ours_text(verdict.ours)} ({verdict.ours.numbers})"
        for verdict in verdicts
        if verdict.claim.headline
    ]


def ours_text(judgement: Judgement) -> str:
    """The status and, if it is open, how it stands."""
    if judgement.status is not Status.OPEN:
        return judgement.status.value
    return f"{judgement.status.value}, {leaning(judgement)}"


def leaning(judgement: Judgement) -> str:
    """How an open one stands."""
    if judgement.so_far is None:
        return "nothing known yet"
    return "so far it holds" if judgement.so_far else "so far it does not hold"


def paper_text(judgement: Judgement) -> str:
    """The same for the paper, where an open one is about what it has no tables of."""
    if judgement.status is Status.OPEN:
        return "not in its tables"
    return judgement.status.value


def paper_numbers(judgement: Judgement) -> str:
    """Nothing if it has no tables of it."""
    return "" if judgement.status is Status.OPEN else judgement.numbers
