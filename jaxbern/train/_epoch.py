"""One epoch of all seeds as one program: shuffle, steps, validation, stopping rules.

``train`` and ``validate`` go over the rows of one seed. There ``rows`` is a tree of arrays
with one leading axis, and ``fetch`` turns a piece of it into scaled features and labels:
for data on the device, ``rows`` are row numbers and ``fetch`` is a gather.

With several devices, the rows of a batch are sharded and everything else is replicated.
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
from jaxbern.kernels.array_types import Array, Float, Int, Shaped
from jaxbern.train import _learner
from jaxbern.train._learner import Metrics, Rules, Running, Scores, State
from jaxbern.train._shuffle import order

_ROWS = "rows"
Rows = Any
# Scaled features [rows, d] and labels [rows].
Fetch = Callable[[Rows], tuple[jax.Array, jax.Array]]


class Data(NamedTuple):
    """The rows, stored once for all seeds, and the split of each seed."""

    x: Float[Array | np.ndarray, "events features"]  # float32
    y: Shaped[Array | np.ndarray, " events"]  # uint8
    split: Split  # of arrays with a leading axis for the seeds
    keys: Shaped[Array, " seeds"]  # for shuffling


def _run(
    state: State, data: Data, epoch: Int[Array, ""], *, rules: Rules, mesh: Mesh
) -> tuple[State, Metrics]:
    """Run one epoch; ``epoch`` counts from 0 and is an array, so that one trace suffices."""

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


_jit = functools.partial(
    jax.jit, static_argnames=("rules", "mesh"), donate_argnames="state"
)
run = _jit(_run)
# Matrix products that several such programs compute at the same time must not wait for
# threads of one pool: with all of them waiting, none is left to compute.
run_on_one_thread = _jit(_run, compiler_options={"xla_cpu_multi_thread_eigen": False})


def train(
    rules: Rules, fetch: Fetch, rows: Rows, state: State, running: Running
) -> tuple[State, Running]:
    """Take a step on every batch of ``rows``; the last batch has the remaining rows.

    A last batch of one row is left out, because BatchNorm would make it zero.
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
    """Compute the scores of all rows."""

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
    """Cut rows into pieces ``[k, size, ...]`` and a remainder."""
    whole = _length(rows) // size * size
    pieces = jax.tree.map(lambda a: a[:whole].reshape(-1, size, *a.shape[1:]), rows)
    return pieces, jax.tree.map(lambda a: a[whole:], rows)


def _length(rows: Rows) -> int:
    return len(jax.tree.leaves(rows)[0])


def over_seeds(of_one: Callable, rules: Rules) -> Callable:
    """Map ``of_one`` over the leading axis of every argument: ``vmap``, or a loop on a CPU.

    The arrays of a layer of one seed fit into a CPU's cache; those of three seeds do not,
    and computing them together takes more than three times as long.
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
        raise ValueError(
            "devices must hold at least one device, got none; omit it to use all"
        )
    if batch_size % len(found):
        warnings.warn(
            f"batch_size={batch_size} cannot be divided by {len(found)} devices, so each "
            f"computes all of it; write batch_size={batch_size // len(found) * len(found)}",
            stacklevel=4,
        )
    return Mesh(np.array(found), (_ROWS,))


def everywhere(mesh: Mesh, tree: Any) -> Any:
    """Replicate the arrays on each device."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def keep_everywhere(mesh: Mesh, tree: Any) -> Any:
    """Constrain arrays, inside a program, to be replicated."""
    if mesh.size == 1:
        return tree
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.lax.with_sharding_constraint(tree, whole)


def divide(mesh: Mesh, rows: Any) -> Any:
    """Constrain arrays, inside a program, to be sharded along their leading axis.

    The compiler then shards everything that is computed row by row, and sums over rows,
    such as the statistics of BatchNorm and the gradients, are reduced over the devices.
    Rows that cannot be divided evenly are replicated: every device computes all of them.
    """
    if mesh.size == 1 or len(jax.tree.leaves(rows)[0]) % mesh.size:
        return rows
    divided = NamedSharding(mesh, PartitionSpec(_ROWS))
    return jax.lax.with_sharding_constraint(rows, divided)
