"""Split a data set into training and test rows for several seeds, by row indices.

The file is private because a module called ``split`` would hide the function.
"""

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.data._dataset import Dataset
from jaxbern.data._errors import DataError
from jaxbern.kernels.array_types import Array, ArrayLike, Bool, Float, Int, Shaped

__all__ = ["Split", "split"]

_MOST_ROWS = 2**31 - 1  # an index is an int32
# Widest range of a feature whose inverse is a normal float32.
_WIDEST = np.float32(2.0**126)
_BLOCK = 2**19  # bytes of x at a time: three blocks stay in a core's cache


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["train", "test", "minimum", "maximum"],
    meta_fields=[],
)
@dataclasses.dataclass(frozen=True)
class Split:
    """Rows to train and to test on, and the ranges to scale by, for each seed.

    A JAX pytree with a leading axis for the seeds: under ``jax.vmap`` each member is
    the split of one seed, and ``split[k]`` is that of the k-th. The data stay where
    they are, once for all seeds: ``x[split.train[k]]`` are the rows.

    Attributes:
      train: shuffled row numbers, int32 ``[S, Ntrain]``.
      test: shuffled row numbers, int32 ``[S, Ntest]``; those not in ``train``.
      minimum: minimum of each feature over the training rows, float32 ``[S, d]``.
      maximum: maximum of each feature over the training rows, float32 ``[S, d]``.
    """

    # JAX also makes this pytree of other leaves: shapes, descriptions of arguments.
    train: Any
    test: Any
    minimum: Any
    maximum: Any

    def __getitem__(self, member: int) -> "Split":
        """Return the split of one seed, by its position."""
        return jax.tree.map(lambda leaf: leaf[member], self)

    def scale(
        self, rows: Shaped[ArrayLike, "*batch features"]
    ) -> Float[Array, "*batch features"]:
        """Scale features to [0, 1] by the ranges of the training rows, float32.

        ``(rows - minimum) / (maximum - minimum)`` for ``rows [..., d]``, clipped: a
        test row outside the range of the training rows gets 0 or 1.
        A feature that is constant in training carries no information and gets 0. This is
        for one seed: call it under ``vmap`` over the split, or on ``split[k]``.
        """
        rows = jnp.asarray(rows)
        if self.minimum.ndim != 1:
            raise ValueError(
                "scale works on the split of one seed, and this one has an axis of "
                f"{len(self.minimum)} seeds; write split[0].scale(rows), or "
                "jax.vmap(lambda s: s.scale(rows))(split)"
            )
        if rows.shape[-1:] != self.minimum.shape:
            raise ValueError(
                f"rows must have shape [..., {len(self.minimum)}], the features that "
                f"were split, got {rows.shape}"
            )
        shape = (1,) * (rows.ndim - 1) + (-1,)
        low = jnp.reshape(jnp.asarray(self.minimum), shape)
        span = jnp.reshape(jnp.asarray(self.maximum), shape) - low
        # XLA may turn division by a broadcast array into a product, depending on what it
        # is compiled with: an explicit product gives the same bits always.
        varies = span >= jnp.finfo(span.dtype).tiny
        inverse = jnp.where(varies, 1 / jnp.where(varies, span, 1), 0)
        return jnp.clip((rows.astype(low.dtype) - low) * inverse, 0, 1)


def split(
    data: Dataset
    | tuple[Shaped[ArrayLike, "events features"], Shaped[ArrayLike, " events"]],
    seeds: Sequence[int] = (0, 1, 2),
    *,
    test_fraction: float = 0.2,
) -> Split:
    """Make a stratified split for each seed, with the ranges of its training rows.

    Each class is divided separately, to the nearest row, so the fraction of signal is the
    same in training, in test and for every seed. A seed gives the same rows regardless of
    other seeds, platform, and versions of Python and NumPy: row ``i`` has
    the ``i``-th output of ``PCG64(seed)`` as its key, the rows are ordered by the upper
    half of their keys, and the first of each class are tested on.

    ``x`` is read once, in blocks, for all seeds: it may be a memory map.

    Args:
      data: a ``Dataset``, or ``(x, y)`` with features ``[N, d]`` and labels 0 and 1.
      seeds: different integers of at least 0.
      test_fraction: fraction of the rows to test on, between 0 and 1.

    >>> import numpy as np
    >>> from jaxbern.data import split
    >>> x = np.arange(20, dtype=np.float32).reshape(10, 2)
    >>> y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], np.uint8)
    >>> halves = split((x, y), seeds=(0, 1), test_fraction=0.4)
    >>> halves.train.shape, np.sort(halves.test[0]).tolist()
    ((2, 6), [2, 3, 6, 8])
    >>> halves[0].scale(x[halves.train[0]]).max(axis=0).tolist()
    [1.0, 1.0]
    """
    x, signal = _events(data)
    members = _seeds(seeds)
    counts = _test_counts(signal, test_fraction)
    rows, ntest = len(signal), sum(counts)
    train = np.empty((len(members), rows - ntest), np.int32)
    test = np.empty((len(members), ntest), np.int32)
    trained = np.ones((len(members), rows), bool)
    for k, seed in enumerate(members):
        train[k], test[k] = _divided(signal, counts, seed)
        trained[k, test[k]] = False
    columns = getattr(data, "columns", None) or [str(j) for j in range(x.shape[1])]
    return Split(train, test, *_ranges(x, trained, columns))


def _divided(
    signal: Bool[np.ndarray, " events"], counts: list[int], seed: int
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
    """Return training and test rows, both in random order."""
    order = _shuffled(len(signal), seed)
    labels = signal[order]
    tested = np.zeros(len(order), bool)
    for label, count in enumerate(counts):
        tested[np.flatnonzero(labels == label)[:count]] = True
    return order[~tested], order[tested]


def _shuffled(rows: int, seed: int) -> Int[np.ndarray, " rows"]:
    """Return all row numbers in random order.

    NumPy guarantees the raw output of a bit generator across versions, but not that of
    ``Generator.permutation``. With the row number in the lower half of a key no two
    keys are equal, so every sorting algorithm gives the same order.
    """
    keys = np.random.PCG64(seed).random_raw(rows)
    keys &= np.uint64(0xFFFFFFFF00000000)
    keys |= np.arange(rows, dtype=np.uint32)
    keys.sort()
    keys &= np.uint64(0xFFFFFFFF)
    return keys.astype(np.int32)


def _ranges(
    x: Shaped[np.ndarray, "events features"],
    trained: Bool[np.ndarray, "seeds events"],
    columns: Sequence[str],
) -> tuple[Float[np.ndarray, "seeds features"], Float[np.ndarray, "seeds features"]]:
    """Return the smallest and largest training value of each feature for each seed."""
    low = np.full((len(trained), x.shape[1]), np.inf, np.float32)
    high = -low
    step = max(1, _BLOCK // (4 * x.shape[1]))
    for start in range(0, len(x), step):
        with np.errstate(over="ignore"):  # overflow gives infinity, which is refused
            block = np.asarray(x[start : start + step], np.float32)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise DataError(
                f"features must be finite float32 numbers, got {x[start + row, column]} "
                f"in row {start + row}, column {columns[column]}; remove that row, or "
                "replace the value"
            )
        for k, kept in enumerate(trained[:, start : start + step]):
            rows = np.compress(kept, block, axis=0)
            if len(rows):
                np.minimum(low[k], rows.min(axis=0), out=low[k])
                np.maximum(high[k], rows.max(axis=0), out=high[k])
    with np.errstate(over="ignore"):
        wide = (high - low > _WIDEST).any(axis=0)
    if wide.any():
        column = np.flatnonzero(wide)[0]
        raise DataError(
            f"the range of column {columns[column]}, from {low[:, column].min()} to "
            f"{high[:, column].max()}, is too wide for float32; divide the column by 8"
        )
    return low, high


def _events(
    data: Any,
) -> tuple[Shaped[np.ndarray, "events features"], Bool[np.ndarray, " events"]]:
    """Return the features, and whether each event is signal; raise if they are invalid."""
    if isinstance(data, Dataset):
        data = data.x, data.y
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(
            f"data must be a Dataset or a pair (x, y), got {type(data).__name__}; "
            "write split((x, y))"
        )
    x, y = np.asanyarray(data[0]), np.asanyarray(data[1])
    if x.ndim != 2 or y.shape != x.shape[:1] or x.size == 0:
        raise DataError(
            "data must be features [N, d] and one label for each of N > 0 events, got "
            f"x {list(x.shape)} and y {list(y.shape)}"
        )
    if len(x) > _MOST_ROWS:
        raise DataError(
            f"an index is an int32: at most {_MOST_ROWS:,} events, got {len(x):,}; "
            "split x[:2**31 - 1]"
        )
    signal = np.asarray(y == 1)
    if not (known := signal | (y == 0)).all():
        row = np.flatnonzero(~known)[0]
        raise DataError(
            f"labels must be 0 (background) or 1 (signal), got {y[row]} in row {row}"
        )
    return x, signal


def _test_counts(signal: Bool[np.ndarray, " events"], fraction: float) -> list[int]:
    """Return the numbers of background and of signal events to test on."""
    if not 0 < fraction < 1:  # NaN fails as well
        raise ValueError(
            f"test_fraction must be between 0 and 1, such as 0.2, got {fraction}"
        )
    ones = int(np.count_nonzero(signal))
    sizes = {"background (label 0)": len(signal) - ones, "signal (label 1)": ones}
    for name, size in sizes.items():
        if size < 2:
            raise DataError(
                "each class needs at least 2 events, one to train and one to test on, "
                f"got {size} of {name} among {len(signal)}; a file that is sorted by "
                "class must be read whole"
            )
    return [min(max(round(n * fraction), 1), n - 1) for n in sizes.values()]


def _seeds(seeds: Sequence[int]) -> list[int]:
    try:
        found = [operator.index(seed) for seed in seeds]
    except TypeError as error:
        raise TypeError(
            f"seeds must be a sequence of integers, such as (0, 1, 2), got {seeds!r}"
        ) from error
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise ValueError(
            f"seeds must be at least one, different, and none below 0, got {seeds!r}"
        )
    return found
