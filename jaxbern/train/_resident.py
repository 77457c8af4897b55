"""Run epochs on rows that are on the device: all seeds in one program, or one in each."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxbern.train import _epoch
from jaxbern.train._epoch import Data, everywhere
from jaxbern.train._learner import Metrics, Rules, State


class Resident:
    """Trains all seeds in one program: an epoch is one call."""

    def __init__(self, data: Data, *, rules: Rules, mesh: Mesh):
        """Copy the rows to each device, once for all seeds."""
        self.keys = data.keys
        x, y, split = everywhere(mesh, data[:3])
        self._data = Data(x, y, split, data.keys)
        self._options = {"rules": rules, "mesh": mesh}
        self._run: Any = functools.partial(_epoch.run, **self._options)

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """Train all seeds for one epoch; ``state`` is donated."""
        return self._run(state, self._data, np.int32(epoch))

    def compile(self, state: State) -> Any:
        """Compile the epoch; returns JAX's compiled program, which ``run`` then calls."""
        first = np.int32(0)
        lowered = _epoch.run.lower(state, self._data, first, **self._options)
        self._run = lowered.compile()
        return self._run


class SideBySide:
    """Trains the seeds on the cores of a CPU: an epoch is one call for each seed.

    Inside a program XLA splits each loop over the cores, which for a small network costs more
    than it saves. Calls from several threads run at the same time, each on a core of its own.
    A seed has the program that it has alone, hence the same bits.
    """

    def __init__(self, data: Data, *, rules: Rules, mesh: Mesh):
        """Store the rows once for all seeds."""
        self.keys = data.keys
        x, y, split = everywhere(mesh, data[:3])
        self._seeds = [
            Resident(Data(x, y, own_split, own_key), rules=rules, mesh=mesh)
            for own_split, own_key in _apart((split, data.keys), count=len(data.keys))
        ]
        self._program: Any = None

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """Train all seeds for one epoch."""
        states = _apart(state, count=len(self._seeds))
        program = self._program or self._compile(states)

        def train(seed: Resident, own: State) -> tuple[State, Metrics]:
            return jax.block_until_ready(seed.run(own, epoch))

        with ThreadPoolExecutor(_at_once(program, len(self._seeds))) as threads:
            return _together(list(threads.map(train, self._seeds, states)))

    def compile(self, state: State) -> Any:
        """Compile the epoch of one seed; returns the program that ``run`` calls for each."""
        return self._compile(_apart(state, count=len(self._seeds)))

    def _compile(self, states: list[State]) -> Any:
        # JAX compiles the first and finds it again for the others. Threads get compiled
        # programs because settings such as a default precision apply to one thread only.
        programs = [
            seed.compile(own) for seed, own in zip(self._seeds, states, strict=True)
        ]
        self._program = programs[0]
        return self._program


@functools.partial(jax.jit, static_argnames="count")
def _apart(tree: Any, *, count: int) -> list[Any]:
    """Cut the leading axis of each array into ``count`` pieces of length one."""
    return [jax.tree.map(lambda a, i=i: a[i : i + 1], tree) for i in range(count)]


@jax.jit
def _together(trees: list[Any]) -> Any:
    """Join the arrays of trees along their leading axis."""
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *trees)


def _at_once(program: Any, seeds: int) -> int:
    """Return how many calls may run at a time: their buffers take half of the memory."""
    needed = program.memory_analysis().temp_size_in_bytes
    return max(1, min(seeds, _memory() // 2 // max(1, needed)))


def _memory() -> int:
    """Return the bytes of memory of this machine, or no limit if it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62
