"""List the data on this machine: files of published sets, and converted copies."""

import dataclasses
from pathlib import Path

from jaxbern.data import _converted, _files
from jaxbern.data._dataset import Dataset, Fingerprint
from jaxbern.data._errors import DataError
from jaxbern.data._load import locate
from jaxbern.data._published import SETS

_BLOCK = 1 << 16  # rows hashed at a time


@dataclasses.dataclass(frozen=True)
class DataFile:
    """A published data set and its file on this machine.

    Attributes:
      name: ``"higgs"`` or ``"susy"``.
      path: path of the file; None if there is none.
      converted: whether there is a converted copy of the file as last read.
    """

    name: str
    path: Path | None
    converted: bool


@dataclasses.dataclass(frozen=True)
class DataCopy:
    """A converted copy in the cache.

    Attributes:
      path: its directory.
      data: its data; None if it is damaged.
      source: the file it was converted from.
      error: what is wrong with it, if anything.
    """

    path: Path
    data: Dataset | None
    source: str = ""
    error: str = ""


def inventory() -> tuple[list[DataFile], list[DataCopy]]:
    """Return the files of the published sets found here, and all converted copies."""
    files = []
    for published in SETS.values():
        file = locate(published)
        sha256 = _files.last_sha256(file) if file else None
        converted = sha256 is not None and _converted.place(sha256).exists()
        files.append(DataFile(published.name, file, converted))
    folder = cache_folder()
    copies = sorted(folder.glob("[!.]*")) if folder.exists() else []
    return files, [_copy(path) for path in copies]


def cache_folder() -> Path:
    """Return the folder of converted copies."""
    return _converted.folder()


def fingerprint(data: Dataset) -> str:
    """Compute the fingerprint of the arrays as they are now."""
    contents = Fingerprint(data.columns)
    for start in range(0, len(data), _BLOCK):
        rows = slice(start, start + _BLOCK)
        contents.update(data.x[rows], data.y[rows])
    return contents.hexdigest()


def _copy(path: Path) -> DataCopy:
    try:
        data = _converted.open_copy(path)
    except DataError as error:
        return DataCopy(path, None, error=str(error))
    manifest = _files.read_json(path / "manifest.json")
    return DataCopy(path, data, manifest["source"]["path"])
