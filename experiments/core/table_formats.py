"""Tables as Markdown, CSV and LaTeX, the same bytes for the same numbers."""

import csv
import html
import io
import re
from collections.abc import Iterable
from typing import Any

from experiments.core.tables import Entry, Table

UNKNOWN = "·"
Lines = list[tuple[str, ...]]  # of a table, its head first


def markdown(table: Table, *, trained_only: bool = False) -> str:
    """A pipe table under its title; the paper's numbers in brackets."""
    lines = [line for line in table.lines if line.trained or not trained_only]
    note = " The paper's numbers are in square brackets." if table.has_paper else ""
    parts = [
        f"### {table.title}",
        "",
        table.caption + note,
        "",
        pipe_table(
            [
                table.columns,
                *(tuple(map(_markdown_entry, line.entries)) for line in lines),
            ]
        ),
        "",
    ]
    left = len(table.lines) - len(lines)
    if left:
        parts += [f"{left} architectures of the paper are not trained yet.", ""]
    return "\n".join(parts)


def escaped(text: str) -> str:
    r"""A text from elsewhere in one line of Markdown, none of it markup.

    >>> escaped("a_b <i>\n# c")
    'a\\_b &lt;i&gt; \\# c'
    """
    line = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_\[\]{}#|!~])", r"\\\1", line)


def _pipes(entries) -> str:
    return "| " + " | ".join(entry.replace("|", "\\|") for entry in entries) + " |"


def _markdown_entry(entry: Entry) -> str:
    text = entry.text or UNKNOWN
    text = f"**{text}**" if entry.strong else text
    return f"{text} [{entry.paper}]" if entry.paper else text


def comma_separated(table: Table) -> str:
    """The records; nothing stands for what is not known."""
    return _csv(table.records)


def _csv(records: Iterable[dict[str, Any]]) -> str:
    records, file = list(records), io.StringIO()
    if records:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return file.getvalue()


def latex(table: Table) -> str:
    """A ``table*`` for documents with booktabs and xcolor; the paper's numbers in gray."""
    gray = " The paper's numbers are in gray." if table.has_paper else ""
    rows = [
        " & ".join(_latex_entry(entry) for entry in line.entries) + r" \\"
        for line in table.lines
    ]
    return "\n".join(
        [
            r"\begin{table*}[t]",
            r"\centering\footnotesize",
            rf"\caption{{\textbf{{{_tex(table.title)}.}} {_tex(table.caption + gray)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"\toprule",
            " & ".join(_tex(column) for column in table.columns) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table*}",
            "",
        ]
    )


def _latex_entry(entry: Entry) -> str:
    text = _tex(entry.text) or r"$\cdot$"
    text = rf"\textbf{{{text}}}" if entry.strong else text
    return rf"{text} \textcolor{{gray}}{{{_tex(entry.paper)}}}" if entry.paper else text


_TEX = {
    "\\": r"\textbackslash{}",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "±": r"$\pm$",
    "−": r"$-$",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    **{sign: rf"\{sign}" for sign in "%&_#${}"},
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def csv_text(records: Iterable[dict[str, Any]]) -> str:
    """A line for each record, and the names of the columns."""
    return _csv({key: _cell(value) for key, value in r.items()} for r in records)


def pipe_table(lines: Lines) -> str:
    """A Markdown table of these lines."""
    return "\n".join(map(_pipes, [lines[0], ["---"] * len(lines[0]), *lines[1:]]))


def _cell(value: Any) -> Any:
    """Six digits: what single precision can tell apart, and no more."""
    return f"{value:.6g}" if isinstance(value, float) else value
