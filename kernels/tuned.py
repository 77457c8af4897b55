"""Launch configurations found by measurement, kept in a file per user.

The file is JSON, ``{key: [rows, columns, unroll, steps]}``, in ``$JAXBERN_CACHE`` or the
user's cache directory. A missing file means nothing was tuned; a damaged one is reported
once and ignored, and the next tuning writes it anew.
"""

import functools
import json
import os
import tempfile
import warnings
from pathlib import Path

from jaxbern.kernels.cache_folder import cache_folder
from jaxbern.kernels.launch import Launch

Sizes = tuple[int, int, int]  # groups, rows, columns


def path() -> Path:
    """Where the tuned configurations are."""
    return cache_folder() / "launch.json"


def lookup(kernel: str, device: str, sizes: Sizes, degree: int) -> Launch | None:
    """The configuration measured for exactly this call, if there is one."""
    found = _load(path()).get(_key(kernel, device, sizes, degree))
    return Launch(*found) if found else None


def save(kernel: str, device: str, sizes: Sizes, degree: int, launch: Launch) -> Path:
    """Add one configuration; the file is replaced as a whole or not at all."""
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True)
    _load.cache_clear()
    entries = dict(_load(file))
    numbers = [launch.rows, launch.columns, launch.unroll, launch.steps]
    entries[_key(kernel, device, sizes, degree)] = numbers
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w") as out:
            json.dump(entries, out, indent=1, sort_keys=True)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _load.cache_clear()
    return file


def _key(kernel: str, device: str, sizes: Sizes, degree: int) -> str:
    return f"{device} | {kernel} | degree {degree} | {'x'.join(map(str, sizes))}"


@functools.lru_cache(maxsize=4)
def _load(file: Path) -> dict[str, list[int]]:
    try:
        entries = json.loads(file.read_text())
        if not all(
            len(v) == 4 and all(isinstance(n, int) and n > 0 for n in v)
            for v in entries.values()
        ):
            raise ValueError("an entry is not four positive integers")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        warnings.warn(
            f"ignoring the tuned launch configurations in {file}: {error}; delete the "
            "file or run jaxbern.autotune again",
            stacklevel=2,
        )
        return {}
    return entries
