"""Save and load networks; every part of a file is checked before it is used.

One ``.npz`` file or an orbax checkpoint; both hold a *header* in JSON (format, version,
options) and the arrays under their names in the module, such as ``first.kernel``. Neither
holds pickled objects, so loading an untrusted file cannot run code.
"""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxbern.io import _npz, _orbax
from jaxbern.nn import MLP, NetworkConfig

FORMAT, VERSION = "jaxbern.MLP", 1


class FileError(ValueError):
    """Raised if a path holds no network or a damaged one; the message says why."""


def save(model: MLP, path: Path) -> None:
    """Write the network; ``path`` is replaced completely or, on failure, unchanged."""
    path = path.resolve()  # orbax needs an absolute path; links are kept
    arrays = {name: np.asarray(v[...]) for name, v in _variables(model).items()}
    _check_one_network(arrays, model.config)
    # Orbax refuses empty arrays, such as the hidden layers of a network of depth 1.
    arrays = {name: array for name, array in arrays.items() if array.size}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "config": model.config.to_dict(),
        "use_running_average": model.use_running_average,
        "dtypes": {name: array.dtype.name for name, array in arrays.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    storage = _npz if path.suffix == ".npz" else _orbax
    storage.write(path, header, arrays)


def load(path: Path) -> MLP:
    """Load a network that :func:`save` wrote, in the mode (train, eval) it was in."""
    path = path.resolve()
    with _refusing(path):
        if not path.exists():
            raise FileError("there is no such file or directory")
        storage = _orbax if path.is_dir() else _npz
        header = storage.read_header(path)
        _check_header(header)
        model = _without_arrays(NetworkConfig(**header["config"]))
        model.use_running_average = header["use_running_average"]
        variables = _variables(model)
        shapes = {name: v.get_value().shape for name, v in variables.items()}
        filled = {name: shape for name, shape in shapes.items() if math.prod(shape)}
        _check_names(header["dtypes"], filled)
        arrays = storage.read_arrays(path, header["dtypes"], filled)
        for name, variable in variables.items():
            empty = shapes[name], variable.get_value().dtype
            array = arrays[name] if name in filled else np.zeros(*empty)
            _check_array(name, array, shapes[name], header["dtypes"])
            variable.set_value(jnp.asarray(array))
    return model


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn any error of a reader, given arbitrary bytes, into one that names the path."""
    try:
        yield
    except PermissionError:
        raise
    except FileError as error:
        raise FileError(f"cannot load {path}: {error}") from error.__cause__
    except Exception as error:
        said = (str(error).splitlines() or [""])[0][:200]
        raise FileError(
            f"cannot load {path}: it is damaged, or not a network that MLP.save wrote "
            f"({type(error).__name__}: {said})"
        ) from error


def _variables(model: MLP) -> dict[str, nnx.Variable]:
    """Return parameters and running statistics by name."""
    return {
        ".".join(map(str, path)): node
        for path, node in nnx.iter_graph(model)
        if isinstance(node, nnx.Param | nnx.BatchStat)
    }


def _without_arrays(config: NetworkConfig) -> MLP:
    """Build the model with shapes instead of arrays; no initialiser is called."""
    options = config.to_dict() | {"init": jax.nn.initializers.zeros}
    model = nnx.eval_shape(lambda: MLP(**options, rngs=nnx.Rngs(0)))
    model.config = nnx.static(config)
    return model


def _check_one_network(arrays: dict[str, np.ndarray], config: NetworkConfig) -> None:
    for name, variable in _variables(_without_arrays(config)).items():
        shape = variable.get_value().shape
        if arrays[name].shape != shape:
            raise ValueError(
                f"{name} should have shape {list(shape)} by the network's options, got "
                f"{list(arrays[name].shape)}; save networks stacked by vmap one by one"
            )
    _check_variance(arrays["var"])


def _check_variance(var: np.ndarray) -> None:
    if (var < 0).any():
        raise FileError(
            f"a running variance is {var.min():g}, but none can be negative; such a "
            "network gives NaN"
        )


def _check_header(header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileError("it is not a network that MLP.save wrote")
    version = header["version"]
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(
            "it is damaged, or not a network that MLP.save wrote: its format must be a "
            f"number from 1, got {version!r}"
        )
    if version > VERSION:
        raise FileError(
            f"a newer jaxbern wrote it (format {version}, this one reads up to "
            f"{VERSION}): pip install --upgrade jaxbern"
        )
    if not isinstance(header["use_running_average"], bool):
        raise FileError(
            "it is damaged: use_running_average must be true or false, got "
            f"{header['use_running_average']!r}"
        )
    narrow = jnp.result_type(float) != jnp.float64
    if narrow and "float64" in header["dtypes"].values():
        raise FileError(
            "its numbers are float64, which JAX holds only after "
            'jax.config.update("jax_enable_x64", True)'
        )


def _check_names(dtypes: dict[str, str], shapes: dict[str, tuple]) -> None:
    if dtypes.keys() != shapes.keys():
        one = min(dtypes.keys() ^ shapes.keys())
        missing = "is missing" if one in shapes else "has no place in such a network"
        raise FileError(f"it is damaged: its array {one} {missing}")


def _check_array(name: str, array: np.ndarray, shape, dtypes: dict[str, str]) -> None:
    dtype = dtypes.get(name, array.dtype.name)
    same = array.shape == shape and array.dtype.name == dtype
    if not same or not jnp.issubdtype(array.dtype, jnp.floating):
        raise FileError(
            f"by its header {name} is {dtype}{list(shape)} in floating point, but it "
            f"holds {array.dtype}{list(array.shape)}"
        )
    if name == "var":
        _check_variance(array)
