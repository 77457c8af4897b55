"""Tables of results as Markdown, LaTeX and CSV.

A table has *fields* (plain values, the columns of CSV files) and *columns* (the text shown
to readers). Both are applied to our row and to the paper's, which are shown together.
"""

import csv
import dataclasses
import html
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Value = float | int | str | None
Fields = Mapping[str, Callable[[Any], Value]]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Attributes:
      text: our value; empty if unknown.
      sort: key to sort by; None comes last.
      paper: the paper's value; empty if it has none.
      curves: names of trained cells whose loss curves belong to it.
      strong: whether to emphasise it.
      tone: "holds", "fails" or "open", for the colour of a verdict.
    """

    text: str = ""
    sort: Value = None
    paper: str = ""
    curves: tuple[str, ...] = ()
    strong: bool = False
    tone: str = ""


@dataclasses.dataclass(frozen=True)
class Line:
    """A row; ``trained`` says whether it has any value of ours."""

    entries: tuple[Entry, ...]
    trained: bool


@dataclasses.dataclass(frozen=True)
class Column:
    """A column shown to readers.

    Attributes:
      title: its heading.
      field: the field to sort by; rows without it show nothing.
      show: function from a row to its text.
      beside: whether the paper's value is shown too.
      curves: names of trained cells whose loss curves belong to it.
      strong: whether to emphasise it.
      tone: as in :class:`Entry`.
    """

    title: str
    field: str
    show: Callable[[Any], str]
    beside: bool = True
    curves: Callable[[Any], tuple[str, ...]] = lambda row: ()
    strong: Callable[[Any], bool] = lambda row: False
    tone: Callable[[Any], str] = lambda row: ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
      name: name of its files and its anchor.
      title: shown to readers.
      caption: how to read it.
      columns: headings.
      lines: rows as shown to readers.
      records: the same rows as plain values.
      group, metric: its subject, for choosing among tables.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    records: tuple[dict[str, Value], ...]
    group: Any = None
    metric: str | None = None

    @property
    def has_paper(self) -> bool:
        """Whether it has numbers of the paper."""
        return any(entry.paper for line in self.lines for entry in line.entries)


def build(
    columns: Sequence[Column],
    fields: Fields,
    rows: Sequence[Any],
    *,
    key: Callable[[Any], Any] = lambda row: (row.depth, row.width),
    paper: Sequence[Any] = (),
    trained: Callable[[Any], bool] = lambda row: True,
    **about: Any,
) -> Table:
    """Build a table from rows.

    Args:
      columns: columns shown to readers.
      fields: columns of the CSV file.
      rows: our rows.
      key: key by which our rows and the paper's are matched.
      paper: rows of the paper.
      trained: whether a row has any value of ours.
      about: the other attributes of the table.
    """
    printed = {key(row): row for row in paper}
    pairs = [(row, printed.get(key(row))) for row in rows]
    return Table(
        columns=tuple(column.title for column in columns),
        lines=tuple(
            Line(
                tuple(_entry(column, fields, *pair) for column in columns),
                trained(pair[0]),
            )
            for pair in pairs
        ),
        records=tuple(_record(fields, *pair, bool(paper)) for pair in pairs),
        **about,
    )


def _entry(column: Column, fields: Fields, ours: Any, paper: Any | None) -> Entry:
    field = fields[column.field]

    def text(row: Any | None) -> str:
        return "" if row is None or field(row) is None else column.show(row)

    known = field(ours) is not None
    return Entry(
        text=text(ours),
        sort=field(ours),
        paper=text(paper) if column.beside else "",
        curves=column.curves(ours),
        strong=known and column.strong(ours),
        tone=column.tone(ours) if known else "",
    )


def _record(
    fields: Fields, ours: Any, paper: Any | None, beside: bool
) -> dict[str, Value]:
    record = {name: field(ours) for name, field in fields.items()}
    if beside:
        for name, field in fields.items():
            record[f"paper_{name}"] = None if paper is None else field(paper)
    return record


def shape_name(row: Any) -> str:
    """Name the shape of anything with a depth and a width, such as "5×16"."""
    return f"{row.depth}×{row.width}"


def shape_order(row: Any) -> int:
    """Return the key to sort architectures by."""
    return row.depth * 1_000_000 + row.width


UNKNOWN = "·"
Lines = list[tuple[str, ...]]  # rows of a table, the heading first


def markdown(table: Table, *, trained_only: bool = False) -> str:
    """Format as a Markdown table with title; the paper's numbers in brackets."""
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
    r"""Escape foreign text for one line of Markdown.

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
    """Format the records as CSV; unknown values are empty."""
    return _csv(table.records)


def _csv(records: Iterable[dict[str, Any]]) -> str:
    records, file = list(records), io.StringIO()
    if records:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return file.getvalue()


def latex(table: Table) -> str:
    """Format as a LaTeX ``table*`` (booktabs, xcolor); the paper's numbers in gray."""
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
    """Format records as CSV with a header line."""
    return _csv({key: _cell(value) for key, value in r.items()} for r in records)


def pipe_table(lines: Lines) -> str:
    """Format lines as a Markdown table."""
    return "\n".join(map(_pipes, [lines[0], ["---"] * len(lines[0]), *lines[1:]]))


def _cell(value: Any) -> Any:
    """Format a number with six digits, the resolution of single precision."""
    return f"{value:.6g}" if isinstance(value, float) else value
