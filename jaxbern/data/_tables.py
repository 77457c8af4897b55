"""Parquet and NumPy files to numbers, a bounded number of rows at a time."""

from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np

from jaxbern.data._errors import DataError
from jaxbern.data._optional import optional
from jaxbern.data._published import Published
from jaxbern.data._rows import Rows, checked, refuse

BLOCK = 1 << 16  # rows


def parquet_fields(path: Path) -> int:
    """The number of columns."""
    return _parquet(path).metadata.num_columns


def npy_fields(path: Path) -> int:
    """The number of columns."""
    return _npy(path).shape[1]


def read_parquet(
    path: Path, published: Published, report: Callable[[int], None]
) -> Generator[Rows, None, None]:
    """The rows of a Parquet file: label first, then the features as published."""
    with _parquet(path) as file:
        _check_names(path, published, file.schema_arrow)
        size, seen = path.stat().st_size, 0
        pa = optional("pyarrow")
        try:
            for batch in file.iter_batches(BLOCK):
                columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]
                yield _rows(path, published, np.stack(columns, axis=1), seen)
                seen += batch.num_rows
                report(size * seen // file.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, "Parquet", error) from error


def read_npy(
    path: Path, published: Published, report: Callable[[int], None]
) -> Generator[Rows, None, None]:
    """The rows of a two-dimensional array: label first, then the features."""
    whole = _npy(path)
    for start in range(0, len(whole), BLOCK):
        # Mapped anew for each block: what has been read does not stay in memory.
        numbers = np.array(_npy(path)[start : start + BLOCK])
        yield _rows(path, published, numbers, start)
        report((start + len(numbers)) * whole.strides[0])


def _rows(path: Path, published: Published, numbers: np.ndarray, seen: int) -> Rows:
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        x = np.ascontiguousarray(numbers[:, 1:], np.float32)
    if rows := checked(x, numbers[:, 0]):
        return rows
    lines = (
        (number, ",".join(f"{value:.9g}" for value in row).encode())
        for number, row in enumerate(numbers.tolist(), seen + 1)
    )
    raise refuse(path, published, lines, "unknown reason")


def _parquet(path: Path):
    pa, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    try:
        return parquet.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, "Parquet", error) from error


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
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _damaged(path, ".npy", error) from error
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError(
            f"{path} must hold one two-dimensional array of numbers, [events, 1 + "
            f"features] with the label first; it holds {array.dtype} {list(array.shape)}"
        )
    return array


def _damaged(path: Path, what: str, error: Exception) -> DataError:
    return DataError(
        f"{path} is a damaged {what} file: {error}. Copy or write it again; it may have "
        "been cut short."
    )
