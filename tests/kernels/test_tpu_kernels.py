"""The gradient's kernel for TPUs, interpreted, against de Casteljau in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels import backends
from jaxbern.kernels.tpu import tpu_backend, tpu_kernels
from jaxbern.kernels.xla import xla_backend
from tests.oracles import casteljau, interval_oracle

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
TPU = tpu_backend.INTERPRETED
DEGREE = 18  # the first that is the kernel's


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks of rows in a small array."""
    monkeypatch.setattr(tpu_kernels, "ROWS", 32)


def arguments(shape, columns, rows=2, dtype="float32"):
    rng = np.random.default_rng(0)
    x, dy = (2 * rng.normal(size=(2, *shape))).astype(dtype)
    coeffs = rng.normal(size=(DEGREE + 1, *columns)).astype(np.float32)
    ends = [np.full((1,) * len(shape), end, np.float32) for end in (-3, 3, 0.5)]
    return x, coeffs, np.stack(ends[:rows]), dy


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape, columns, dtype",
    [
        ((70, 130), (1, 130), "float32"),  # ragged both ways
        ((64, 128), (1, 128), "bfloat16"),
        ((2, 40, 128), (2, 1, 128), "float32"),  # vmapped seeds
    ],
)
@pytest.mark.parametrize("outside", ["clamp", "linear"])
def test_gradients(shape, columns, dtype, outside):
    x, coeffs, interval, dy = args = arguments(shape, columns, dtype=dtype)
    dx, dc = jax.jit(lambda *args: TPU.vjp(*args, outside=outside))(*args)
    wide, dy = np.float64(x), np.float64(dy)
    ends, options = tuple(interval), {"outside": outside}
    allowed = 8 * (DEGREE + 2) * EPS
    limit = casteljau.slope(wide, coeffs, *ends, absolute=True, **options) * np.abs(dy)
    want = casteljau.slope(wide, coeffs, *ends, **options) * dy
    rounding = 0 if dtype == "float32" else 2.0**-8
    bound = allowed * limit + rounding * np.abs(want) + TINY
    np.testing.assert_array_less(np.abs(np.float64(dx) - want), bound)
    args = wide, dy, *ends, coeffs.shape, outside
    limit = casteljau.moments(*args, absolute=True)
    error = np.abs(np.float64(dc) - casteljau.moments(*args))
    np.testing.assert_array_less(error, (allowed + shape[-2] * EPS) * limit + TINY)


@pytest.mark.slow
def test_interval_gradients_and_moments():
    x, coeffs, interval, dy = arguments((70, 130), (1, 130), rows=3)
    options = {"outside": "clamp", "with_interval": True}
    _, dc, dinterval = jax.jit(lambda *a: TPU.vjp(*a, **options))(
        x, coeffs, interval, dy
    )
    shifted, ends = np.float64(x - interval[2]), np.float64(interval[:2])
    args = shifted, coeffs, *ends, np.float64(dy), "clamp"
    wants, limits = interval_oracle.gradients(*args), interval_oracle.limits(*args)
    for got, want, limit in zip(dinterval[:2], wants, limits, strict=True):
        error = np.abs(np.float64(got) - want)
        bound = (8 * (DEGREE + 2) + x.size) * EPS * limit
        np.testing.assert_array_less(error, bound)
    alone = jax.jit(
        lambda x, interval, dy: TPU.moments(
            x, interval, dy, outside="clamp", shape=coeffs.shape
        )
    )(x, interval, dy)
    np.testing.assert_allclose(alone, dc, rtol=1e-5, atol=1e-5)


def test_not_a_number_stays_in_its_column():
    x, coeffs, interval, dy = arguments((70, 130), (1, 130))
    x[69, 129] = np.nan
    dx, dc = jax.jit(lambda *a: TPU.vjp(*a, outside="clamp"))(x, coeffs, interval, dy)
    np.testing.assert_array_equal(np.isnan(dx), np.isnan(x))
    assert np.isnan(dc[:, 0, 129]).all()
    assert not np.isnan(dc[:, 0, :129]).any()


def test_when_the_kernel_is_used(monkeypatch):
    called = []
    run = tpu_kernels.run

    def spy(task, *args, **options):
        called.append(task.degree)
        return run(task, *args, **options)

    monkeypatch.setattr(tpu_kernels, "run", spy)

    def vjp(degree, width, dtype=jnp.float32):
        x = jax.ShapeDtypeStruct((40, width), dtype)
        coeffs = jax.ShapeDtypeStruct((degree + 1, 1, width), dtype)
        interval = jax.ShapeDtypeStruct((2, 1, 1), dtype)
        call = lambda *args: TPU.vjp(*args, outside="clamp")  # noqa: E731
        jax.eval_shape(call, x, coeffs, interval, x)

    vjp(17, 128), vjp(25, 64), vjp(65, 128)
    assert not called
    vjp(18, 128), vjp(64, 200)
    assert called == [18, 64]


def test_it_is_what_xla_means_on_a_tpu():
    for name in ("auto", "xla"):
        found = backends.get(name, "tpu", np.dtype("float32"), 25, 100)
        assert found is tpu_backend.BACKEND
        assert found.name == "xla"
        assert found.evaluate is xla_backend.BACKEND.evaluate
