"""Going over many rows: in batches to train on, in chunks to validate on.

``rows`` is a tree of arrays with one leading axis, and ``fetch`` makes scaled features and
labels of a piece of it. For data on the device these are row numbers and a gather.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbern.train import _learner
from jaxbern.train._learner import Rules, Running, Scores, State

Rows = Any
Fetch = Callable[[Rows], tuple[jax.Array, jax.Array]]


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
