"""A header and arrays in one file of NumPy's ``.npz`` format, without pickle.

``numpy.load(path)["header"].item()`` is the header. NumPy has no name for bfloat16 and
similar dtypes: their bits are stored as unsigned integers, and ``dtypes`` in the header
has the actual dtype.
"""

import contextlib
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbern.io._atomic_write import replacing

_HEADER = "header"
# Maximum bytes of an unpacked header, and of what NumPy writes before an array.
_LONGEST_HEADER, _BEFORE_ARRAY = 1 << 20, 1 << 12


def write(path: Path, header: dict, arrays: Mapping[str, np.ndarray]) -> None:
    """Write header and arrays to ``path`` atomically."""
    stored: dict[str, Any] = {k: _storable(array) for k, array in arrays.items()}
    stored[_HEADER] = np.array(json.dumps(header))
    with replacing(path, "xb") as file:
        np.savez(file, **stored)


def read_header(path: Path) -> Any:
    """Return the header; None if the file has none."""
    with _opened(path) as content:
        if _HEADER not in content:
            return None
        _check_size(content, _HEADER, _LONGEST_HEADER)
        return json.loads(content[_HEADER].item())


def read_arrays(
    path: Path, dtypes: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """Read the named arrays; raise before unpacking one larger than its shape says."""
    with _opened(path) as content:
        for name, dtype in dtypes.items():
            numbers = math.prod(shapes[name]) * jnp.dtype(dtype).itemsize
            _check_size(content, name, numbers + _BEFORE_ARRAY)
        return {name: _restored(content[name], dtypes[name]) for name in dtypes}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    # Opened here, because NumPy does not close a file that it cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        names = _archive(content).namelist()
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"its member {twice} is there twice")
        yield content


def _check_size(content: np.lib.npyio.NpzFile, name: str, limit: int) -> None:
    """Check sizes before a member is unpacked: a small file can hold gigabytes of zeros."""
    size = _archive(content).getinfo(f"{name}.npy").file_size
    if size > limit:
        raise ValueError(f"{name} has {size:,} bytes, more than the {limit:,} expected")


def _archive(content: np.lib.npyio.NpzFile) -> zipfile.ZipFile:
    assert content.zip is not None  # set while the archive is open
    return content.zip


def _storable(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}") if _only_bits(array.dtype) else array


def _restored(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.view(dtype) if _only_bits(jnp.dtype(dtype)) else array


def _only_bits(dtype: np.dtype) -> bool:
    return dtype.kind == "V"  # how NumPy sees bfloat16 and similar dtypes
