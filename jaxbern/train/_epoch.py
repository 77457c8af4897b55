"""An epoch of all seeds as one program, with the data on the device."""

import functools
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxbern.data import Split
from jaxbern.train import _learner, _passes
from jaxbern.train._learner import Metrics, Rules, State
from jaxbern.train._mesh import divide, everywhere, keep_everywhere
from jaxbern.train._seeds import over_seeds
from jaxbern.train._shuffle import order


class Data(NamedTuple):
    """The rows, once for all seeds, and what each seed makes of them."""

    x: jax.Array | np.ndarray  # float32 [N, d]
    y: jax.Array | np.ndarray  # uint8 [N]
    split: Split  # of arrays with a leading axis for the seeds
    keys: jax.Array  # [S], of the order of the rows


class Resident:
    """Trains from rows on the device: an epoch is one call."""

    def __init__(self, data: Data, *, rules: Rules, mesh: Mesh):
        """Copy the rows to each device, once for all seeds."""
        self.keys = data.keys
        x, y, split = everywhere(mesh, data[:3])
        self._data = Data(x, y, split, data.keys)
        self._run = functools.partial(run, rules=rules, mesh=mesh)

    def run(self, state: State, epoch: int) -> tuple[State, Metrics]:
        """All seeds one epoch later; ``state`` is used up."""
        return self._run(state, self._data, np.int32(epoch))


@functools.partial(jax.jit, static_argnames=("rules", "mesh"), donate_argnames="state")
def run(
    state: State, data: Data, epoch: jax.Array, *, rules: Rules, mesh: Mesh
) -> tuple[State, Metrics]:
    """``epoch`` counts from 0 and is an array: one trace serves all epochs."""

    def of_seed(state, split, key):
        def fetch(rows):
            x, y = divide(mesh, (data.x[rows], data.y[rows]))
            return split.scale(x), y

        rows = split.train[order(jax.random.fold_in(key, epoch), len(split.train))]
        state, running = _passes.train(rules, fetch, rows, *_learner.begin(state))
        scores = _passes.validate(rules, fetch, split.test, state)
        labels = data.y[split.test]
        return _learner.end(rules, state, running, scores, labels, epoch=epoch)

    after = over_seeds(of_seed)(state, data.split, data.keys)
    return keep_everywhere(mesh, after)
