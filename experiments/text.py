"""Tables as CSV and as Markdown, the same bytes for the same numbers."""

import csv
import io
from collections.abc import Iterable
from typing import Any

Lines = list[tuple[str, ...]]  # of a table, its head first


def csv_text(records: Iterable[dict[str, Any]]) -> str:
    """A line for each record, and the names of the columns."""
    records = [{key: _cell(value) for key, value in r.items()} for r in records]
    text = io.StringIO()
    writer = csv.DictWriter(text, records[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def table(lines: Lines) -> str:
    """In Markdown."""
    rule = ("---",) * len(lines[0])
    ruled = [lines[0], rule, *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def _cell(value: Any) -> Any:
    """Six digits: what single precision can tell apart, and no more."""
    return f"{value:.6g}" if isinstance(value, float) else value
