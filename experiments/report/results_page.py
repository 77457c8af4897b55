"""``docs/results.md``: the report of a store as a page of the documentation."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from experiments.core.tables import markdown, pipe_table
from experiments.report import provenance
from experiments.report.evidence import of_paper
from experiments.report.grid_groups import METRICS
from experiments.report.report_contents import Contents
from experiments.report.report_figures import Figure

PAGE, IMAGES = "results.md", Path("images", "results")
# The figures of the page: a glance at each of the paper's subjects.
FIGURES = (
    "depth-higgs-residual",
    "depth-susy-residual",
    "savings",
    "pareto-higgs-residual-parameters",
    "pareto-susy-residual-parameters",
    "distribution-higgs-residual-auc",
    "distribution-susy-residual-auc",
)
CLOSE = 5.0  # percentage points: a saving that is about the paper's


def write(made: Contents, figures: Path, docs: Path, sections: Sequence[Path]) -> Path:
    """Write the page and its images.

    Args:
      made: the report.
      figures: the directory where its figures are.
      docs: the directory of the documentation.
      sections: Markdown files to show below the verdicts, with their images.

    Returns:
      The page.
    """
    images = docs / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    shown = [f for name in FIGURES for f in made.figures if f.name == name]
    for figure in shown:
        shutil.copyfile(figures / f"{figure.name}.svg", images / f"{figure.name}.svg")
    lines = [
        "# Results: the paper's grid, run again",
        "",
        "Made from a store of trainings by `python -m experiments report --docs docs"
        + "".join(f" --section {path.name}" for path in sections)
        + "`; "
        "[running the paper](paper.md) says how to fill one. The paper's numbers are "
        "printed beside ours.",
        "",
        *(f"> {caveat}\n" for caveat in made.caveats),
        *(f"- **{f.number}** {f.label}. {f.detail}".rstrip() for f in made.facts),
        *closeness(made),
        "",
        *_figures(shown[:2]),
        "## Verdicts on the paper's claims",
        "",
        _RULE,
        "",
        verdict_table(made),
        "",
        *(section(path, images) for path in sections),
        "## Figures",
        "",
        *_figures(shown[2:]),
        "## Tables",
        "",
        *(markdown(table, trained_only=True) for table in made.tables),
        "## What the runs were",
        "",
        *(f"- {line}" for line in _runs(made)),
        *_missing(made),
    ]
    page = docs / PAGE
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


_RULE = (
    "A claim about most architectures is judged once half of them are trained, one about "
    "all only by all of them (or one counterexample), one about any by one example. No "
    "verdict turns on one seed: it must be the same with any seed left out."
)


def verdict_table(made: Contents) -> str:
    """Make the table of claims with our verdict, the evidence and the paper's own tables."""
    head = ("claim", "verdict", "evidence", "the paper's own tables")
    lines = [
        (
            verdict.claim.text,
            f"**{verdict.ours.status.value}**"
            + (f" ({verdict.ours.leaning})" if verdict.ours.open else ""),
            verdict.ours.numbers,
            f"{verdict.paper_text}: {verdict.paper_numbers}".removesuffix(": "),
        )
        for verdict in made.verdicts
    ]
    return pipe_table([head, *lines])


def closeness(made: Contents) -> list[str]:
    """Count the savings of residual networks that are close to those the paper prints."""
    close = known = 0
    paper = of_paper().efficiency
    for (group, metric), rows in made.evidence.efficiency.items():
        printed = {(r.depth, r.width): r.efficiency for r in paper[group, metric]}
        for row in rows:
            theirs = printed.get((row.depth, row.width))
            if group.residual and row.relu_value is not None and theirs is not None:
                known += 1
                ours = row.efficiency
                close += ours is not None and abs(ours - theirs) <= CLOSE
    if not known:
        return []
    return [
        f"- **{close} of {known}** savings of residual networks, by "
        f"{' and by '.join(metric.title for metric in METRICS.values())}, are within "
        f"{CLOSE:g} percentage points of the paper's."
    ]


def section(path: Path, images: Path) -> str:
    """Insert a Markdown file one heading level lower, with copies of its images."""
    text = path.read_text(encoding="utf-8")

    def moved(found: re.Match) -> str:
        source = path.parent / found[1]
        shutil.copyfile(source, images / source.name)
        return f"]({(IMAGES / source.name).as_posix()})"

    text = re.sub(r"\]\(([^():]+\.(?:svg|png))\)", moved, text)
    return re.sub(r"^#", "##", text, flags=re.MULTILINE)


def _figures(shown: Sequence[Figure]) -> list[str]:
    return [
        f"![{figure.title}]({(IMAGES / figure.name).as_posix()}.svg)\n\n{figure.caption}\n"
        for figure in shown
    ]


def _runs(made: Contents) -> list[str]:
    results = made.reading.results
    lines = [
        f"{source.dataset.upper()}: {source.cells} cells, {source.events:,} events of "
        f"{source.source}, fingerprint {source.fingerprint}; "
        f"{provenance.rules_text(source)}"
        for source in provenance.sources(results)
    ]
    machines = provenance.environments(results)
    lines += [f"{name}: {', '.join(values)}" for name, values in machines.items()]
    return lines


def _missing(made: Contents) -> list[str]:
    missing = provenance.missing_lines(made.reading)
    if not missing:
        return []
    return ["", "## What is missing", "", *(f"- {line}" for line in missing)]
