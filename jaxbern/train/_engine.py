"""Run the epochs of a training, with its data on the device or streamed to it.

Data that stay on the host are sent in pieces: every seed gets its rows in the same order
as with the data on the device, and through the same functions. A thread gathers and sends
the next piece while the current one is used.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from jaxbern.data import Dataset, Split
from jaxbern.kernels.array_types import Array, Float, Int, Shaped
from jaxbern.train import _epoch, _learner
from jaxbern.train._config import TrainConfig
from jaxbern.train._epoch import (
    Data,
    divide,
    everywhere,
    keep_everywhere,
    mesh_for,
    over_seeds,
)
from jaxbern.train._learner import Metrics, Rules, Running, Scores, State
from jaxbern.train._resident import Resident, SideBySide
from jaxbern.train._shuffle import order


def engine(
    config: TrainConfig,
    data: Dataset,
    split: Split,
    *,
    devices: Sequence[jax.Device] | None = None,
    device_bytes: int | None = None,
) -> "tuple[State, Resident | SideBySide | Streamed]":
    """Return the initial state of all seeds, and the engine that runs their epochs."""
    mesh = mesh_for(config.batch_size, devices)
    rules = Rules.of(config, mesh.devices.flat[0].platform)
    if device_bytes is None:
        device_bytes = _half_of_memory(mesh.local_devices[0])
    numbers = (
        np.array(config.seeds, np.uint32),
        np.float32(config.learning_rate),
        np.float32(config.weight_decay),
        None if config.coeff_decay is None else np.float32(config.coeff_decay),
    )
    begin = start_on_cpu if rules.on_cpu else start
    keys, state = begin(*everywhere(mesh, numbers), rules=rules)
    rows = Data(data.x, data.y, split, keys)
    needed = sum(a.nbytes for a in jax.tree.leaves(rows[:3]))
    if device_bytes is not None and needed > device_bytes:
        return state, Streamed(rows, rules=rules, mesh=mesh, device_bytes=device_bytes)
    kind = SideBySide if SideBySide.suits(rules, mesh) else Resident
    return state, kind(rows, rules=rules, mesh=mesh)


def _start(
    seeds: Shaped[Array, " seeds"],
    learning_rate: Float[Array, ""],
    weight_decay: Float[Array, ""],
    coeff_decay: Float[Array, ""] | None = None,
    *,
    rules: Rules,
) -> tuple[Shaped[Array, " seeds"], State]:
    """Return shuffling keys and initial states, with a leading axis for the seeds."""

    def of_seed(seed):
        for_order, for_network = jax.random.split(jax.random.key(seed))
        return for_order, _learner.init(
            rules, for_network, learning_rate, weight_decay, coeff_decay
        )

    # A loop instead of vmap takes half the time to compile.
    return lax.map(of_seed, seeds)


start = jax.jit(_start, static_argnames="rules")
# It runs once: on a CPU, compiling takes longer than anything that LLVM could save.
start_on_cpu = jax.jit(
    _start,
    static_argnames="rules",
    compiler_options={"xla_backend_optimization_level": 0},
)


def _half_of_memory(device: jax.Device) -> int | None:
    """Return half of the device's memory for data; None if the device does not say."""
    stats = device.memory_stats() or {}
    return stats["bytes_limit"] // 2 if "bytes_limit" in stats else None


class Piece(NamedTuple):
    """A piece of the rows of each seed."""

    x: Float[Array | np.ndarray, "seeds rows features"]  # float32
    y: Shaped[Array | np.ndarray, "seeds rows"]  # uint8


class Streamed:
    """Trains on rows that are streamed from the host."""

    def __init__(self, data: Data, *, rules: Rules, mesh: Mesh, device_bytes: int):
        """Keep at most ``device_bytes`` of rows on a device, but at least two batches."""
        self._x, self._y = np.asanyarray(data.x), np.asanyarray(data.y)
        self._split, self.keys = data.split, data.keys
        self._mesh, self._options = mesh, {"rules": rules, "mesh": mesh}
        none = self._split.train[:, :0]
        ranges = dataclasses.replace(self._split, train=none, test=none)
        self._ranges = everywhere(mesh, ranges)
        row = self._x.shape[1] * self._x.itemsize + self._y.itemsize
        # Each seed has one piece in use and one in transit.
        rows = device_bytes // (2 * len(self._split.train) * row)
        self._train_rows = max(1, rows // rules.batch_size) * rules.batch_size
        self._test_rows = max(1, rows // rules.eval_rows) * rules.eval_rows

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """Train all seeds for one epoch; ``state`` is donated."""
        number = np.int32(epoch)
        count = self._split.train.shape[1]
        places = np.asarray(_orders(self.keys, number, rows=count))
        rows = np.take_along_axis(np.asarray(self._split.train), places, axis=1)
        running = None
        for piece in self._pieces(rows, self._train_rows):
            state, running = _train(
                state, running, self._ranges, piece, **self._options
            )
        scores = [
            _validate(state, self._ranges, piece, **self._options)
            for piece in self._pieces(np.asarray(self._split.test), self._test_rows)
        ]
        labels = everywhere(self._mesh, self._y[self._split.test])
        return _end(state, running, scores, labels, number, **self._options)

    def _pieces(
        self, rows: Int[np.ndarray, "seeds rows"], size: int
    ) -> Iterator[Piece]:
        """Yield the events at ``rows [S, n]``, ``size`` rows of each seed at a time."""

        def send(start):
            part = rows[:, start : start + size]
            return everywhere(self._mesh, Piece(self._x[part], self._y[part]))

        starts = range(0, rows.shape[1], size)
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(send, 0)
            for start in starts[1:]:
                piece = coming.result()
                coming = thread.submit(send, start)
                yield piece
            yield coming.result()


@functools.partial(jax.jit, static_argnames="rows")
def _orders(
    keys: Shaped[Array, " seeds"], epoch: Int[Array, ""], *, rows: int
) -> Int[Array, "seeds {rows}"]:
    return jax.vmap(lambda key: order(jax.random.fold_in(key, epoch), rows))(keys)


_compiled = functools.partial(jax.jit, static_argnames=("rules", "mesh"))


@functools.partial(_compiled, donate_argnames=("state", "running"))
def _train(
    state: State,
    running: Running | None,
    ranges: Split,
    piece: Piece,
    *,
    rules: Rules,
    mesh: Mesh,
) -> tuple[State, Running]:
    """Train all seeds on the rows of a piece."""
    if running is None:
        state, running = jax.vmap(_learner.begin)(state)

    def of_seed(state, running, ranges, piece):
        fetch = functools.partial(_fetch, ranges, mesh)
        return _epoch.train(rules, fetch, piece, state, running)

    after = over_seeds(of_seed, rules)(state, running, ranges, piece)
    return keep_everywhere(mesh, after)


@_compiled
def _validate(
    state: State, ranges: Split, piece: Piece, *, rules: Rules, mesh: Mesh
) -> Scores:
    def of_seed(state, ranges, piece):
        fetch = functools.partial(_fetch, ranges, mesh)
        return _epoch.validate(rules, fetch, piece, state)

    return keep_everywhere(mesh, over_seeds(of_seed, rules)(state, ranges, piece))


@functools.partial(_compiled, donate_argnames="state")
def _end(
    state: State,
    running: Running,
    scores: list[Scores],
    labels: Shaped[Array, "seeds rows"],
    epoch: Int[Array, ""],
    *,
    rules: Rules,
    mesh: Mesh,
) -> tuple[State, Metrics]:
    whole = Scores(
        jnp.concatenate([part.margins for part in scores], axis=1),
        _learner.total([part.loss for part in scores]),
        _learner.total([part.saturation for part in scores]),
    )
    end = functools.partial(_learner.end, rules, epoch=epoch)
    return keep_everywhere(mesh, over_seeds(end, rules)(state, running, whole, labels))


def _fetch(
    ranges: Split, mesh: Mesh, piece: Piece
) -> tuple[Float[Array, "rows features"], Shaped[Array, " rows"]]:
    x, y = divide(mesh, piece)
    return ranges.scale(x), y
