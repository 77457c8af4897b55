"""Coefficient gradients on the CPU: one vectorised loop for many sums.

``n+1`` column sums over the same ``x`` and ``dy`` are slow in XLA:CPU: every sum is its
own loop, reads the inputs again and starts its powers anew. A *variadic* reduce is
emitted as one loop with all its sums. This file cuts the rows into tiles for which
that loop is vectorised; what is fast differs between the compilers of two versions,
hence the table below.
"""

import itertools
import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax

from jaxbern.kernels.xla.products import terms


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
    interval: jax.Array,
    degree: int,
    shape: tuple[int, ...],
    *,
    ends: str | None = None,
    tiling: Tiling | None = None,
) -> jax.Array:
    """The sums of :func:`products.terms` over rows, ``[n+1, *shape]`` or ``[n+3, *shape]``.

    ``x`` and ``dy`` have one shape, of the rank of ``shape``; the sum runs over the axes
    where ``shape`` is 1.
    """
    count = degree + 1 + 2 * bool(ends)
    if x.size == 0:
        return jnp.zeros((count, *shape), interval.dtype)
    if x.ndim == 0:
        return jnp.stack(terms(x, dy, interval, degree, ends=ends))
    if shape[-1] == interval.shape[-1] == 1 < x.shape[-1]:
        # The last axis is one of rows: those of a layer of width one.
        x, dy, interval = (v[..., None] for v in (x, dy, interval))
        sums = sum_terms(x, dy, interval, degree, (*shape, 1), ends=ends, tiling=tiling)
        return sums[..., 0]
    # [groups, rows, width]: rows are the axes just before the last over which the sum
    # runs and the interval is the same. What else is reduced is summed afterwards.
    split = x.ndim - 1
    for sizes in reversed(list(zip(shape[:-1], interval.shape[1:-1], strict=True))):
        if sizes != (1, 1):
            break
        split -= 1
    kept = (*x.shape[:split], *[1] * (x.ndim - 1 - split), x.shape[-1])
    groups, width = math.prod(x.shape[:split]), x.shape[-1]
    rows = math.prod(x.shape[split:-1])
    own = (len(interval), *x.shape[:split], *interval.shape[1 + split :])
    interval = jnp.broadcast_to(interval, own)
    sums = _by_tiles(
        x.reshape(groups, rows * width),
        dy.reshape(groups, rows * width),
        interval.reshape(len(interval), groups, 1, interval.shape[-1]),
        degree=degree,
        width=width,
        ends=ends,
        tiling=tiling,
    )
    sums = sums.reshape(count, *kept)
    axes = tuple(1 + i for i, size in enumerate(shape) if size != kept[i])
    return jnp.sum(sums, axis=axes, keepdims=True) if axes else sums


def _folded(groups: int) -> Tiling:
    """Rows side by side fill the vectors of a layer of width one, in every version."""
    return replace(_UNROLLED, lanes=_VECTORISED * groups)


def _by_tiles(x, dy, interval, *, degree, width, ends, tiling):
    """Sums over rows: from ``[groups, rows * width]`` to ``[n+1, groups, width]``."""
    groups, size = x.shape
    rows = size // width
    if tiling is None:
        tiling = _folded(groups) if width == 1 else TILING
    # A tile is [groups, depth, outer, inner]: the loop over `inner`, one or more rows, is
    # vectorised, that over `outer` is shared among the cores.
    beside = max(1, min(tiling.lanes // (width * groups), -(-rows // tiling.depth)))
    inner = max(1, min(beside, _VECTORISED // width))
    outer = beside // inner
    tile = tiling.depth * outer * inner * width
    if interval.shape[-1] > 1:
        interval = jnp.tile(interval, (1, 1, 1, inner))
    interval = interval[:, :, :, None]

    def reduce_tile(x, dy):
        shape = (groups, tiling.depth, outer, inner * width)
        x, dy = (v.reshape(shape) for v in (x, dy))
        count = -(-(degree + 1) // tiling.group)
        edges = [(degree + 1) * i // count for i in range(count + 1)]
        zero = jnp.zeros((), interval.dtype)
        sums = []
        for first, last in itertools.pairwise(edges):
            # Casting and clamping happen in there, inside this loop: outside they
            # would be arrays of their own.
            cut = {"first": first, "last": last}
            values = terms(x, dy, interval, degree, ends=ends, **cut)
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
