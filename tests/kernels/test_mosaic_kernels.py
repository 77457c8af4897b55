"""The Mosaic kernels, interpreted; arrays that are not as wide as a tile."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels.config import Launch
from jaxbern.kernels.mosaic import mosaic_backend, mosaic_fold
from tests.kernels import calls
from tests.kernels.test_pallas_kernels import SHAPES, coefficients, points, worst_error
from tests.op.absent_gpu import on_a_gpu

MOSAIC = "mosaic:interpret"
# Two steps of two tiles: the loop, what is left of it, and single rows.
SMALL = Launch(rows=4, columns=32, unroll=2, steps=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype, degree", [("float32", 3), ("float32", 25), ("bfloat16", 9)]
)
def test_error_is_within_the_bound(dtype, degree):
    rng = np.random.default_rng(degree)
    columns = 33  # one more than a strip
    lower = rng.uniform(-4, -2, (1, 1, columns)).astype(np.float32)
    upper = rng.uniform(2, 4, (1, 1, columns)).astype(np.float32)
    coeffs = coefficients(rng, degree, columns)
    x = points(rng, (3, 31, columns), lower, upper).astype(dtype)
    dy = rng.normal(size=x.shape).astype(dtype)
    assert worst_error(x, coeffs, lower, upper, dy, SMALL, MOSAIC) < 1


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name):
    shape, parameters, bounds = SHAPES[name]
    rng = np.random.default_rng(1)
    x, dy = (rng.normal(size=(2, *shape)) * 2).astype(np.float32)
    coeffs = rng.normal(size=(4, *parameters)).astype(np.float32)
    lower = rng.uniform(-4, -2, bounds).astype(np.float32)
    upper = rng.uniform(2, 4, bounds).astype(np.float32)
    assert worst_error(x, coeffs, lower, upper, dy, implementation=MOSAIC) < 1


@pytest.mark.parametrize(
    "groups, rows, width", [(1, 64, 3), (2, 7, 31), (3, 90, 1), (1, 5, 48), (2, 33, 9)]
)
def test_folding_loses_and_invents_nothing(groups, rows, width):
    x = np.arange(1.0, 1 + groups * rows * width, dtype=np.float32)
    x = x.reshape(groups, rows, width)
    # Parameters vary along groups and columns, so these are what plan() calls them.
    along = (2, groups, 1, width)
    layout = mosaic_fold.plan(x.shape, along, along)
    packed = layout.pack(x)
    assert packed.shape == layout.sizes
    assert layout.sizes[2] >= mosaic_fold.COLUMNS
    np.testing.assert_array_equal(layout.unpack(packed), x)
    # Each element meets its own column's parameter.
    numbers = np.arange(2 * groups * width, dtype=np.float32).reshape(along)
    spread = np.broadcast_to(
        layout.pack_parameters(numbers)[0][:, None], packed.shape
    ).reshape(-1)
    own = np.broadcast_to(numbers[0], x.shape).reshape(-1)
    kept = np.asarray(packed).reshape(-1) != 0
    np.testing.assert_array_equal(spread[kept], own)
    # Zeros add nothing to the sums over rows.
    sums = layout.unpack_sums(jnp.sum(packed, axis=1)[None])
    np.testing.assert_allclose(sums[0], x.sum(axis=1, keepdims=True), rtol=1e-5)


def test_only_a_batch_that_cannot_be_folded_is_copied():
    for rows, width, times in ((64, 3, 16), (48, 12, 3), (7, 31, 7), (1009, 1, 32)):
        along = (2, 1, width)
        layout = mosaic_fold.plan((rows, width), along, along)
        assert layout.times == times
        assert layout.sizes[1] * times - rows == -rows % times


def test_a_tile_of_another_size_is_refused():
    x, coeffs = np.ones((8, 40), np.float32), np.ones((4, 1, 40), np.float32)
    with pytest.raises(ValueError, match=r"must be \(4, 32\), got \(8, 32\)"):
        calls.evaluate(
            MOSAIC,
            x,
            coeffs,
            *np.float32([[[-3]], [[3]]]),
            launch=Launch(8, 32, 1, 1),
        )


@pytest.mark.slow
@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="needs JAX 0.12")
@pytest.mark.parametrize("dtype", ["bfloat16"])
def test_lowers_to_one_kernel_each_without_a_warning(dtype):
    x = jax.ShapeDtypeStruct((1000, 100), dtype)
    coeffs = jax.ShapeDtypeStruct((10, 1, 100), jnp.float32)
    interval = jax.ShapeDtypeStruct((2, 1, 1), jnp.float32)
    mosaic, options = mosaic_backend.BACKEND, {"outside": "clamp"}

    def step(x, coeffs, interval, dy):
        y = mosaic.evaluate(x, coeffs, interval, **options)
        sums = mosaic.moments(x, interval, dy, shape=coeffs.shape, **options)
        return y, sums, mosaic.vjp(x, coeffs, interval, dy, **options)

    with on_a_gpu():
        traced = jax.jit(step).trace(x, coeffs, interval, x)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("stablehlo.custom_call @mosaic_gpu") == 3
