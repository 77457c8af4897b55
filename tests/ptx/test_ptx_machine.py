"""The PTX machine on what a real compiler emits for real GPUs, against NumPy."""

import os

import ml_dtypes
import numpy as np
import pytest

from tests import ptx

TYPES = {
    "fp32": np.dtype(np.float32),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}


@pytest.fixture(scope="module")
def compile_sample(tmp_path_factory):
    """Compiles a kernel of samples.py for a GPU that need not be there."""
    pytest.importorskip("triton", reason="Triton is not installed")
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("Triton interprets in this process instead of compiling")
    from tests.ptx import samples
    from tests.ptx.from_triton import compile_triton

    patch = pytest.MonkeyPatch()
    patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
    yield lambda name, *args, **options: compile_triton(
        getattr(samples, name), *args, **options
    )
    patch.undo()


def tolerance(kind, operations=1):
    """Units in the last place of the storage type, plus those of the arithmetic."""
    half = {"fp32": 0, "fp16": 2.0**-11, "bf16": 2.0**-8}[kind]
    return half + operations * 2.0**-24


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("kind", TYPES)
def test_triton_elementwise_with_a_ragged_edge(compile_sample, kind, capability):
    pointer = f"*{kind}"
    kernel = compile_sample(
        "add_scaled",
        {"x": pointer, "y": pointer, "out": pointer, "n": "i32", "alpha": "fp32"},
        {"BLOCK": 512},
        capability=capability,
    )
    rng, n = np.random.default_rng(1), 3 * 512 + 77
    x, y = (rng.normal(size=n).astype(TYPES[kind]) for _ in range(2))
    result = kernel.launch(4, x, y, ptx.OutputSpec((n,), TYPES[kind]), n, 0.3)
    exact = x.astype(np.float64) + np.float64(np.float32(0.3)) * y.astype(np.float64)
    # One rounding to float32, one to the storage type: the same bits.
    expected = exact.astype(np.float32).astype(TYPES[kind])
    np.testing.assert_array_equal(result.outputs[0], expected)
    size = n * TYPES[kind].itemsize
    assert result.bytes_loaded[:2] == (size, size)
    assert result.bytes_stored[2] == size
    assert result.unwritten[2] == 0


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("warps", [1, 8])
def test_triton_column_sums(compile_sample, kind, warps, capability):
    kernel = compile_sample(
        "column_sums",
        {"x": f"*{kind}", "out": "*fp32", "rows": "i32", "columns": "i32"},
        {"ROWS": 32, "COLUMNS": 16},
        capability=capability,
        warps=warps,
    )
    rows, columns = 150, 100
    x = np.random.default_rng(2).normal(size=(rows, columns)).astype(TYPES[kind])
    result = kernel.launch(7, x, ptx.OutputSpec((columns,), np.float32), rows, columns)
    wide = x.astype(np.float64)
    bound = rows * 2.0**-24 * np.abs(wide).sum(0)
    assert (np.abs(result.outputs[0] - wide.sum(0)) <= bound).all()
    assert result.bytes_loaded[0] == x.nbytes
    assert result.bytes_stored[1] == 4 * columns
    assert result.classes["warp"] > 0
    assert (result.shared_loaded > 0) == (warps > 1)


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("kind", TYPES)
def test_triton_polynomial_loop(compile_sample, kind, capability):
    kernel = compile_sample(
        "polynomial",
        {"x": f"*{kind}", "c": "*fp32", "out": f"*{kind}", "n": "i32"},
        {"DEGREE": 9, "BLOCK": 256},
        capability=capability,
    )
    rng, n = np.random.default_rng(3), 1000
    x = (1.5 * rng.normal(size=n)).astype(TYPES[kind])
    c = rng.normal(size=10).astype(np.float32)
    result = kernel.launch(4, x, c, ptx.OutputSpec((n,), TYPES[kind]), n)
    t = np.clip(x.astype(np.float64), -1, 1)
    exact = np.polynomial.polynomial.polyval(t, c.astype(np.float64))
    size = np.polynomial.polynomial.polyval(np.abs(t), np.abs(c.astype(np.float64)))
    error = np.abs(result.outputs[0].astype(np.float64) - exact)
    assert (error <= tolerance(kind, 20) * size).all()
    assert result.classes["fma"] == 10 * 4 * 256


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("kind", TYPES)
def test_triton_softmax(compile_sample, kind, warps, capability):
    kernel = compile_sample(
        "softmax",
        {"x": f"*{kind}", "out": f"*{kind}", "columns": "i32"},
        {"BLOCK": 256},
        capability=capability,
        warps=warps,
    )
    rows, columns = 40, 203
    x = np.random.default_rng(4).normal(size=(rows, columns)).astype(TYPES[kind])
    result = kernel.launch(rows, x, ptx.OutputSpec(x.shape, x.dtype), columns)
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    expected = e / e.sum(1, keepdims=True)
    error = np.abs(result.outputs[0].astype(np.float64) - expected)
    assert (error <= tolerance(kind, 32) * expected + 2.0**-25).all()


@pytest.mark.parametrize("capability", [80, 90])
def test_triton_divergent_logarithm(compile_sample, capability):
    kernel = compile_sample(
        "own_logarithm",
        {"x": "*fp32", "out": "*fp32", "n": "i32"},
        {"BLOCK": 256},
        capability=capability,
    )
    n = 500
    x = np.exp2(np.random.default_rng(5).uniform(-120, 120, n)).astype(np.float32)
    x[:3] = [np.inf, 2.0**-140, 1.0]
    result = kernel.launch(2, x, ptx.OutputSpec((n,), np.float32), n)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(
        result.outputs[0], np.log(wide) + np.sqrt(wide), rtol=1e-6
    )


def test_a_compiled_kernel_with_too_small_a_buffer(compile_sample):
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    kernel = compile_sample("own_logarithm", types, {"BLOCK": 256})
    x = np.ones(256, np.float32)
    with pytest.raises(ptx.MemoryFault, match="argument 0, which has 800 bytes"):
        kernel.launch(1, x[:200], ptx.OutputSpec((256,), np.float32), 256)
    with pytest.raises(ptx.MemoryFault, match="argument 1, which has 1020 bytes"):
        kernel.launch(1, x, ptx.OutputSpec((255,), np.float32), 256)
    assert kernel.launch(1, x, ptx.OutputSpec((256,), np.float32), 255).unwritten == (
        0,
        4,
        0,
    )


def test_a_compiled_reduction_that_loses_its_barriers(compile_sample):
    kernel = compile_sample(
        "column_sums",
        {"x": "*fp32", "out": "*fp32", "rows": "i32", "columns": "i32"},
        {"ROWS": 32, "COLUMNS": 16},
    )
    assert kernel.text.count("bar.sync") > 0
    broken = ptx.Kernel(kernel.text.replace("bar.sync \t0;", ""))
    args = [np.ones((64, 16), np.float32), ptx.OutputSpec((16,), np.float32), 64, 16]
    with pytest.raises(ptx.Race):
        broken.launch(1, args=args, shared_bytes=kernel.shared_bytes)
