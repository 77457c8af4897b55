"""A header and arrays as an orbax checkpoint: a directory.

``orbax.checkpoint.StandardCheckpointer().restore(path)`` gives the arrays. Beside orbax's
own files, ``jaxbern.json`` is the header, and ``SHA256SUMS`` has the checksums of all
files: orbax 0.12 itself reads a large array with flipped bits without an error.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_HEADER, _SUMS = "jaxbern.json", "SHA256SUMS"


def write(path: Path, header: dict, arrays: Mapping[str, np.ndarray]) -> None:
    """Write to a temporary directory, then move it to ``path``."""
    _check_replaceable(path)
    with tempfile.TemporaryDirectory(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
    ) as folder:
        new, old = Path(folder, "new"), Path(folder, "old")
        with _checkpointer() as checkpointer:
            checkpointer.save(new, dict(arrays))
        (new / _HEADER).write_text(json.dumps(header, indent=1))
        lines = [f"{_checksum(new / name)}  {name}\n" for name in _names(new)]
        (new / _SUMS).write_text("".join(lines))
        _replace(path, new, old)


def read_header(path: Path) -> Any:
    """Return the header; None if the directory has none."""
    header = path / _HEADER
    if not header.is_file():
        return None
    _check_sums(path)
    return json.loads(header.read_text())


def read_arrays(
    path: Path, dtypes: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """Read the named arrays, after every file was compared with its checksum."""
    del shapes  # the checksums make a check of sizes unnecessary
    with _checkpointer() as checkpointer:
        arrays = checkpointer.restore(path)
    return {name: arrays[name] for name in dtypes}


def _checkpointer():
    import orbax.checkpoint as ocp

    return ocp.Checkpointer(ocp.StandardCheckpointHandler())


def _replace(path: Path, new: Path, old: Path) -> None:
    """Replace a directory. This is not atomic: for an instant neither version is there."""
    if path.exists():
        path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        if old.exists():
            old.rename(path)
        raise


def _check_replaceable(path: Path) -> None:
    """Raise if ``path`` holds anything but our checkpoint, as replacing deletes it."""
    others = [path.name] if path.is_file() else _names(path)
    if (path / _SUMS).is_file():
        others = set(others) - {_SUMS, *_sums(path)}
    if others:
        raise ValueError(
            f"cannot save to {path}: it holds files that are not a jaxbern checkpoint, such as "
            f"{min(others)}; choose another path, or one that ends in .npz"
        )


def _check_sums(path: Path) -> None:
    sums = _sums(path)
    for name in set(_names(path)) - {_SUMS, *sums}:
        if not Path(name).name.startswith("."):  # hidden files that file managers leave
            raise ValueError(f"its file {name} is not in {_SUMS}")
    for name, checksum in sums.items():
        if not (path / name).is_file():
            raise ValueError(f"its file {name} is missing")
        if _checksum(path / name) != checksum:
            raise ValueError(f"its file {name} has changed since it was written")


def _sums(path: Path) -> dict[str, str]:
    lines = (path / _SUMS).read_text().splitlines()
    return {name: checksum for checksum, name in (line.split("  ") for line in lines)}


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _names(path: Path) -> list[str]:
    files = (file for file in path.rglob("*") if file.is_file())
    return sorted(file.relative_to(path).as_posix() for file in files)
