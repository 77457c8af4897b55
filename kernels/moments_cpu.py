"""Coefficient gradients on the CPU: one vectorised loop for many sums.

``n+1`` column sums over the same ``x`` and ``dy`` are slow in XLA:CPU: every sum is its
own loop, reads the inputs again and starts its powers anew. A *variadic* reduce is
emitted as one loop with all its sums. This file cuts the rows into tiles for which
that loop is vectorised; what is fast differs between the compilers of two versions,
hence the table below.
"""

import itertools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from jaxbern.kernels.algebra import outside, terms


@dataclass(frozen=True)
class Tiling:
    """How rows are cut: ``[depth, lanes]`` values enter one reduce over ``depth``."""

    depth: int  # rows summed by one reduce, per lane
    lanes: int  # accumulators per sum, at least: all rows of a tile side by side
    group: int  # sums per reduce


# Before 0.11 the compiler unrolls a reduction of four, and then vectorises the loop
# over lanes; longer ones stay scalar, and so does a reduce of more than a dozen sums.
_UNROLLED = Tiling(depth=4, lanes=16384, group=7)
# Since 0.11 it vectorises a long reduction by itself when the output is one short row;
# there all sums share one loop.
_STREAMED = Tiling(depth=64, lanes=1, group=128)

# Elements of the innermost loop, at least, where there are so many.
_VECTORISED = 256

TILING = _UNROLLED if jax.__version_info__ < (0, 11) else _STREAMED


def sum_terms(
    x: jax.Array,
    dy: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    degree: int,
    shape: tuple[int, ...],
    *,
    with_outside: bool = False,
    tiling: Tiling = TILING,
) -> jax.Array:
    """``sum dy * (2t)^k * (2s)^(n-k)`` for every k, as ``[degree+1, *shape]``.

    ``x`` and ``dy`` have one shape, of the rank of ``shape``; the sum runs over the axes
    where ``shape`` is 1. ``with_outside`` adds the two sums of :func:`algebra.outside`.
    """
    count = degree + 1 + 2 * with_outside
    if x.size == 0:
        return jnp.zeros((count, *shape), lower.dtype)
    if x.ndim == 0:
        return jnp.stack(_values(x, dy, lower, upper, degree, with_outside))
    # [groups, rows, width]: rows are the axes just before the last over which the sum
    # runs and the interval is the same. What else is reduced is summed afterwards.
    split = x.ndim - 1
    fixed = zip(shape[:-1], lower.shape, upper.shape, strict=False)
    for sizes in reversed(list(fixed)):
        if sizes != (1, 1, 1):
            break
        split -= 1
    kept = (*x.shape[:split], *[1] * (x.ndim - 1 - split), x.shape[-1])
    groups, width = math.prod(x.shape[:split]), x.shape[-1]
    rows = math.prod(x.shape[split:-1])
    bounds = (
        jnp.broadcast_to(b, (*x.shape[:split], *b.shape[split:])).reshape(
            groups, 1, b.shape[-1]
        )
        for b in (lower, upper)
    )
    sums = _by_tiles(
        x.reshape(groups, rows * width),
        dy.reshape(groups, rows * width),
        *bounds,
        degree=degree,
        width=width,
        with_outside=with_outside,
        tiling=tiling,
    )
    sums = sums.reshape(count, *kept)
    axes = tuple(1 + i for i, size in enumerate(shape) if size != kept[i])
    return jnp.sum(sums, axis=axes, keepdims=True) if axes else sums


def _values(x, dy, lower, upper, degree, with_outside, first=0, last=None):
    """The terms ``first <= k < last``; after the last of all, what lies outside."""
    last = degree + 1 if last is None else last
    values = terms(x, dy, lower, upper, degree, first, last)
    return values + outside(x, dy, lower, upper) * (with_outside and last > degree)


def _by_tiles(x, dy, lower, upper, *, degree, width, with_outside, tiling):
    """Sums over rows: from ``[groups, rows * width]`` to ``[n+1, groups, width]``."""
    groups, size = x.shape
    rows = size // width
    # A tile is [groups, depth, outer, inner]: the loop over `inner`, one or more rows, is
    # vectorised, that over `outer` is shared among the cores.
    beside = max(1, min(tiling.lanes // (width * groups), -(-rows // tiling.depth)))
    inner = max(1, min(beside, _VECTORISED // width))
    outer = beside // inner
    tile = tiling.depth * outer * inner * width
    lower, upper = (
        b if b.shape[-1] == 1 else jnp.tile(b, (1, 1, inner)) for b in (lower, upper)
    )
    lower, upper = lower[:, :, None], upper[:, :, None]

    def reduce_tile(x, dy):
        shape = (groups, tiling.depth, outer, inner * width)
        x, dy = (v.reshape(shape) for v in (x, dy))
        count = -(-(degree + 1) // tiling.group)
        edges = [(degree + 1) * i // count for i in range(count + 1)]
        zero = jnp.zeros((), lower.dtype)
        sums = []
        for first, last in itertools.pairwise(edges):
            # Casting and clamping happen in there, inside this loop: outside they
            # would be arrays of their own.
            values = _values(x, dy, lower, upper, degree, with_outside, first, last)
            sums += lax.reduce(values, [zero] * len(values), _add, (1,))
        return sums

    def add_tile(i, sums):
        cut = [lax.dynamic_slice_in_dim(v, i * tile, tile, axis=1) for v in (x, dy)]
        return _add(sums, reduce_tile(*cut))

    # The sums start from one tile: the rows left over, with dy = 0 in the padding, or
    # the first.
    full, rest = divmod(size, tile)
    padding = ((0, 0), (0, tile - rest))
    begin = (
        [jnp.pad(v[:, size - rest :], padding) for v in (x, dy)]
        if rest
        else [v[:, :tile] for v in (x, dy)]
    )
    sums = reduce_tile(*begin)
    if full > (rest == 0):
        sums = lax.fori_loop(int(rest == 0), full, add_tile, sums)
    return jnp.stack(sums).reshape(len(sums), groups, -1, width).sum(axis=2)


def _add(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]
