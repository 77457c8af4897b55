"""A table of what data are there: files, downloads and converted copies."""

from pathlib import Path

from jaxbern.data import DataError, Dataset, _converted, _files
from jaxbern.data._dataset import Fingerprint
from jaxbern.data._load import locate
from jaxbern.data._published import SETS

BLOCK = 1 << 16  # rows checked at a time


def show(*, check: bool = False) -> int:
    """Print the tables; with ``check``, compare the copies with their fingerprints."""
    print(f"{'set':7}{'file':>14}  {'converted':11}where")
    for published in SETS.values():
        if file := locate(published):
            sha256 = _files.recorded_sha256(file)
            there = sha256 and _converted.place(sha256).exists()
            size = _size(file.stat().st_size)
            print(f"{published.name:7}{size:>14}  {'yes' if there else 'no':11}{file}")
        else:
            command = f"python -m experiments data fetch {published.name}"
            print(f"{published.name:7}{'none':>14}  {'':11}{command}")
    folder = _converted.folder()
    copies = sorted(folder.glob("[!.]*")) if folder.exists() else []
    print(f"\n{len(copies)} converted in {folder}")
    if not copies:
        return 0
    print(f"{'set':7}{'events':>12}{'signal':>8}{'size':>12}  {'fingerprint':18}of")
    states = [_show_copy(copy, check) for copy in copies]
    return 0 if all(states) else 1


def _show_copy(copy: Path, check: bool) -> bool:
    try:
        data = _converted.open_copy(copy)
    except DataError as error:
        print(f"{error}: delete it, or load its file again")
        return False
    manifest = _files.read_json(copy / "manifest.json")
    size = _size(data.x.nbytes + data.y.nbytes)
    share = manifest["signal"] / len(data)
    note = ""
    if check:
        same = fingerprint(data) == data.fingerprint
        note = "  checked" if same else "  DAMAGED: delete this copy: " + str(copy)
    print(
        f"{data.name:7}{len(data):>12,}{share:>8.1%}{size:>12}  {data.fingerprint:18}"
        f"{manifest['source']['path']}{note}"
    )
    return "DAMAGED" not in note


def fingerprint(data: Dataset) -> str:
    """The fingerprint of what is in the arrays now."""
    contents = Fingerprint(data.columns)
    for start in range(0, len(data), BLOCK):
        contents.update(data.x[start : start + BLOCK], data.y[start : start + BLOCK])
    return contents.hexdigest()


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
