"""The paper's claims about its trainings, each with the cases that decide it."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence

from experiments.core.tables import Column, Fields, Table, build
from experiments.report import claim_cases
from experiments.report.evidence import Evidence
from experiments.report.grid_groups import Group
from experiments.report.judging import Case, Judgement, Quantifier, judge


def percent(value: float) -> str:
    """Print a percentage, such as "99.3%"."""
    return f"{value:.1f}%"


def share(value: float) -> str:
    """Print a share of one, such as "26%"."""
    return f"{value:.0%}" if value < float("inf") else "never"


def times(value: float) -> str:
    """Print a ratio, such as "1.50x"."""
    return f"{value:.2f}x"


def difference(value: float) -> str:
    """Print a difference with its sign."""
    return f"{value:+.4f}"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words.

    Attributes:
      key: for files and anchors.
      text: the statement.
      where: in the paper.
      quantifier: whether it is about any, most or all of its cases.
      cases: reads them off tables.
      show, extreme: which number to report, as in :func:`judging.judge`.
      headline: whether the abstract makes it.
    """

    key: str
    text: str
    where: str
    quantifier: Quantifier
    cases: Callable[[Evidence], Iterable[Case]]
    show: Callable[[float], str] = percent
    extreme: Callable[[Sequence[float]], float] | None = None
    headline: bool = False

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge the claim by these tables."""
        return judge(
            self.quantifier,
            list(self.cases(evidence)),
            show=self.show,
            extreme=self.extreme,
        )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A claim, what our cells say, and what the paper's own tables say."""

    claim: Claim
    ours: Judgement
    paper: Judgement

    @property
    def paper_text(self) -> str:
        """The verdict by the paper's own tables, or that they do not contain it."""
        return "not in its tables" if self.paper.open else str(self.paper)

    @property
    def paper_numbers(self) -> str:
        """The numbers of the paper's own tables; empty if they do not contain them."""
        return "" if self.paper.open else self.paper.numbers


def verdicts(
    ours: Evidence, paper: Evidence, one_seed_less: Sequence[Evidence] = ()
) -> list[Verdict]:
    """Judge every claim.

    Args:
      ours: the tables of all our cells.
      paper: the tables that the paper prints.
      one_seed_less: our tables with each seed left out in turn.
    """
    return [
        Verdict(
            claim,
            claim.judge(ours).unless_one_seed_decides(
                [claim.judge(evidence) for evidence in one_seed_less]
            ),
            claim.judge(paper),
        )
        for claim in CLAIMS
    ]


FIELDS: Fields = {
    "claim": lambda verdict: verdict.claim.key,
    "text": lambda verdict: verdict.claim.text,
    "where": lambda verdict: verdict.claim.where,
    "headline": lambda verdict: int(verdict.claim.headline),
    "ours": lambda verdict: str(verdict.ours),
    "numbers": lambda verdict: verdict.ours.numbers,
    "paper": lambda verdict: verdict.paper_text,
    "paper_numbers": lambda verdict: verdict.paper_numbers,
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
    """Make the table of claims, judged by our cells and by the paper's own tables."""
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
    """Return the verdicts on the headline claims, one line each."""
    return [
        f"{verdict.claim.text}: {verdict.ours} ({verdict.ours.numbers})"
        for verdict in verdicts
        if verdict.claim.headline
    ]


CLAIMS = (
    Claim(
        "reduction",
        "For most architectures a DBN with over 70% fewer parameters beats the best ReLU",
        "abstract; tables of experiment 2", "most", claim_cases.reductions(70),
        extreme=statistics.median, headline=True,
    ),
    Claim(
        "at-scale",
        "The saving reaches 99.9% at scale",
        "abstract, section 4.2", "any", claim_cases.reductions(99.85),
        extreme=max, headline=True,
    ),
    Claim(
        "speed",
        "A DBN reaches ReLU's final loss in as few as 26% of ReLU's epochs",
        "abstract (24% in the introduction)", "any",
        claim_cases.crossovers(lambda share: share <= 0.26),
        show=share, extreme=min, headline=True,
    ),
    Claim(
        "final-loss",
        "The final loss is up to 45% lower than ReLU's",
        "abstract, section 4.3", "any", claim_cases.changes(-45),
        extreme=max, headline=True,
    ),
    Claim(
        "all-activations",
        "The best of all networks, by AUC and by loss, is a DBN on either data set, "
        "with skips and without",
        "abstract, section 4.4", "all", claim_cases.best_is_dbn, headline=True,
    ),
    Claim(
        "every-architecture",
        "In most architectures the best DBN has a higher AUC than each fixed activation",
        "section 4.4", "most", claim_cases.dbn_over_fixed,
    ),
    Claim(
        "not-smoothness",
        "Leaky ReLU, SELU and GeLU reach no meaningfully higher AUC than ReLU",
        "section 4.4", "all", claim_cases.smooth_like_relu, show=difference, extreme=max,
    ),
    Claim(
        "deep",
        "From 50 layers on, the saving is above 85% at every width (AUC)",
        "section 4.2", "all", claim_cases.deep_reductions(85), extreme=min,
    ),
    Claim(
        "monotone",
        "The saving never falls as networks become deeper or wider (AUC)",
        "section 4.2", "all", claim_cases.growing,
    ),
    Claim(
        "negative",
        "Only the smallest architectures (5 layers, up to 128 wide) are beaten by no "
        "DBN of their size",
        "section 4.2", "all", claim_cases.not_negative,
    ),
    Claim(
        "susy",
        "The saving on SUSY is never below that on HIGGS",
        "section 4.2", "all", claim_cases.susy_over_higgs,
    ),
    Claim(
        "qualifying",
        "Against most ReLU architectures, the majority of all DBN models is better (AUC)",
        "section 4.2", "most", claim_cases.most_qualify,
    ),
    Claim(
        "typical-speed",
        "On HIGGS the crossover typically comes in half of ReLU's epochs or earlier",
        "section 4.3", "most",
        claim_cases.crossovers(lambda share: share <= 0.5, groups=(Group("higgs", True),)),
        show=share, extreme=statistics.median,
    ),
    Claim(
        "degree-speed",
        "A higher degree never crosses over later",
        "section 4.3", "all", claim_cases.earlier_with_degree,
    ),
    Claim(
        "always-cross",
        "From degree 9 on, every residual DBN falls below ReLU's final loss",
        "section 4.3", "all", claim_cases.higher_degrees_cross,
    ),
    Claim(
        "scaling",
        "In most cases the loss improves more at n=25 than at n=3, and at 150 layers "
        "than at 5",
        "section 4.3", "most", claim_cases.improvement_grows,
    ),
    Claim(
        "epoch-cost",
        "An epoch mostly takes at most twice as long as ReLU's",
        "appendix G", "most", claim_cases.epoch_costs(2),
        show=times, extreme=statistics.median,
    ),
    Claim(
        "faster-in-total",
        "Large DBNs (n=9) train in less total time than ReLU, having fewer epochs",
        "appendix G", "all", claim_cases.large_is_faster, show=times, extreme=min,
    ),
    Claim(
        "memory",
        "At 150x256 a DBN takes about 1.5 times the memory of ReLU, not more",
        "appendix G", "all", claim_cases.memory(1.55), show=times, extreme=max,
    ),
)  # fmt: skip
