"""Small data sets with known numbers, written in every format that is read."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jaxbern.data._published import Published


def events(published: Published, rows: int = 200, seed: int = 0):
    """Return features, with awkward float32 numbers among them, and labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, len(published.columns))).astype(np.float32)
    awkward = np.float32([0, -0.0, 1e-45, 1.1754944e-38, 3.4028235e38, 16777217, 1 / 3])
    x[: len(awkward), 2] = awkward
    return x, rng.integers(0, 2, rows).astype(np.uint8)


def text(x: np.ndarray, y: np.ndarray, form: str = "%.18e") -> bytes:
    """Format rows as UCI does, or with another format of numbers."""
    return b"".join(
        ",".join(form % value for value in (label, *row)).encode() + b"\n"
        for label, row in zip(y.tolist(), x.tolist(), strict=True)
    )


def write_csv(path: Path, x, y) -> None:
    path.write_bytes(text(x, y))


def write_short(path: Path, x, y) -> None:
    path.write_bytes(text(x, y, "%.9g"))


def write_crlf(path: Path, x, y) -> None:
    """Write with CRLF, with empty lines, and without a line end after the last line."""
    path.write_bytes(b"\r\n" + text(x, y).replace(b"\n", b"\r\n\r\n").rstrip())


def write_gzip(path: Path, x, y) -> None:
    path.write_bytes(gzip.compress(text(x, y), 1))


def write_gzip_members(path: Path, x, y) -> None:
    parts = np.array_split(np.arange(len(y)), 3)
    path.write_bytes(b"".join(gzip.compress(text(x[i], y[i])) for i in parts))


def write_zip(path: Path, x, y) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("HIGGS.csv", text(x, y))


def write_gzip_in_zip(path: Path, x, y) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/._HIGGS.csv.gz", b"noise")
        archive.writestr("HIGGS.csv.gz", gzip.compress(text(x, y)))


def write_parquet(path: Path, x, y) -> None:
    columns = {"label": y, **{f"c{i}": column for i, column in enumerate(x.T)}}
    pq.write_table(pa.table(columns), path, row_group_size=50)


def write_npy(path: Path, x, y) -> None:
    np.save(path, np.column_stack([y.astype(np.float64), x.astype(np.float64)]))


FORMATS = {
    "csv": (write_csv, "HIGGS.csv"),
    "csv, nine digits": (write_short, "HIGGS.csv"),
    "csv, other line ends": (write_crlf, "HIGGS.csv"),
    "csv.gz": (write_gzip, "HIGGS.csv.gz"),
    "csv.gz, members": (write_gzip_members, "HIGGS.csv.gz"),
    "csv.gz that is text": (write_csv, "HIGGS.csv.gz"),
    "zip": (write_zip, "higgs.zip"),
    "gzip in zip": (write_gzip_in_zip, "higgs.zip"),
    "parquet": (write_parquet, "higgs.parquet"),
    "npy": (write_npy, "higgs.npy"),
}
