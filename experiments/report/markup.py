"""Parts of the page as HTML."""

from collections.abc import Iterable, Sequence
from html import escape

from experiments.core.tables import Entry, Line, Table
from experiments.report import verdicts
from experiments.report.grid_groups import Group, activation_name
from experiments.report.judging import Status
from experiments.report.paper_claims import Verdict
from experiments.report.provenance import DONE, NOT_TRAINED, Coverage
from experiments.report.report_figures import Figure
from experiments.report.summary import Fact

MARKS = {"holds": "✓", "fails": "✗", "open": "…"}
SIGNS = {DONE: ("✓", "done"), NOT_TRAINED: ("·", "not")}


def attributes(**values: object) -> str:
    """Those that are not None; ``class_`` gives ``class``, ``data_sort`` ``data-sort``."""
    return "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in values.items()
        if value is not None
    )


def part_attributes(name: str, group: Group | None, metric: str | None) -> str:
    """What the page chooses by."""
    return attributes(
        id=name,
        data_dataset=group and group.dataset,
        data_kind=group and group.kind,
        data_metric=metric,
    )


def table(table: Table, *, words: bool = False) -> str:
    """A table with its heading, sortable by every column."""
    files = ", ".join(
        f'<a href="tables/{table.name}.{suffix}">{suffix}</a>'
        for suffix in ("csv", "md", "tex")
    )
    heads = "".join(
        f'<th scope="col" aria-sort="none"><button type="button" class="sort">'
        f"{escape(column)}</button></th>"
        for column in table.columns
    )
    rows = "".join(_row(line) for line in table.lines)
    title = table.title.rpartition(": ")[2]  # the section has the rest above it
    style = "results words" if words else "results"
    return (
        f'<div class="part"{part_attributes(table.name, table.group, table.metric)}>'
        f'<header><h3><a class="anchor" href="#{table.name}">{escape(title)}</a></h3>'
        f'<span class="files">{files}</span></header>'
        f'<p class="rule">{escape(table.caption)}</p>'
        f'<p class="empty" hidden>No row to show: nothing of this is trained yet, or the '
        f"filter leaves nothing.</p>"
        f'<div class="scroll" role="region" tabindex="0" '
        f'aria-label="{escape(table.title)}"><table class="{style}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _row(line: Line) -> str:
    words = " ".join(entry.text for entry in line.entries)
    start = attributes(data_words=words, data_trained="1" if line.trained else None)
    first, *others = line.entries
    return f"<tr{start}>{_first(first)}{''.join(_cell(entry) for entry in others)}</tr>"


def _first(entry: Entry) -> str:
    """The head of a row; a button, so that its curves can be had from the keyboard."""
    text = escape(entry.text)
    if entry.curves:
        curves = attributes(data_curves=" ".join(entry.curves))
        text = f'<button type="button"{curves}>{text}</button>'
    return f'<th scope="row"{attributes(data_sort=entry.sort)}>{text}</th>'


def _cell(entry: Entry) -> str:
    start = attributes(
        data_sort=entry.sort,
        data_curves=" ".join(entry.curves) or None,
        class_="strong" if entry.strong else None,
    )
    text = escape(entry.text) or '<span class="muted">·</span>'
    if entry.tone:
        text = badge(entry.tone, entry.text)
    paper = ""
    if entry.paper:
        paper = f'<small><span class="sr">paper: </span>{escape(entry.paper)}</small>'
    return f"<td{start}>{text}{paper}</td>"


def badge(tone: str, text: str) -> str:
    """A status in its colour, with a mark for those who see no colours."""
    return f'<span class="badge {tone}">{MARKS[tone]} {escape(text)}</span>'


def verdict_card(verdict: Verdict) -> str:
    """A headline claim."""
    ours, paper, claim = verdict.ours, verdict.paper, verdict.claim
    standing = f" {verdicts.leaning(ours)}:" if ours.status is Status.OPEN else ""
    numbers = verdicts.paper_numbers(paper)
    own = verdicts.paper_text(paper) + (f": {numbers}" if numbers else "")
    return (
        f'<article class="card" id="claim-{claim.key}">'
        f"{badge(ours.status.tone, ours.status.value)}"
        f'<p class="claim">{escape(claim.text)}</p>'
        f"<p><strong>Our cells:</strong>{standing} {escape(ours.numbers)}.</p>"
        f'<p class="muted"><strong>The paper’s own tables:</strong> {escape(own)}.</p>'
        f'<p class="muted">{escape(claim.where)}</p></article>'
    )


def fact_card(fact: Fact) -> str:
    """A number."""
    return (
        f'<div class="card fact"><p class="number">{escape(fact.number)}</p>'
        f'<p>{escape(fact.label)}</p><p class="muted">{escape(fact.detail)}</p></div>'
    )


def cards(parts: Iterable[str]) -> str:
    """As many beside each other as there is room for."""
    return f'<div class="cards">{"".join(parts)}</div>'


def figure(figure: Figure) -> str:
    """A figure with its caption and files."""
    files = ", ".join(
        f'<a href="figures/{figure.name}.{suffix}">{suffix}</a>'
        for suffix in ("png", "svg")
    )
    return (
        f"<figure{part_attributes(figure.name, figure.group, figure.metric)}>"
        f'<div class="drawing" role="img" aria-label="{escape(figure.title)}">'
        f"{figure.svg}</div><figcaption>{escape(figure.caption)} "
        f'<span class="files">{files}</span></figcaption></figure>'
    )


def section(name: str, title: str, *parts: str) -> str:
    """A section with an anchor."""
    return f'<section id="{name}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def coverage(covered: Coverage) -> str:
    """Which cells of a group are trained."""
    names = list(next(iter(covered.states.values())))
    heads = "".join(f'<th scope="col">{activation_name(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{depth}×{width}</th>'
        + "".join(_state(states[name]) for name in names)
        + "</tr>"
        for (depth, width), states in covered.states.items()
    )
    title = covered.group.title
    start = part_attributes(f"cells-{covered.group.name}", covered.group, None)
    return (
        f'<div class="part"{start}>'
        f'<h3>{escape(title)}</h3><div class="scroll" role="region" tabindex="0" '
        f'aria-label="Cells of {escape(title)}"><table class="coverage"><thead><tr>'
        f'<th scope="col">Architecture</th>{heads}</tr></thead><tbody>{rows}</tbody>'
        "</table></div></div>"
    )


def _state(state: str) -> str:
    sign, style = SIGNS.get(state, ("✗", "wrong"))
    return (
        f'<td class="{style}" title="{state}"><span aria-hidden="true">{sign}</span>'
        f'<span class="sr">{state}</span></td>'
    )


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values."""
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        f'<div class="scroll"><table class="about"><tbody>{lines}</tbody></table></div>'
    )
