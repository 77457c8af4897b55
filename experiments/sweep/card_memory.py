"""Memory that training a cell takes on a GPU that is not here: compiled, not guessed."""

import functools
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import jaxbern as jb
from experiments.gpu.gpu_compile import compile_for, device
from experiments.gpu.gpu_targets import Target
from jaxbern.data import Split
from jaxbern.train import _engine, _epoch
from jaxbern.train._epoch import Data
from jaxbern.train._learner import Rules


class Memory(NamedTuple):
    """Of one cell on one card.

    Attributes:
      bytes: arguments, results and temporaries of an epoch of all seeds together.
      seconds: that compiling took.
    """

    bytes: int
    seconds: float


def memory(target: Target, config: jb.train.TrainConfig, events: int) -> Memory:
    """Compile the epoch of a training on so many events for a card."""
    began = time.perf_counter()
    mesh = Mesh(np.array([device(target)]), ("rows",))
    epoch = functools.partial(_epoch.run, rules=Rules.of(config), mesh=mesh)
    compiled = compile_for(target, epoch, *_shapes(config, events), donate=(0,))
    return Memory(compiled.peak_memory, time.perf_counter() - began)


def _shapes(config: jb.train.TrainConfig, events: int):
    seeds, features = len(config.seeds), config.network.in_features
    number = jax.ShapeDtypeStruct((), jnp.float32)
    keys, state = jax.eval_shape(
        functools.partial(_engine._start, rules=Rules.of(config)),
        jax.ShapeDtypeStruct((seeds,), jnp.uint32),
        number,
        number,
    )
    test = round(events * config.test_fraction)

    def of_seeds(size, dtype) -> Any:
        return jax.ShapeDtypeStruct((seeds, size), dtype)

    x: Any = jax.ShapeDtypeStruct((events, features), jnp.float32)
    y: Any = jax.ShapeDtypeStruct((events,), jnp.uint8)

    split = Split(
        of_seeds(events - test, jnp.int32),
        of_seeds(test, jnp.int32),
        of_seeds(features, jnp.float32),
        of_seeds(features, jnp.float32),
    )
    data = Data(x, y, split, keys)
    return state, data, jax.ShapeDtypeStruct((), jnp.int32)
