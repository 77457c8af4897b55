"""The sums over rows that XLA:CPU runs, against float64: every way to cut the rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels.algebra import CLAMP, LINEAR
from jaxbern.kernels.xla import cpu_sums

INTERVAL = np.array([-1.5, 2.0], np.float32)
# Tiles of 4 or 64 rows, one tile for all rows, and loops over many.
TILINGS = {
    "one tile": cpu_sums.Tiling(depth=4, elements=2**20, sums=12),
    "loop by fours": cpu_sums.Tiling(depth=4, elements=2**9, sums=2),
    "loop by long sums": cpu_sums.Tiling(depth=64, elements=0, sums=128),
    "at once": cpu_sums.Tiling(depth=2**13, elements=2**13, sums=128),
}


def oracle(x, dy, degree, ends):
    """``sum dy (2t)^k (2s)^(n-k)`` over axis -2, in float64."""
    x, dy = np.asarray(x, np.float64), np.asarray(dy, np.float64)
    lower, upper = INTERVAL.astype(np.float64)
    z = np.clip(x, lower, upper)
    t, s = 2 * (z - lower) / (upper - lower), 2 * (upper - z) / (upper - lower)
    values = [dy * t**k * s ** (degree - k) for k in range(degree + 1)]
    if ends == LINEAR:
        values += [dy * np.minimum(x - lower, 0), dy * np.maximum(x - upper, 0)]
    elif ends:
        values += [dy * (x < lower), dy * (x > upper)]
    size = sum(np.abs(v).sum(axis=-2, keepdims=True) for v in values)
    return np.stack([v.sum(axis=-2, keepdims=True) for v in values]), size


@pytest.mark.parametrize("name", TILINGS)
@pytest.mark.parametrize("shape", [
    (256, 16), (129, 9), (1, 8), (5, 3), (700, 1), (67, 2), (2, 100, 4), (3, 33, 8),
])  # fmt: skip
def test_sums_are_those_of_float64(name, shape):
    rng = np.random.default_rng(0)
    x, dy = (jnp.asarray(rng.normal(size=shape), jnp.float32) for _ in range(2))
    x = x.at[..., 0].mul(3)
    interval = jnp.asarray(INTERVAL.reshape(2, *[1] * len(shape)))
    degree, kept = 5, (*shape[:-2], 1, shape[-1])

    @jax.jit
    def sums(x, dy):
        return [
            cpu_sums.sum_terms(
                x, dy, interval, degree, kept, ends=ends, tiling=TILINGS[name]
            )
            for ends in (None, LINEAR, CLAMP)
        ]

    for ends, found in zip((None, LINEAR, CLAMP), sums(x, dy), strict=True):
        want, size = oracle(x, dy, degree, ends)
        assert found.shape == want.shape
        assert np.all(np.abs(found - want) <= 8 * np.finfo(np.float32).eps * size)


def test_the_choice_never_pads_few_rows_to_many():
    for rows in (1, 3, 63):
        assert cpu_sums.choose(10**8, rows).depth == 4
