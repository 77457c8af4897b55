"""Read Parquet and NumPy files, a bounded number of rows at a time."""

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import numpy as np

from jaxbern.data._errors import DataError
from jaxbern.data._optional import optional
from jaxbern.data._published import Published
from jaxbern.data._rows import Rows, checked, refuse

BLOCK = 1 << 16  # rows


def parquet_fields(path: Path) -> int:
    """Return the number of columns."""
    with _reading(path, "Parquet"), _parquet(path) as file:
        return file.metadata.num_columns


def npy_fields(path: Path) -> int:
    """Return the number of columns."""
    return _npy(path).shape[1]


def read_parquet(
    path: Path, published: Published, report: Callable[[int], None]
) -> Generator[Rows, None, None]:
    """Yield the rows of a Parquet file: label first, then the features as published."""
    with _reading(path, "Parquet"), _parquet(path) as file:
        _check_names(path, published, file.schema_arrow)
        size, seen, metadata = path.stat().st_size, 0, file.metadata
        for group in range(metadata.num_row_groups):
            ranges = _Ranges(metadata.row_group(group))
            for batch in file.iter_batches(BLOCK, row_groups=[group]):
                columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]
                ranges.see(columns)
                yield _rows(path, published, np.stack(columns, axis=1), seen)
                seen += batch.num_rows
                report(size * seen // metadata.num_rows)
            ranges.check()
        if seen != metadata.num_rows:
            raise ValueError(f"it has {seen} rows, its footer says {metadata.num_rows}")


class _Ranges:
    """The smallest and the largest number of each column of a row group.

    They are compared with the footer, because a page's checksum does not cover its place:
    if bytes are lost or doubled between pages, columns can be swapped.
    """

    def __init__(self, group):
        self._group = group
        self._low = np.full(group.num_columns, np.inf)
        self._high = -self._low

    def see(self, columns: list[np.ndarray]) -> None:
        """Update the ranges with some rows."""
        for place, column in enumerate(columns):
            if len(column):
                self._low[place] = min(self._low[place], column.min())
                self._high[place] = max(self._high[place], column.max())

    def check(self) -> None:
        """Raise if a range differs from the footer's, where it has one."""
        for place, seen in enumerate(zip(self._low, self._high, strict=True)):
            known = self._group.column(place).statistics
            if known is None or not known.has_min_max:
                continue
            if seen != (known.min, known.max):
                raise ValueError(
                    f"column {place + 1} ranges from {seen[0]:.9g} to {seen[1]:.9g}, its "
                    f"footer says from {known.min} to {known.max}"
                )


def read_npy(
    path: Path, published: Published, report: Callable[[int], None]
) -> Generator[Rows, None, None]:
    """Yield the rows of a two-dimensional array: label first, then the features."""
    whole = _npy(path)
    for start in range(0, len(whole), BLOCK):
        # Mapped again for each block, so that pages already read do not stay in memory.
        numbers = np.array(_npy(path)[start : start + BLOCK])
        yield _rows(path, published, numbers, start)
        report((start + len(numbers)) * whole.strides[0])


def _rows(path: Path, published: Published, numbers: np.ndarray, seen: int) -> Rows:
    with np.errstate(over="ignore"):  # overflow gives infinity, which is refused
        x = np.ascontiguousarray(numbers[:, 1:], np.float32)
    if rows := checked(x, numbers[:, 0]):
        return rows
    lines = (
        (number, ",".join(f"{value:.9g}" for value in row).encode())
        for number, row in enumerate(numbers.tolist(), seen + 1)
    )
    raise refuse(path, published, lines, "unknown reason")


def _parquet(path: Path):
    parquet = optional("pyarrow.parquet")
    return parquet.ParquetFile(path, page_checksum_verification=True)


@contextlib.contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn any error of a library on damaged bytes into a ``DataError``."""
    try:
        yield
    except (DataError, ImportError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(
            f"{path} is a damaged {what} file: {said}. Copy or write it again; it may "
            "have been cut short."
        ) from error


def _check_names(path: Path, published: Published, schema) -> None:
    types = optional("pyarrow").types
    for field in schema:
        kind = field.type
        if not (
            types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
        ):
            raise DataError(
                f"column {field.name!r} of {path} is {kind}, not a number. Write the "
                "label and the features as floats, in the published order."
            )
    for place, (name, expected) in enumerate(
        zip(schema.names[1:], published.columns, strict=True), 2
    ):
        if name != expected and name in published.columns:
            raise DataError(
                f"column {place} of {path} is {name!r}, but {published.name.upper()} "
                f"has {expected!r} there. Write the label first and then the features "
                f"in the order of jb.data.{published.name}().columns."
            )


def _npy(path: Path) -> np.ndarray:
    with _reading(path, ".npy"), warnings.catch_warnings():
        # Warnings of Python when it parses a damaged header.
        warnings.simplefilter("ignore")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError(
            f"{path} must hold one two-dimensional array of numbers, [events, 1 + "
            f"features] with the label first; it holds {array.dtype} {list(array.shape)}"
        )
    return array
