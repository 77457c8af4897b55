"""Print a table of the data on this machine: files, downloads, converted copies."""

import numpy as np

import jaxbern as jb


def show(*, check: bool = False) -> int:
    """Print the tables; with ``check``, compare the copies with their fingerprints."""
    files, copies = jb.data.inventory()
    print(f"{'set':7}{'file':>14}  {'converted':11}where")
    for file in files:
        if file.path:
            size = _size(file.path.stat().st_size)
            there = "yes" if file.converted else "no"
            print(f"{file.name:7}{size:>14}  {there:11}{file.path}")
        else:
            command = f"python -m experiments data fetch {file.name}"
            print(f"{file.name:7}{'none':>14}  {'':11}{command}")
    print(f"\n{len(copies)} converted in {jb.data.cache_folder()}")
    if not copies:
        return 0
    print(f"{'set':7}{'events':>12}{'signal':>8}{'size':>12}  {'fingerprint':18}of")
    states = [_show_copy(copy, check) for copy in copies]
    return 0 if all(states) else 1


def _show_copy(copy: jb.data.DataCopy, check: bool) -> bool:
    data = copy.data
    if data is None:
        print(f"DAMAGED: {copy.error}: delete it, or load its file again")
        return False
    same = not check or jb.data.fingerprint(data) == data.fingerprint
    note = "" if not check else "  checked"
    if not same:
        note = f"  DAMAGED: delete this copy: {copy.path}"
    size = _size(data.x.nbytes + data.y.nbytes)
    print(
        f"{data.name:7}{len(data):>12,}{np.mean(data.y):>8.1%}{size:>12}  "
        f"{data.fingerprint:18}{copy.source}{note}"
    )
    return same


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
