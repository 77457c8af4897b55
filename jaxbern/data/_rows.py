"""Check rows of numbers, and explain what is wrong with the first bad one."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbern.data._errors import DataError
from jaxbern.data._published import Published

_LARGEST = float(np.finfo(np.float32).max)


class Rows(NamedTuple):
    """Some consecutive events: features float32 ``[n, d]``, labels uint8 ``[n]``."""

    x: np.ndarray
    y: np.ndarray


def checked(x: np.ndarray, labels: np.ndarray) -> Rows | None:
    """Return the rows; None if a label is not 0 or 1 or a feature is not finite."""
    binary = ((labels == 0) | (labels == 1)).all()
    return Rows(x, labels.astype(np.uint8)) if binary and np.isfinite(x).all() else None


def refuse(
    path: Path, published: Published, lines: Iterable[tuple[int, bytes]], otherwise: str
) -> DataError:
    """Return the error for the first bad one of numbered lines.

    ``otherwise`` is the message if none of them is bad.
    """
    for number, line in lines:
        if fault := _fault(line, published):
            header = number == 1 and all(_number(f) is None for f in line.split(b","))
            advice = (
                "If this is a header, remove it: the files have none."
                if header
                else "Correct or remove this row in a copy of the file, or download the "
                f"file again with jb.data.{published.name}()."
            )
            return DataError(
                f"row {number:,} of {path} {fault}: {shown(line)}. {advice}"
            )
    return DataError(f"{path} cannot be read: {otherwise}")


def shown(line: bytes) -> str:
    """Format a line for an error message: printable, shortened in the middle."""
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 160 else f"{text[:100]} ... {text[-50:]}")


def _fault(line: bytes, published: Published) -> str | None:
    fields = line.strip().split(b",")
    if len(fields) != published.fields:
        return (
            f"has {len(fields)} fields, not the {published.fields} of "
            f"{published.name.upper()} (a label and {len(published.columns)} features)"
        )
    for name, field in zip(("label", *published.columns), fields, strict=True):
        value = _number(field)
        if value is None:
            return f"has {shown(field)} for {name}, which is not a number"
        if not abs(value) <= _LARGEST:
            return f"has {shown(field)} for {name}, which is not a finite float32"
    if float(fields[0]) not in (0, 1):
        return f"has the label {shown(fields[0])}, which must be 0 or 1"
    return None


def _number(field: bytes) -> float | None:
    try:
        return None if b"_" in field else float(field)  # Python would take 1_000
    except ValueError:
        return None
