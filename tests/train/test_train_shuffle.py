"""The order of rows is a permutation, and looks like a random one."""

import jax
import numpy as np
import pytest

from jaxbern.train._shuffle import order

ordered = jax.jit(order, static_argnums=1)
# Every compiled length costs a second: one below, at and above a power of two.
LENGTHS = [1, 5, 256, 257, 60_000]


def orders(rows: int, count: int) -> np.ndarray:
    keys = jax.random.split(jax.random.key(7), count)
    return np.asarray(jax.jit(jax.vmap(lambda key: order(key, rows)))(keys))


def excess(counts: np.ndarray, expected: float, freedom: int) -> float:
    """Chi-squared in standard deviations above what chance gives."""
    chi_squared = np.sum((counts - expected) ** 2) / expected
    return (chi_squared - freedom) / np.sqrt(2 * freedom)


@pytest.mark.parametrize("rows", LENGTHS)
def test_every_row_occurs_once(rows):
    found = np.asarray(ordered(jax.random.key(3), rows))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(np.sort(found), np.arange(rows))


@pytest.mark.slow
def test_every_order_of_few_rows_is_as_frequent():
    found = orders(4, 24_000)
    _, counts = np.unique(found @ [64, 16, 4, 1], return_counts=True)
    assert len(counts) == 24
    assert excess(counts, 1000, 23) < 4


@pytest.mark.slow
def test_rows_and_pairs_of_rows_fall_anywhere():
    rows, count = 30, 20_000
    found = orders(rows, count)
    places = np.stack([np.bincount(column, minlength=rows) for column in found.T])
    assert excess(places, count / rows, (rows - 1) ** 2) < 4
    neighbours = np.bincount(found[:, 3] * rows + found[:, 4], minlength=rows**2)
    apart = neighbours[~np.eye(rows, dtype=bool).ravel()]
    assert excess(apart, count / len(apart), len(apart) - 1) < 4


def test_long_orders_are_uncorrelated():
    one, other = (
        np.asarray(ordered(jax.random.key(k), 60_000)).astype(float) for k in (3, 4)
    )
    pairs = [(one, other), (one, np.arange(60_000)), (one[1:], one[:-1])]
    for a, b in pairs:
        assert abs(np.corrcoef(a, b)[0, 1]) * 60_000**0.5 < 4
