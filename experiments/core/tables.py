"""Tables to read and to compute with, made from rows of the analysis.

A view says which *fields* a row has (plain values, the columns of CSV files) and which
*columns* people see. Both are applied to our row and to the paper's, which stand beside
each other.
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
    """What stands in a row and a column.

    Attributes:
      text: ours; empty if it is not known.
      sort: what to sort by; None comes last.
      paper: what the paper has there; empty if nothing.
      curves: names of cells whose losses explain it.
      strong: whether to draw the eye to it.
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
    """A row; ``trained`` tells whether anything in it is ours."""

    entries: tuple[Entry, ...]
    trained: bool


@dataclasses.dataclass(frozen=True)
class Column:
    """What people see of a row.

    Attributes:
      title: its heading.
      field: what it is sorted by; if a row has none, nothing is shown.
      show: the text for a row.
      beside: whether the paper's is shown too.
      curves: names of cells whose losses explain it.
      strong: whether to draw the eye to it.
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
      name: of its files and its anchor.
      title: shown to readers.
      caption: how to read it.
      columns: headings.
      lines: rows as people see them.
      records: the same as plain values.
      group, metric: what it is about, for choosing among tables.
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
        """Whether the paper's numbers are in it."""
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
    """A table of rows.

    Args:
      columns: what people see.
      fields: what programs read.
      rows: ours.
      key: what our row and the paper's have in common.
      paper: its rows.
      trained: whether anything of a row is ours.
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
    """To sort architectures by."""
    return row.depth * 1_000_000 + row.width


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
