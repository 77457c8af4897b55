"""Write the report of a store into a directory: page, Markdown, tables and figures."""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from experiments.core import tables as table_formats
from experiments.report import depth_figures, paper_claims, provenance, results_page
from experiments.report.evidence import of_store
from experiments.report.report_contents import Contents, contents, judged
from experiments.report.report_page import render
from experiments.report.runtime import read_memory
from experiments.report.trained_models import models
from experiments.sweep import cell_store as store
from experiments.sweep.cell_record import CellResult

PAGE, MARKDOWN = "report.html", "report.md"


class NothingToReport(ValueError):
    """Raised when a store has no completed cell."""


def run(
    store: Path,
    out: Path,
    *,
    memory: Path | None = None,
    docs: Path | None = None,
    sections: Sequence[Path] = (),
) -> Path:
    """Write the report of a store into a directory; return the path of the page.

    Args:
      store: what ``python -m experiments sweep`` filled; it is only read.
      out: made if it does not exist; files of an earlier report are replaced.
      memory: the ``plan.csv`` of ``python -m experiments plan --card``, for the memory of
        cells.
      docs: a directory of documentation that gets ``results.md`` and its images.
      sections: Markdown files that ``results.md`` shows below the verdicts.

    Raises:
      FileNotFoundError: there is no store, or no such file.
      NothingToReport: the store has no completed cell.
      ValueError: the file has another format.
    """
    for path in sections:
        if not path.is_file():
            raise FileNotFoundError(f"--section must be a Markdown file, got {path}")
    reading = _read(store)
    taken = read_memory(memory) if memory else None
    figures, tables = out / "figures", out / "tables"
    for folder in (figures, tables):
        folder.mkdir(parents=True, exist_ok=True)
    made = contents(reading, figures, taken)
    for table in (paper_claims.view(made.verdicts), *made.tables):
        _write(tables / f"{table.name}.md", table_formats.markdown(table))
        _write(tables / f"{table.name}.csv", table_formats.comma_separated(table))
        _write(tables / f"{table.name}.tex", table_formats.latex(table))
    _write_models(reading.results, tables / "models.csv")
    _write(out / MARKDOWN, markdown(made))
    _write(out / PAGE, render(made))
    if docs:
        results_page.write(made, figures, docs, sections)
    return out / PAGE


def verdict_lines(store: Path) -> list[str]:
    """Return the verdicts on the headline claims, one line each.

    Raises:
      FileNotFoundError: there is no store.
      NothingToReport: it has no completed cell.
    """
    return paper_claims.lines(judged(_read(store).results))


def depth_lines(store: Path) -> list[str]:
    """Describe what depth does to ReLU and to DBN n=3 in each residual group."""
    tables = of_store(_read(store).results).intervals
    return [
        line
        for group, rows in tables.items()
        if group.residual
        for line in depth_figures.lines(rows, group)
    ]


def _read(root: Path) -> store.Reading:
    reading = store.read(root)
    if not reading.results:
        begun = len(reading.running) + len(reading.damaged) + len(reading.failed)
        others = f" ({begun} begun, damaged or failed)" if begun else ""
        raise NothingToReport(
            f"{root} must hold at least one completed cell to report, and has none"
            f"{others}; python -m experiments sweep --preset demo trains some in minutes"
        )
    return reading


def markdown(made: Contents) -> str:
    """Format everything except the curves as Markdown."""
    lines = ["# The paper's experiments, run again", ""]
    lines += [f"> {caveat}\n" for caveat in made.caveats]
    lines += [f"- **{fact.number}** {fact.label}. {fact.detail}" for fact in made.facts]
    lines += [
        "",
        "## Verdicts",
        "",
        table_formats.markdown(paper_claims.view(made.verdicts)),
    ]
    lines += ["## Tables", ""]
    lines += [table_formats.markdown(table, trained_only=True) for table in made.tables]
    lines += ["## Figures", ""]
    lines += [
        f"![{figure.title}](figures/{figure.name}.png)\n\n{figure.caption}\n"
        for figure in made.figures
    ]
    lines += ["## What is missing", ""]
    lines += [
        f"- {table_formats.escaped(line)}"
        for line in provenance.missing_lines(made.reading)
    ]
    lines += ["", "## Where the numbers come from", ""]
    lines += [
        f"- {source.dataset.upper()}: {source.cells} cells, "
        f"{table_formats.escaped(source.source)}, {source.events:,} events, fingerprint "
        f"{table_formats.escaped(source.fingerprint)}; {provenance.rules_text(source)}"
        for source in provenance.sources(made.reading.results)
    ]
    machines = provenance.environments(made.reading.results)
    lines += [
        "- " + table_formats.escaped(f"{name}: {', '.join(values)}")
        for name, values in machines.items()
    ]
    return "\n".join(lines) + "\n"


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", errors="backslashreplace")


def _write_models(results: list[CellResult], path: Path) -> None:
    """Write every seed of every cell, from which all tables are computed."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = ("dataset", "residual", "depth", "width", "activation")
        numbers = ("seed", "parameters", "auc", "loss", "epochs", "seconds", "flops")
        writer.writerow([*names, *numbers])
        for model in models(results):
            cell = dataclasses.astuple(model.cell)
            writer.writerow([*cell, *(getattr(model, name) for name in numbers)])
