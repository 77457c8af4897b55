"""What would run on a GPU: the Mosaic kernels compiled for one, executed, looked at."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.gpu import sass
from experiments.gpu.gpu_compile import compile_for
from jaxbern.kernels.config import Launch
from jaxbern.kernels.mosaic.mosaic_backend import BACKEND
from jaxbern.kernels.packed import FORWARD, GRADIENT, MOMENTS
from tests.experiments.gpu_cases import needs_compiler
from tests.oracles import casteljau
from tests.ptx import OutputSpec, executed
from tests.ptx.executed import check_case, execute, named
from tests.ptx.kernel_checks import CASES, EPS, TINY

pytestmark = [
    needs_compiler,
    pytest.mark.slow,
    pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="needs JAX 0.12"),
]
compiled = functools.partial(executed.compiled, BACKEND)
shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)

# Two steps of two tiles for each program: the loop, on few rows.
LOOP = Launch(rows=4, columns=32, unroll=2, steps=2)


@pytest.mark.parametrize("dtype, degree, name, fused, outside", CASES)
def test_executed_ptx(dtype, degree, name, fused, outside):
    launch = LOOP if name == "ragged" else None
    # Mosaic's kernels have no result that may take the place of an argument.
    check_case(BACKEND, dtype, degree, name, fused, outside, launch, in_place=False)


def test_special_values_and_the_same_bits_twice():
    x = np.zeros((6, 32), np.float32)  # a tile, and two rows by themselves
    x[:, 0] = [-3, 3, -np.inf, np.inf, -4, 4]
    x[3, 1] = x[5, 2] = np.nan
    coeffs = np.float32([[[1]], [[-1]], [[4]], [[7]]])
    interval, one = np.float32([[[-3]], [[3]]]), np.ones_like(x)
    # An interval for each column keeps the rows from being folded.
    wide = np.repeat(interval, 32, axis=2)
    program = compiled("a30", x, coeffs, wide, x)
    inputs, like_x = (x[None], coeffs, wide), OutputSpec(x.shape, x.dtype)
    (y,) = execute(named(program, FORWARD), inputs, [like_x])
    np.testing.assert_array_equal(y[:, 0], [1, 7] * 3)
    gradient = (
        named(program, GRADIENT),
        [*inputs, one[None]],
        [like_x, OutputSpec((4, 2, 32), np.float32)],  # two row blocks
    )
    dx, sums = execute(*gradient)
    np.testing.assert_allclose(dx[:2, 0], [-1, 1.5], rtol=4 * EPS)
    np.testing.assert_array_equal(dx[2:, 0], 0)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
    np.testing.assert_array_equal(np.isnan(dx), np.isnan(x))
    broken = np.broadcast_to(np.isnan(x).any(axis=0), (4, 32))
    np.testing.assert_array_equal(np.isnan(sums).any(axis=1), broken)
    for first, again in zip((dx, sums), execute(*gradient), strict=True):
        np.testing.assert_array_equal(first, again)


def test_executed_moments():
    rng = np.random.default_rng(2)
    x, dy = rng.normal(size=(2, 45, 37)).astype(np.float32)
    interval, full = np.float32([[[-2]], [[2]]]), (4, 1, 37)

    def moments(x, interval, dy):
        return BACKEND.moments(x, interval, dy, outside="clamp", shape=full)

    program = compile_for("a30", moments, x, interval, dy)
    kernel = named(program, MOMENTS)
    blocks = kernel.grid[0] // 2  # by two strips
    outputs = [OutputSpec((4, 1, blocks, 37), np.float32)]
    (sums,) = execute(kernel, [x[None], interval, dy[None]], outputs)
    # Unweighed: t^k s^(n-k), each stretched by 2^8.
    weights = np.float64([1, 3, 3, 1])[:, None] * 2.0**-24
    got = np.float64(sums).sum(axis=(1, 2)) * weights
    want = casteljau.moments(x, dy, *interval, full)[:, 0]
    limit = casteljau.moments(x, np.abs(dy), *interval, full)[:, 0]
    np.testing.assert_array_less(np.abs(got - want), (8 * 5 + 45) * EPS * limit + TINY)


# Multiply-adds, sums and products per element of the forward and of the gradient kernel,
# and registers. An A30, which has few lanes for them, gets another form at degree 25.
LIMITS = {3: (14, 20, 80), 9: (28, 41, 80), 25: (57, 87, 128)}
FEWER = {("a30", 25): (40, 78, 128)}
ARCHITECTURES = {"a30": "sm_80", "h100": "sm_90", "b200": "sm_100"}


@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize(
    "degree", [9, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 25))]
)
def test_machine_code(degree, target):
    rows, width = 16384, 256
    x, interval = shape((rows, width)), shape((2, 1, 1))
    program = compiled(target, x, shape((degree + 1, 1, width)), interval, x)
    # Each kernel once, and one sum of what the gradient's programs wrote.
    assert [k.launches for k in program.kernels.values()] == [1, 1, 1]
    assert not any(
        re.search(r"\b(atom|red)\.", k.ptx) for k in program.kernels.values()
    )
    *most, registers = FEWER.get((target, degree), LIMITS[degree])
    for name, limit, arrays in zip((FORWARD, GRADIENT), most, (1, 2), strict=True):
        kernel = named(program, name)
        report = sass.analyse(kernel.ptx, ARCHITECTURES[target])[kernel.name]
        assert report.spills == report.stack == 0
        assert report.registers <= registers
        loop = report.hot_loop or report.straight
        elements = rows * width // (kernel.blocks * kernel.threads)
        if report.hot_loop:
            # Mosaic does not say that its pointers are global ones.
            elements = (loop.opcodes["LDG"] + loop.opcodes["LD"]) // arrays
            assert loop.loaded == 4 * arrays * elements
            assert loop.stored == 4 * elements
        assert loop.kinds["fma"] / elements <= limit
    partial_sums = (degree + 1) * 4 * named(program, GRADIENT).blocks * 32
    assert partial_sums <= 0.02 * 12 * rows * width


@pytest.mark.slow
@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_highest_degree_fits_in_registers(target):
    x, coeffs, interval = shape((16384, 256)), shape((65, 1, 256)), shape((3, 1, 1))
    for outside in ("clamp", "linear"):
        options = {"with_interval": True, "outside": outside}
        vjp = functools.partial(BACKEND.vjp, **options)
        kernel = named(compile_for(target, vjp, x, coeffs, interval, x), GRADIENT)
        report = sass.analyse(kernel.ptx, ARCHITECTURES[target])[kernel.name]
        assert report.spills == report.stack == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_every_kernel_of_a_sharded_step_is_ours(dtype):
    """Vmapped seeds and an addend: one launch each, by the names that a profile shows."""
    x = jax.ShapeDtypeStruct((2, 40, 33), dtype)
    args = x, shape((4, 2, 1, 33)), shape((3, 1, 1, 1)), x
    kernels = compiled("a30", *args, fused=True).kernels
    ours = [name for name in kernels if name.startswith("jaxbern_")]
    suffix = "_mosaic_gpu_kernel"
    wanted = {f"jaxbern_bernstein{kind}{suffix}" for kind in ("_skip", "_vjp")}
    assert set(ours) == wanted
