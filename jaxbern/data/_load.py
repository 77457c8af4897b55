"""Load data sets by name or path."""

import dataclasses
import difflib
import importlib
import operator
import os
import warnings
from pathlib import Path

from jaxbern.data import _converted, _download, _files, _formats
from jaxbern.data._dataset import Dataset
from jaxbern.data._errors import DataError, DiskError
from jaxbern.data._published import HIGGS, SETS, SUSY, Published

DATA_VARIABLE = "JAXBERN_DATA"
SIMULATED_EVENTS = 1_000_000


def load(
    source: str | os.PathLike,
    *,
    rows: int | None = None,
    seed: int = 0,
    download: bool = True,
) -> Dataset:
    """Load events to train on.

    Args:
      source: ``"higgs"`` or ``"susy"``, see :func:`higgs`; ``"collider:higgs"`` or
        ``"collider:susy"``, simulated by :mod:`jaxbern.data.collider`; or the path of a
        file that has the columns of one of the two.
      rows: number of events to simulate (default: a million), or to keep from the beginning
        of a file (default: all).
      seed: seed of the simulation; not used for files.
      download: whether a published set may be downloaded if it is not found.

    Raises:
      DataError: the data cannot be obtained or are damaged; the message says what to do.
    """
    name, rows = os.fspath(source), _checked_rows(rows)
    if name in SETS:
        return _published(SETS[name], None, rows, download)
    simulation, _, kind = name.partition(":")
    if simulation == "collider" and kind in SETS:
        collider = importlib.import_module("jaxbern.data.collider")
        return getattr(collider, kind)(rows or SIMULATED_EVENTS, seed)
    if Path(name).expanduser().is_file():
        return _first(_converted.convert(Path(name).expanduser(), None), rows)
    names = [*SETS, *(f"collider:{known}" for known in SETS)]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(
        f"{name!r} is neither a file nor one of {', '.join(map(repr, names))}.{hint}"
    )


def higgs(
    path: str | os.PathLike | None = None,
    *,
    rows: int | None = None,
    download: bool = True,
) -> Dataset:
    """Load HIGGS as published by UCI: 11,000,000 events, 28 features.

    The file is looked for at ``path``, in ``$JAXBERN_DATA`` (both may name a file or a
    directory) and in the user's cache, and downloaded there (2.8 GB) if it is not found.
    ``.csv``, ``.csv.gz``, ``.zip``, ``.parquet`` and ``.npy`` are read, the label first.
    On first use the events are converted to a copy in the cache (1.2 GB); after that they
    are mapped into memory, in milliseconds. ``$JAXBERN_CACHE`` moves the cache.

    Args:
      path: a file, or a directory that holds one.
      rows: number of events to keep, from the beginning.
      download: whether the set may be downloaded.

    Raises:
      DataError: the data cannot be obtained or are damaged; the message says what to do.

    Reference: P. Baldi, P. Sadowski and D. Whiteson, *Searching for exotic particles in
    high-energy physics with deep learning*, Nature Communications 5, 4308 (2014).
    """
    return _published(HIGGS, path, _checked_rows(rows), download)


def susy(
    path: str | os.PathLike | None = None,
    *,
    rows: int | None = None,
    download: bool = True,
) -> Dataset:
    """Load SUSY as published by UCI: 5,000,000 events, 18 features; see :func:`higgs`."""
    return _published(SUSY, path, _checked_rows(rows), download)


def locate(published: Published, path: str | os.PathLike | None = None) -> Path | None:
    """Find the file of a published set: at ``path``, in ``$JAXBERN_DATA`` or downloaded."""
    if path is not None:
        return _given(published, Path(path).expanduser(), "path")
    if variable := os.environ.get(DATA_VARIABLE):
        given = Path(variable).expanduser()
        if found := _given(published, given, DATA_VARIABLE, must=False):
            return found
    return _download.downloaded(published)


def _published(
    published: Published,
    path: str | os.PathLike | None,
    rows: int | None,
    download: bool,
) -> Dataset:
    file = locate(published, path)
    if file is None and (data := _copy_of_download(published)):
        return _first(data, rows)
    if file is None and not download:
        raise DataError(
            f"{published.name.upper()} is not here: neither in ${DATA_VARIABLE} nor in "
            f"{_download.folder()}. Allow the download, or get it from {published.page} "
            f'and give its path; or simulate with jb.data.load("collider:{published.name}").'
        )
    if file is None:
        file = _download.fetch(published)
    _check_download(published, file)
    data = _read(published, file)
    if len(data) != published.rows:
        warnings.warn(
            f"{file} has {len(data):,} events; {published.name.upper()} as published has "
            f"{published.rows:,}",
            stacklevel=3,
        )
    return _first(data, rows)


def _read(published: Published, file: Path) -> Dataset:
    """Read the events of a file; delete a download that does not hold all of them."""
    wrong = f"Of {file}, as it was downloaded,"
    advice = "It was deleted; run again to download it again."
    try:
        data = _converted.convert(file, published)
    except DiskError:
        raise
    except DataError as error:
        _download.settle(published, file, None)
        if file.exists():
            raise
        raise DataError(f"{wrong} not all could be read: {error} {advice}") from error
    rows = len(data)
    _download.settle(published, file, rows)
    if not file.exists():
        raise DataError(
            f"{wrong} {rows:,} events could be read, {published.name.upper()} has "
            f"{published.rows:,}. {advice}"
        )
    return data


def _given(
    published: Published, given: Path, what: str, must: bool = True
) -> Path | None:
    """Return the named file, or the file of the set in the named directory."""
    if given.is_file():
        if must or _converted.reader(given, None)[0] == published:
            return given
        return None
    if not given.is_dir():
        raise DataError(
            f"{what} names {given}, which does not exist. Correct or unset it."
        )
    files = {file.name.lower(): file for file in sorted(given.iterdir())}
    names = [f"{published.name}{ending}" for ending in _formats.ACCEPTED]
    for name in names:
        if name in files:
            return files[name]
    if must:
        raise DataError(f"{given} holds none of {', '.join(names)} (in any case)")
    return None


def _copy_of_download(published: Published) -> Dataset | None:
    """Return the converted copy of a download that was deleted to save space."""
    for download in published.downloads:
        if sha256 := _download.trusted(published, download).get("sha256"):
            try:
                return _converted.open_copy(_converted.place(sha256))
            except DataError:
                continue
    return None


def _check_download(published: Published, file: Path) -> None:
    download = _download.of(published, file)
    expected = download and _download.record(download).get("sha256")
    if expected and _files.sha256(file) != expected:
        raise DataError(
            f"{file} has changed since it was downloaded: its SHA-256 was {expected}. "
            "Delete it and run again to download it again."
        )


def _checked_rows(rows: int | None) -> int | None:
    if rows is None:
        return None
    try:
        count = operator.index(rows)
    except TypeError:
        count = 0
    if isinstance(rows, bool) or count < 1:
        raise ValueError(
            f"rows must be an int of at least 1, or None for all events, got {rows!r}"
        )
    return count


def _first(data: Dataset, rows: int | None) -> Dataset:
    if rows is None or rows >= len(data):
        return data
    return dataclasses.replace(
        data,
        x=data.x[:rows],
        y=data.y[:rows],
        fingerprint=f"{data.fingerprint}[:{rows}]",
    )
