"""Data sets, split into training, validation and test rows."""

import gzip
import importlib
import sysconfig
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxbern as jb

LETTERS = 97  # printable ASCII, the line's end, and one for all others
CONTEXT = 32


class Split(NamedTuple):
    """Inputs and targets of the training, validation and test rows."""

    train: tuple
    validation: tuple
    test: tuple


class Missing(Exception):
    """Raised when a task cannot be run here; the text says why."""


def split(x: np.ndarray, y: np.ndarray, seed: int = 0) -> Split:
    """Shuffle rows and split them into 60, 20 and 20 percent."""
    order = np.random.default_rng(seed).permutation(len(x))
    cuts = np.split(order, [int(0.6 * len(x)), int(0.8 * len(x))])
    train, validation, test = ((_array(x[part]), _array(y[part])) for part in cuts)
    return Split(train, validation, test)


def _array(values: np.ndarray) -> jax.Array:
    whole = np.issubdtype(values.dtype, np.integer)
    return jnp.asarray(values, jnp.int32 if whole else jnp.float32)


def digits() -> Split:
    """Load 1,797 images of 8 x 8 from scikit-learn."""
    try:
        found = importlib.import_module("sklearn.datasets").load_digits()
    except ImportError as error:
        raise Missing("needs scikit-learn: pip install scikit-learn") from error
    return split(found.data / 8 - 1, found.target)


def collider(rows: int) -> Split:
    """Simulate HIGGS events."""
    return _events(jb.data.load("collider:higgs", rows=rows))


def published(folder: Path | None, name: str, rows: int) -> Split:
    """Load the first events of a published file, such as ``HIGGS.csv.gz``."""
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        raise Missing(f"needs --data, a folder with {name}")
    return _events(jb.data.load(path, rows=rows))


def _events(data) -> Split:
    x, y = np.asarray(data.x, np.float32), np.asarray(data.y, np.int32)
    return split((x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6), y)


def mnist(folder: Path | None) -> Split:
    """Load the 10,000 test images, ``[rows, 28, 28, 1]``, and split them."""
    names = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
    if folder is None or not all((folder / name).is_file() for name in names):
        raise Missing(f"needs --data, a folder with {' and '.join(names)}")
    images, labels = (gzip.decompress((folder / name).read_bytes()) for name in names)
    x = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28, 1)
    y = np.frombuffer(labels, np.uint8, offset=8)
    return split(x / 127.5 - 1, y)


def function(f, count: int) -> Split:
    """Sample a function in the square [-1, 1]^2, without noise."""
    x = np.random.default_rng(0).uniform(-1, 1, (count, 2))
    return split(x, f(x[:, :1], x[:, 1:]))


def waves(a, b):
    """Compute a smooth function with several bends."""
    return np.sin(4 * a + 1) * np.cos(3 * b) + 0.5 * np.sin(5 * a * b)


def edges(a, b):
    """Compute a ridge and a step, steep but smooth."""
    return np.exp(-20 * (a + 0.5 * b) ** 2) + np.tanh(8 * (b - 0.3 * a))


def python_sources(characters: int) -> Split:
    """Cut windows from the Python library's sources; targets are the next characters."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    text, files = "", sorted(folder.glob("*.py"))
    for path in files:
        text += path.read_text(encoding="utf-8", errors="ignore")
        if len(text) >= characters:
            break
    codes = np.frombuffer(text[:characters].encode("ascii", "replace"), np.uint8)
    tokens = np.where(codes == 10, 95, np.clip(codes.astype(np.int32) - 32, -1, 95))
    tokens = np.where(tokens < 0, LETTERS - 1, tokens)
    count = (len(tokens) - 1) // CONTEXT
    x = tokens[: count * CONTEXT].reshape(count, CONTEXT)
    y = tokens[1 : count * CONTEXT + 1].reshape(count, CONTEXT)
    return split(x, y)
