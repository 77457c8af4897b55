"""A header and arrays in one file of NumPy's ``.npz`` format, without pickle.

``numpy.load(path)["header"].item()`` is the header. NumPy has no name for bfloat16 and its
like: their bits are stored as unsigned integers, and ``dtypes`` in the header says what
they are.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

_HEADER = "header"


def write(path: Path, header: dict, arrays: Mapping[str, np.ndarray]) -> None:
    """Write beside ``path``, then take its place: never half a file under its name."""
    stored: dict[str, Any] = {k: _storable(array) for k, array in arrays.items()}
    stored[_HEADER] = np.array(json.dumps(header))
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with temporary.open("xb") as file:
            np.savez(file, **stored)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_header(path: Path) -> Any:
    """What the header says; None if there is none."""
    with _opened(path) as content:
        return json.loads(content[_HEADER].item()) if _HEADER in content else None


def read_arrays(path: Path, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The arrays of these names."""
    with _opened(path) as content:
        return {name: _restored(content[name], dtypes[name]) for name in dtypes}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    # NumPy leaves a file of its own open when it cannot read it.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        yield content


def _storable(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}") if _only_bits(array.dtype) else array


def _restored(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.view(dtype) if _only_bits(jnp.dtype(dtype)) else array


def _only_bits(dtype: np.dtype) -> bool:
    return dtype.kind == "V"  # bfloat16 and its like, for NumPy
