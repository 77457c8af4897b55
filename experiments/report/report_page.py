"""The page: one file that needs nothing else."""

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

import numpy as np

from experiments.core.tables import shape_name
from experiments.report import markup, provenance, report_drawing, verdicts
from experiments.report.convergence import Curve, curves
from experiments.report.grid_groups import GROUPS, activation_name
from experiments.report.report_contents import Contents
from experiments.sweep.cell_results import CellResult
from experiments.sweep.grid import FEATURES, Cell, paper

FOLDER = Path(__file__).parent / "assets"
TITLE = "Bernstein activations: the paper’s experiments, run again"
SCALE = 10_000  # losses in the page are integers of this fraction
SECTIONS = {
    "verdicts": "Verdicts",
    "overview": "Overview",
    "efficiency": "Parameter efficiency",
    "convergence": "Convergence",
    "runtime": "Runtime",
    "seeds": "Over the seeds",
    "distributions": "Distributions",
    "pareto": "AUC against cost",
    "cells": "What is missing",
    "provenance": "Where the numbers come from",
    "methods": "How the numbers are made",
}


def render(contents: Contents) -> str:
    """The whole page as text."""
    return Template((FOLDER / "page.html").read_text("utf-8")).substitute(
        title=TITLE,
        style=(FOLDER / "style.css").read_text("utf-8"),
        script=(FOLDER / "script.js").read_text("utf-8"),
        navigation=_navigation(),
        lead=_lead(contents),
        caveats=_caveats(contents.caveats),
        main=_main(contents),
        curves=_json(curve_data(contents.reading.results)),
        footer="Made by <code>python -m experiments report</code>. The tables beside this "
        "page are in <code>tables/</code>, the figures in <code>figures/</code>, and all "
        'of it as text in <a href="report.md">report.md</a>.',
    )


def _navigation() -> str:
    return "".join(f'<a href="#{name}">{title}</a>' for name, title in SECTIONS.items())


def _lead(contents: Contents) -> str:
    return (
        "In a DBN every neuron learns its own activation, a polynomial of degree n in "
        "Bernstein form. The paper (<cite>Exponential Approximation Rates and Parameter "
        "Efficiency of Learnable Bernstein Activations</cite>) trains 1,344 networks on two "
        "data sets of particle physics to compare them with ReLU and other fixed "
        "activations. Here are its tables and figures from "
        f"<strong>{contents.facts[0].number} cells</strong> ({contents.facts[0].detail}), "
        "with the paper’s own numbers beside them in small print."
    )


def _caveats(texts: Sequence[str]) -> str:
    if not texts:
        return ""
    return "".join(
        f'<div class="caveat" role="note"><p>{markup.escape(text)}</p></div>'
        for text in texts
    )


def _main(contents: Contents) -> str:
    return "".join(
        [
            _verdicts(contents),
            _overview(contents),
            _tools(contents),
            _tables(contents, "efficiency"),
            _tables(contents, "convergence"),
            _tables(contents, "runtime"),
            _tables(contents, "seeds"),
            _figures(contents, "distributions"),
            _figures(contents, "pareto"),
            _cells(contents),
            _provenance(contents),
            markup.section(
                "methods",
                SECTIONS["methods"],
                (FOLDER / "methods.html").read_text("utf-8"),
            ),
        ]
    )


def _verdicts(contents: Contents) -> str:
    headlines = [v for v in contents.verdicts if v.claim.headline]
    others = [v for v in contents.verdicts if not v.claim.headline]
    further = markup.table(verdicts.view(others), words=True)
    return markup.section(
        "verdicts",
        SECTIONS["verdicts"],
        '<p class="rule">What the paper’s abstract claims, judged by the cells that are '
        "trained here.</p>",
        markup.cards(markup.verdict_card(verdict) for verdict in headlines),
        f"<details><summary>{len(others)} further claims of its sections</summary>"
        f"{further}</details>",
    )


def _overview(contents: Contents) -> str:
    return markup.section(
        "overview",
        SECTIONS["overview"],
        markup.cards(markup.fact_card(fact) for fact in contents.facts),
        *(markup.figure(f) for f in contents.figures if f.section == "overview"),
    )


def _tools(contents: Contents) -> str:
    """The bar that chooses what the sections below show."""
    first = next(
        (group for group in GROUPS if contents.evidence.intervals[group]), GROUPS[0]
    )
    choices = {
        "dataset": (
            "Data set",
            {name: name.upper() for name in FEATURES},
            first.dataset,
        ),
        "kind": ("Connections", {"residual": "residual", "plain": "plain"}, first.kind),
        "metric": ("Metric", {"auc": "AUC", "loss": "loss"}, "auc"),
    }
    fields = "".join(
        f'<fieldset><legend class="sr">{title}</legend>'
        + "".join(
            f'<label><input type="radio" name="{name}" value="{value}"'
            f"{' checked' if value == chosen else ''}><span>{label}</span></label>"
            for value, label in options.items()
        )
        + "</fieldset>"
        for name, (title, options, chosen) in choices.items()
    )
    return (
        f'<div class="tools" id="tools" role="group" aria-label="What to show">{fields}'
        '<input type="search" placeholder="filter rows: 5x16, n=9" '
        'aria-label="Filter the rows of all tables">'
        '<label class="check"><input type="checkbox" checked> only what is trained</label>'
        "</div>"
    )


def _tables(contents: Contents, name: str) -> str:
    return markup.section(
        name,
        SECTIONS[name],
        *(
            markup.table(table)
            for table in contents.tables
            if table.name.startswith(f"{name}-")
        ),
        *(markup.figure(f) for f in contents.figures if f.section == name),
    )


def _figures(contents: Contents, name: str) -> str:
    drawn = [figure for figure in contents.figures if figure.section == name]
    empty = [g for g in GROUPS if not contents.evidence.intervals[g]]
    return markup.section(
        name,
        SECTIONS[name],
        *(markup.figure(figure) for figure in drawn),
        *(
            f'<p class="empty"{markup.part_attributes(f"{name}-{group.name}", group, None)}>'
            f"No cell of {group.title} is trained yet.</p>"
            for group in empty
        ),
    )


def _cells(contents: Contents) -> str:
    reading = contents.reading
    problems = [
        (name, f"{word}: {reason}")
        for word in ("damaged", "failed", "running")
        for name, reason in getattr(reading, word)
    ]
    grid = set(paper())
    left = len(grid.difference(result.cell for result in reading.results))
    return markup.section(
        "cells",
        SECTIONS["cells"],
        f'<p class="rule">{left} of {len(grid)} cells. ✓ trained, · not trained, '
        "✗ damaged, failed or still running. "
        "<code>python -m experiments sweep --preset paper</code> trains what is missing; "
        "its filters choose a part.</p>",
        *(markup.coverage(covered) for covered in provenance.coverage(reading)),
        markup.pairs(problems) if problems else "",
    )


def _provenance(contents: Contents) -> str:
    results = contents.reading.results
    events = [
        (
            f"{s.dataset.upper()}, {s.cells} cells",
            f"{'simulated' if s.simulated else 'published'} events ({s.source}): "
            f"{s.events:,}, fingerprint {s.fingerprint}; {provenance.rules_text(s)}",
        )
        for s in provenance.sources(results)
    ]
    machines = [
        (name, ", ".join(values))
        for name, values in provenance.environments(results).items()
    ]
    return markup.section(
        "provenance",
        SECTIONS["provenance"],
        "<h3>Events and rules</h3>",
        markup.pairs(events),
        "<h3>Software and machines</h3>",
        markup.pairs(machines),
    )


def curve_data(results: Sequence[CellResult]) -> dict:
    """Losses of every cell for the page to draw, as small integers."""
    return {
        "scale": SCALE,
        "cells": {
            cell.name: _curve(cell, curve)
            for cell, curve in curves(results).items()
            if np.isfinite(curve.highest).all()
        },
    }


def _curve(cell: Cell, curve: Curve) -> dict:
    return {
        "label": f"{activation_name(cell.activation)}, {shape_name(cell)}",
        "colour": report_drawing.variable(cell.activation),
        "median": _integers(curve.median),
        "low": _integers(curve.lowest),
        "high": _integers(curve.highest),
    }


def _integers(losses) -> list[int]:
    return [round(float(loss) * SCALE) for loss in losses]


def _json(data: dict) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
