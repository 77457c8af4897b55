"""An epoch of all seeds as one program: shuffle, steps, validation, what ends it.

``train`` and ``validate`` go over the rows of one seed. There ``rows`` is a tree of arrays
with one leading axis, and ``fetch`` makes scaled features and labels of a piece of it: for
data on the device these are row numbers and a gather.

Over several devices, the rows of a batch are divided and all else is copied.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxbern.data import Split
from jaxbern.train import _learner
from jaxbern.train._learner import Metrics, Rules, Running, Scores, State
from jaxbern.train._shuffle import order

_ROWS = "rows"
Rows = Any
Fetch = Callable[[Rows], tuple[jax.Array, jax.Array]]


class Data(NamedTuple):
    """The rows, once for all seeds, and what each seed makes of them."""

    x: jax.Array | np.ndarray  # float32 [N, d]
    y: jax.Array | np.ndarray  # uint8 [N]
    split: Split  # of arrays with a leading axis for the seeds
    keys: jax.Array  # [S], of the order of the rows


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
        state, running = train(rules, fetch, rows, *_learner.begin(state))
        scores = validate(rules, fetch, split.test, state)
        labels = data.y[split.test]
        return _learner.end(rules, state, running, scores, labels, epoch=epoch)

    after = over_seeds(of_seed, rules)(state, data.split, data.keys)
    return keep_everywhere(mesh, after)


def train(
    rules: Rules, fetch: Fetch, rows: Rows, state: State, running: Running
) -> tuple[State, Running]:
    """Steps on all batches of ``rows``, the last on what remains.

    A batch of one row is left out: BatchNorm would make it zero.
    """

    def step(carry, batch):
        (state, running), (x, y) = carry, fetch(batch)
        return _learner.step(rules, state, running, x, y), None

    carry = state, running
    batches, rest = _cut(rows, rules.batch_size)
    if _length(batches):
        carry, _ = lax.scan(step, carry, batches)
    if _length(rest) > 1:
        carry, _ = step(carry, rest)
    return carry


def validate(rules: Rules, fetch: Fetch, rows: Rows, state: State) -> Scores:
    """The scores of all rows."""

    def score(chunk):
        x, y = fetch(chunk)
        return _learner.evaluate(rules, state.network, x, y)

    chunks, rest = _cut(rows, rules.eval_rows)
    parts = [lax.map(score, chunks)] if _length(chunks) else []
    if _length(rest):
        parts.append(jax.tree.map(lambda a: a[None], score(rest)))
    return Scores(
        jnp.concatenate([part.margins.reshape(-1) for part in parts]),
        _learner.total([jnp.sum(part.loss) for part in parts]),
        _learner.total([jnp.sum(part.saturation) for part in parts]),
    )


def _cut(rows: Rows, size: int) -> tuple[Rows, Rows]:
    """Pieces ``[k, size, ...]``, and what remains."""
    whole = _length(rows) // size * size
    pieces = jax.tree.map(lambda a: a[:whole].reshape(-1, size, *a.shape[1:]), rows)
    return pieces, jax.tree.map(lambda a: a[whole:], rows)


def _length(rows: Rows) -> int:
    return len(jax.tree.leaves(rows)[0])


def over_seeds(of_one: Callable, rules: Rules) -> Callable:
    """``of_one`` over the leading axis of every argument: ``vmap``, on a CPU a loop.

    What a layer of one seed works on fits into a CPU's cache; that of three seeds side by
    side does not, and takes more than three times as long.
    """

    def of_all(*arguments):
        if rules.on_cpu:
            return lax.map(lambda of_seed: of_one(*of_seed), arguments)
        return jax.vmap(of_one)(*arguments)

    return of_all


def mesh_for(batch_size: int, devices: Sequence[jax.Device] | None) -> Mesh:
    """Make a mesh over these devices, or over all devices of all hosts."""
    found = jax.devices() if devices is None else list(devices)
    if not found:
        raise ValueError("devices must be at least one, got none; leave it out for all")
    if batch_size % len(found):
        warnings.warn(
            f"batch_size={batch_size} cannot be divided by {len(found)} devices, so each "
            f"computes all of it; write batch_size={batch_size // len(found) * len(found)}",
            stacklevel=4,
        )
    return Mesh(np.array(found), (_ROWS,))


def everywhere(mesh: Mesh, tree: Any) -> Any:
    """A copy of the arrays on each device."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def keep_everywhere(mesh: Mesh, tree: Any) -> Any:
    """Constrain arrays, inside a program, to be whole on each device."""
    if mesh.size == 1:
        return tree
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.lax.with_sharding_constraint(tree, whole)


def divide(mesh: Mesh, rows: Any) -> Any:
    """Constrain arrays, inside a program, to be divided along their leading axis.

    The compiler then divides all that is computed row by row, and sums over rows, such
    as the statistics of BatchNorm and the gradients, are summed over the devices too.
    Rows that cannot be divided evenly are left whole: every device computes all of them.
    """
    if mesh.size == 1 or len(jax.tree.leaves(rows)[0]) % mesh.size:
        return rows
    divided = NamedSharding(mesh, PartitionSpec(_ROWS))
    return jax.lax.with_sharding_constraint(rows, divided)
