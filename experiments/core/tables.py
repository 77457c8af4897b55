"""Tables for people and for programs, made from rows of the analysis.

A view says which *fields* a row has (plain values, the columns of CSV files) and which
*columns* people see. Both are applied to our row and to the paper's, which stand beside
each other.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
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
      title: for people.
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
    """Of anything with a depth and a width, such as "5×16"."""
    return f"{row.depth}×{row.width}"


def shape_order(row: Any) -> int:
    """To sort architectures by."""
    return row.depth * 1_000_000 + row.width
