"""The page: one self-contained file, rendered from the templates in ``assets``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.core.tables import shape_name
from experiments.report import provenance, report_drawing
from experiments.report.convergence import Curve, curves
from experiments.report.grid_groups import GROUPS, activation_name
from experiments.report.paper_claims import view
from experiments.report.report_contents import Contents
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import ACTIVATIONS, FEATURES, Cell, paper

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
    "depth": "Depth",
    "distributions": "Distributions",
    "pareto": "AUC against cost",
    "cells": "What is missing",
    "provenance": "Where the numbers come from",
    "methods": "How the numbers are made",
}


def render(contents: Contents) -> str:
    """Render the page."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters["activation_name"] = activation_name
    return templates.get_template("page.html").render(
        title=TITLE,
        sections=SECTIONS,
        activations=ACTIVATIONS,
        facts=contents.facts,
        caveats=contents.caveats,
        headlines=[v for v in contents.verdicts if v.claim.headline],
        further=view([v for v in contents.verdicts if not v.claim.headline]),
        choices=_choices(contents),
        tables={
            name: [t for t in contents.tables if t.name.startswith(f"{name}-")]
            for name in SECTIONS
        },
        figures={
            name: [f for f in contents.figures if f.section == name]
            for name in SECTIONS
        },
        untrained=[g for g in GROUPS if not contents.evidence.intervals[g]],
        curves=_json(curve_data(contents.reading.results)),
        **_cells(contents),
        **_provenance(contents),
    )


def _choices(contents: Contents) -> dict[str, tuple[str, dict[str, str], str]]:
    """Return the selectors above the tables: heading, options, the default."""
    first = next(
        (group for group in GROUPS if contents.evidence.intervals[group]), GROUPS[0]
    )
    datasets = {name: name.upper() for name in FEATURES}
    kinds = {"residual": "residual", "plain": "plain"}
    return {
        "dataset": ("Data set", datasets, first.dataset),
        "kind": ("Connections", kinds, first.kind),
        "metric": ("Metric", {"auc": "AUC", "loss": "loss"}, "auc"),
    }


def _cells(contents: Contents) -> dict[str, Any]:
    reading, grid = contents.reading, set(paper())
    return {
        "cells": len(grid),
        "left": len(grid.difference(result.cell for result in reading.results)),
        "coverage": provenance.coverage(reading),
        "problems": [
            (name, f"{word}: {reason}")
            for word in ("damaged", "failed", "running")
            for name, reason in getattr(reading, word)
        ],
    }


def _provenance(contents: Contents) -> dict[str, Any]:
    results = contents.reading.results
    environments = provenance.environments(results)
    return {
        "events": [
            (
                f"{s.dataset.upper()}, {s.cells} cells",
                f"{'simulated' if s.simulated else 'published'} events ({s.source}): "
                f"{s.events:,}, fingerprint {s.fingerprint}; {provenance.rules_text(s)}",
            )
            for s in provenance.sources(results)
        ],
        "machines": [
            (name, ", ".join(values)) for name, values in environments.items()
        ],
    }


def curve_data(results: Sequence[CellResult]) -> dict:
    """Encode the losses of every cell as small integers, for the page to draw."""
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
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
