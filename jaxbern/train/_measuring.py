"""Run the program of ``fit`` one epoch at a time, to measure its cost."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.data import Dataset, Split
from jaxbern.train import _engine, _epoch
from jaxbern.train._config import TrainConfig, checked_split
from jaxbern.train._epoch import mesh_for
from jaxbern.train._learner import Metrics, Rules


class Epochs:
    """A training without files, progress bar or stopping rule, for benchmarks.

    >>> import jaxbern as jb
    >>> data = jb.data.load("collider:higgs", rows=500)
    >>> network = jb.train.NetworkConfig(28, depth=1, width=4, degree=3)
    >>> epochs = Epochs(jb.train.TrainConfig(network, seeds=(0, 1), batch_size=100), data)
    >>> epochs.run().auc.shape
    (2,)
    """

    def __init__(
        self,
        config: TrainConfig,
        data: Dataset,
        *,
        devices: Sequence[jax.Device] | None = None,
        device_bytes: int | None = None,
    ):
        """Create the networks and move the data; the arguments are those of ``fit``."""
        self._state, self._engine = _engine.engine(
            config,
            data,
            checked_split(config, data),
            devices=devices,
            device_bytes=device_bytes,
        )
        self.done = 0

    def compile(self) -> Any:
        """Compile the epoch; returns JAX's compiled program, which ``run`` then calls.

        Raises:
          ValueError: the data do not fit on the device; then an epoch is many programs.
        """
        if isinstance(self._engine, _engine.Streamed):
            raise ValueError(
                "the data must fit into half of the device's memory, or an epoch is not a "
                "single program; give fewer events or a larger device_bytes"
            )
        return self._engine.compile(self._state)

    def run(self) -> Metrics:
        """Train one more epoch; return the measurements of each seed on the host."""
        self._state, metrics = self._engine.run(self._state, self.done)
        self.done += 1
        return jax.device_get(metrics)


def epoch_program(
    config: TrainConfig, events: int, device: jax.Device
) -> tuple[Callable, tuple[Any, ...]]:
    """Return the program of an epoch and its arguments, for a possibly absent device.

    Args:
      config: options of the training.
      events: number of events, for training and validation together.
      device: the device to compile for.

    Returns:
      A function that JAX can compile, and the shapes of its arguments. The first is the
      state, which ``fit`` donates.
    """
    rules = Rules.of(config, device.platform)
    mesh = mesh_for(config.batch_size, [device])
    seeds, features = len(config.seeds), config.network.in_features
    test = round(events * config.test_fraction)

    def array(*shape: int, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype)

    decay = None if config.coeff_decay is None else array()
    start = functools.partial(_engine.start, rules=rules)
    numbers = array(seeds, dtype=jnp.uint32), array(), array(), decay
    keys, state = jax.eval_shape(start, *numbers)
    split = Split(
        array(seeds, events - test, dtype=jnp.int32),
        array(seeds, test, dtype=jnp.int32),
        array(seeds, features),
        array(seeds, features),
    )
    x, y = array(events, features), array(events, dtype=jnp.uint8)
    data = _epoch.Data(x, y, split, keys)
    run = functools.partial(_epoch.run, rules=rules, mesh=mesh)
    return run, (state, data, array(dtype=jnp.int32))
