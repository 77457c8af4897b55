"""Where the data of a training are kept, and its state before the first epoch."""

import functools
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from jaxbern.data import Dataset, Split
from jaxbern.train import _learner
from jaxbern.train._config import TrainConfig
from jaxbern.train._epoch import Data, Resident
from jaxbern.train._learner import Rules, State
from jaxbern.train._mesh import everywhere, mesh_for
from jaxbern.train._stream import Streamed


def engine(
    config: TrainConfig,
    data: Dataset,
    split: Split,
    *,
    devices: Sequence[jax.Device] | None = None,
    device_bytes: int | None = None,
) -> tuple[State, Resident | Streamed]:
    """The seeds before their first epoch, and what runs an epoch of them."""
    rules, mesh = Rules.of(config), mesh_for(config.batch_size, devices)
    if device_bytes is None:
        device_bytes = _half_of_memory(mesh.local_devices[0])
    numbers = (
        np.array(config.seeds, np.uint32),
        np.float32(config.learning_rate),
        np.float32(config.weight_decay),
        None if config.coeff_decay is None else np.float32(config.coeff_decay),
    )
    keys, state = _start(*everywhere(mesh, numbers), rules=rules)
    rows = Data(data.x, data.y, split, keys)
    needed = sum(a.nbytes for a in jax.tree.leaves(rows[:3]))
    if device_bytes is None or needed <= device_bytes:
        return state, Resident(rows, rules=rules, mesh=mesh)
    return state, Streamed(rows, rules=rules, mesh=mesh, device_bytes=device_bytes)


@functools.partial(jax.jit, static_argnames="rules")
def _start(
    seeds: jax.Array,
    learning_rate: jax.Array,
    weight_decay: jax.Array,
    coeff_decay: jax.Array | None = None,
    *,
    rules: Rules,
) -> tuple[jax.Array, State]:
    """Keys of the order of rows, and states, with a leading axis for the seeds."""

    def of_seed(seed):
        for_order, for_network = jax.random.split(jax.random.key(seed))
        return for_order, _learner.init(
            rules, for_network, learning_rate, weight_decay, coeff_decay
        )

    # One after the other, not vmapped: that takes half the time to compile.
    return lax.map(of_seed, seeds)


def _half_of_memory(device: jax.Device) -> int | None:
    """The other half is for the networks; None for devices that do not say."""
    stats = device.memory_stats() or {}
    return stats["bytes_limit"] // 2 if "bytes_limit" in stats else None
