"""Run epochs on rows that are on the device: all seeds in one program, or one in each."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxbern.train import _epoch
from jaxbern.train._epoch import Data, everywhere
from jaxbern.train._learner import Metrics, Rules, State

_CACHED = 2**18  # numbers, of 4 bytes: 1 MiB


class Resident:
    """Trains all seeds in one program: an epoch is one call."""

    def __init__(
        self, data: Data, *, rules: Rules, mesh: Mesh, program: Any = _epoch.run
    ):
        """Copy the rows to each device, once for all seeds."""
        self.keys = data.keys
        x, y, split = everywhere(mesh, data[:3])
        self._data = Data(x, y, split, data.keys)
        self._program, self._options = program, {"rules": rules, "mesh": mesh}
        self._run: Any = functools.partial(program, **self._options)

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """Train all seeds for one epoch; ``state`` is donated."""
        return self._run(state, self._data, np.int32(epoch))

    def compile(self, state: State) -> Any:
        """Compile the epoch; returns JAX's compiled program, which ``run`` then calls."""
        first = np.int32(0)
        lowered = self._program.lower(state, self._data, first, **self._options)
        self._run = lowered.compile()
        return self._run


class SideBySide:
    """Trains the seeds on the cores of a CPU: an epoch is one call for each seed.

    Inside a program XLA splits each loop over the cores, which for a small network costs more
    than it saves. Calls from several threads run at the same time, each on a core of its own.
    A seed has the program that it has alone, hence the same bits.
    """

    @staticmethod
    def suits(rules: Rules, mesh: Mesh) -> bool:
        """Return whether this is faster: on one CPU, if a layer fits into a core's cache.

        Programs for several devices wait for each other, so only one may run at a time.
        With ``jax.disable_jit`` there is none.
        """
        small = rules.batch_size * rules.network.width <= _CACHED
        jitted = not jax.config.jax_disable_jit  # pyrefly: ignore[missing-attribute]
        return rules.on_cpu and mesh.size == 1 and small and jitted

    def __init__(self, data: Data, *, rules: Rules, mesh: Mesh):
        """Store the rows once for all seeds."""
        self.keys = data.keys
        x, y = everywhere(mesh, data[:2])
        own = functools.partial(
            Resident, rules=rules, mesh=mesh, program=_epoch.run_on_one_thread
        )
        self._seeds = [
            own(Data(x, y, split, self.keys[k : k + 1]))
            for k, split in enumerate(_apart(data.split, len(self.keys)))
        ]
        self._mesh, self._program = mesh, None

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """Train all seeds for one epoch; the arrays that it returns are NumPy's."""
        # Threads get arrays of the device and compiled programs, because settings such as
        # x64 or a default precision apply to the thread of the caller only.
        states = everywhere(self._mesh, _apart(state, len(self._seeds)))
        program = self._program or self._compile(states)

        def train(seed: Resident, own: State) -> tuple[State, Metrics]:
            return jax.device_get(seed.run(own, epoch))

        with ThreadPoolExecutor(_at_once(program, len(self._seeds))) as threads:
            after = list(threads.map(train, self._seeds, states))
        return jax.tree.map(lambda *parts: np.concatenate(parts), *after)

    def compile(self, state: State) -> Any:
        """Compile the epoch of one seed; returns the program that ``run`` calls for each."""
        return self._compile(_apart(state, len(self._seeds)))

    def _compile(self, states: list[State]) -> Any:
        # JAX compiles the first and finds it again for the others.
        programs = [
            seed.compile(own) for seed, own in zip(self._seeds, states, strict=True)
        ]
        self._program = programs[0]
        return self._program


def _apart(tree: Any, count: int) -> list[Any]:
    """Cut the leading axis of each array into ``count`` pieces of length one.

    NumPy's views: XLA would compile a program for every shape of network.
    """
    arrays = jax.tree.map(np.asarray, tree)
    return [jax.tree.map(lambda a, k=k: a[k : k + 1], arrays) for k in range(count)]


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
