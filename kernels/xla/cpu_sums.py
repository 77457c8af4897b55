"""Coefficient gradients on the CPU: one vectorised loop for many sums.

``n+1`` column sums over the same ``x`` and ``dy`` are slow in XLA:CPU: every sum is its
own loop, reads the inputs again and starts its powers anew. A *variadic* reduce is
emitted as one loop with all its sums. The compiler unrolls one over four rows and then
vectorises the loop over neurons; a longer one stays scalar. So rows are summed by fours,
the results by fours again, and so on. Neurons stay an axis of their own: what a user adds
to ``x`` for each of them, such as a bias, is computed inside the same loop, and would be
gathered number by number if rows and neurons were one axis.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from jaxbern.kernels.array_types import Array, Float
from jaxbern.kernels.xla.products import terms


@dataclass(frozen=True)
class Tiling:
    """How rows are cut into tiles, which a loop takes one after the other."""

    depth: int  # rows summed by one reduce
    elements: int  # of x in a tile, at most
    sums: int  # per reduce of terms, at most: with more the loop stays scalar


# The sums of a tile, a quarter as many numbers each, stay in the cache.
_BY_FOURS = Tiling(depth=4, elements=2**17, sums=12)
# Since JAX 0.11 a tile that is cut out inside a loop is not vectorised that way, but a
# long reduce is whose output is one short row. Up to a size there is one tile, and a
# very small one is one reduce, which compiles fastest.
_WHOLE = Tiling(depth=4, elements=2**19, sums=12)
_STREAMED = Tiling(depth=64, elements=0, sums=128)
_AT_ONCE = Tiling(depth=2**13, elements=2**13, sums=128)

# Sums of numbers that are in memory already, per reduce.
_PLAIN_SUMS = 7
# Lines in a tile are a multiple of this, so that there are two steps by fours.
_BLOCK = 16
# Fewer sums than this are not worth the time to compile more steps by fours.
_FEW = 2**11
# Fewer neurons than this do not fill vectors: several rows stand side by side.
_NARROW, _LANES = 8, 64


def sum_terms(
    x: Float[Array, "*batch"],
    dy: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    degree: int,
    shape: tuple[int, ...],
    *,
    ends: str | None = None,
    tiling: Tiling | None = None,
) -> Float[Array, "sums *#batch"]:
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
        x.reshape(groups, rows, width),
        dy.reshape(groups, rows, width),
        interval.reshape(len(interval), groups, 1, interval.shape[-1]),
        degree=degree,
        ends=ends,
        tiling=tiling or choose(x.size, rows),
    )
    sums = sums.reshape(count, *kept)
    axes = tuple(1 + i for i, size in enumerate(shape) if size != kept[i])
    return jnp.sum(sums, axis=axes, keepdims=True) if axes else sums


def choose(size: int, rows: int) -> Tiling:
    """What is fastest for an ``x`` of this size with this version's compiler."""
    if jax.__version_info__ < (0, 11):
        return _BY_FOURS
    if size < _AT_ONCE.elements:
        return _AT_ONCE
    short = size <= _WHOLE.elements or rows < _STREAMED.depth
    return _WHOLE if short else _STREAMED


def _by_tiles(x, dy, interval, *, degree, ends, tiling: Tiling):
    """Sums over rows: from ``[groups, rows, width]`` to ``[n+1, groups, width]``."""
    groups, rows, width = x.shape
    beside = max(1, min(rows, _LANES // width)) if width < _NARROW else 1
    lines, line = rows // beside, beside * width
    depth = min(tiling.depth, lines)
    block = depth if lines < _BLOCK else max(_BLOCK, depth)
    most = max(block, tiling.elements // (groups * line))
    tile = 2 ** int(math.log2(most)) if lines > most else lines - lines % block
    if interval.shape[-1] > 1:
        interval = jnp.tile(interval, (1, 1, 1, beside))
    interval = interval[:, :, None]

    def reduce_tile(x, dy):
        """Sum some rows of ``x`` and ``dy`` to ``n+1`` arrays ``[groups, 1, line]``."""
        shape = (groups, depth, -1, line)
        x, dy = x.reshape(shape), dy.reshape(shape)
        sums = []
        for first, last in itertools.pairwise(_edges(degree + 1, tiling.sums)):
            # Casting and clamping happen in there, inside this loop: outside they
            # would be arrays of their own.
            cut = {"first": first, "last": last}
            sums += _reduce(terms(x, dy, interval, degree, ends=ends, **cut))
        return _sum_lines(sums)

    def add_tile(i, sums):
        cut = [lax.dynamic_slice_in_dim(v, i * size, size, axis=1) for v in (x, dy)]
        return _add(sums, reduce_tile(*cut))

    # The rows left over make the first tile, with dy = 0 in the padding. If there is no
    # other tile they belong to, all rows are padded: to compile one tile is cheaper.
    size = tile * beside
    full, rest = divmod(rows, size)
    if rest and full == 1:
        full, rest = 0, rows
    if rest:
        padding = ((0, 0), (0, -rest % (block * beside)), (0, 0))
        begin = [jnp.pad(v[:, rows - rest :], padding) for v in (x, dy)]
    else:
        begin = [v[:, :size] for v in (x, dy)]
    sums = reduce_tile(*begin)
    first = int(rest == 0)
    if full > first:
        sums = lax.fori_loop(first, full, add_tile, sums)
    return jnp.stack(sums).reshape(len(sums), groups, beside, width).sum(axis=2)


def _edges(count: int, most: int) -> list[int]:
    """Cut ``count`` terms into equal parts of at most ``most``."""
    parts = -(-count // most)
    return [count * i // parts for i in range(parts + 1)]


def _reduce(values: Sequence[jax.Array]) -> list[jax.Array]:
    """Sum each over the axis 1, in one loop."""
    zero = jnp.zeros((), values[0].dtype)
    return list(lax.reduce(values, [zero] * len(values), _add, (1,)))


def _sum_lines(sums: list[jax.Array]) -> list[jax.Array]:
    """Sum each ``[groups, lines, line]`` to ``[groups, 1, line]``."""
    groups, _, line = sums[0].shape
    few = sums[0].size < _FEW
    while sums[0].shape[1] % 4 == 0 and not few:
        stacked = [s.reshape(groups, 4, -1, line) for s in sums]
        edges = itertools.pairwise(_edges(len(sums), _PLAIN_SUMS))
        sums = [s for i, j in edges for s in _reduce(stacked[i:j])]
    if sums[0].shape[1] > 1:
        sums = list(jnp.stack(sums).sum(axis=2, keepdims=True))
    return sums


def _add(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]
