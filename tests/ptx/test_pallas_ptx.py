"""What would run on a GPU: the Pallas kernels compiled for one, executed, looked at.

XLA compiles them for cards that are not there, and the PTX is executed on the CPU. That
needs the packages of the extra ``gpu-aot``.
"""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.gpu import sass, toolchain
from experiments.gpu.gpu_compile import compile_for
from experiments.gpu.occupancy import occupancy
from jaxbern.kernels import config, pallas, pallas_vjp
from jaxbern.kernels.config import Launch
from jaxbern.kernels.layout import plan
from tests.oracles import casteljau, interval_oracle
from tests.ptx import InOut, Kernel, OutputSpec
from tests.quick import quickly

pytestmark = [
    pytest.mark.skipif(not toolchain.available(), reason=f"needs {toolchain.INSTALL}"),
    # Otherwise the plugin looks for a driver and is gone when there is none.
    pytest.mark.skipif(
        jax.config.jax_platforms != "cpu", reason="needs JAX_PLATFORMS=cpu"
    ),
]

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)
FORWARD, GRADIENT = "jaxbern_bernstein", "jaxbern_bernstein_vjp"
SKIP, INTERVAL = "jaxbern_bernstein_skip", "jaxbern_bernstein_vjp_interval"


def compiled(target, x, coeffs, lower, upper, dy, launch=None, fused=False):
    """One training step's calls, compiled for ``target``; arguments need only shapes.

    ``fused`` ones add ``dy`` to the value, and differentiate in the interval too.
    """

    def step(x, coeffs, lower, upper, dy):
        args, addend = (x, coeffs, lower, upper), dy if fused else None
        y = pallas.evaluate(*args, addend=addend, launch=launch)
        return y, *pallas_vjp.vjp(*args, dy, interval=fused, launch=launch)

    args = (x, coeffs, lower, upper, dy)
    return compile_for(target, step, *args)


def execute(kernel, inputs, outputs):
    """Run the PTX; every element must be written, and nothing beside them touched."""
    # JAX 0.12 names the only kind of parameter that a kernel has.
    text = kernel.ptx.replace("ld.param::entry.", "ld.param.")
    result = Kernel(text, kernel.name).launch(
        kernel.grid, kernel.threads, [*inputs, *outputs], shared_bytes=kernel.shared
    )
    assert not any(result.unwritten)
    return result.outputs


SHAPES = {  # of x, of a coefficient, of an end of the interval
    "ragged": ((45, 37), (1, 37), (1, 1)),
    "one row": ((1, 40), (1, 40), (1, 1)),
    "one column": ((300, 1), (1, 1), (1, 1)),
    "smaller than a block": ((3, 5), (1, 5), (1, 5)),
    "seeds": ((3, 20, 9), (3, 1, 9), (3, 1, 9)),
    "full blocks": ((64, 64), (1, 64), (1, 64)),
    "shared": ((21, 7), (1, 1), (1, 1)),
    "fewer than a warp": ((3, 2), (1, 2), (1, 2)),
}
# Two steps of two tiles for each program: the loop, on few rows.
LOOP = Launch(rows=8, columns=32, unroll=2, steps=2)
PLAIN = [
    *(("float32", degree, "ragged", LOOP) for degree in (1, 3, 9, 25)),
    *(("bfloat16", degree, "ragged", LOOP) for degree in (1, 25)),
    *(("float16", degree, "ragged", LOOP) for degree in (1, 9, 25)),
    *(("float32", 3, shape, None) for shape in SHAPES),
    ("bfloat16", 3, "one column", None),
    ("bfloat16", 9, "one row", None),
    ("float16", 3, "seeds", None),
]
FUSED = [
    *(("float32", degree, "ragged", LOOP) for degree in (9, 25)),
    *(("float32", 3, shape, None) for shape in ("full blocks", "seeds", "shared")),
    ("bfloat16", 3, "fewer than a warp", None),
]


@pytest.mark.parametrize(
    "dtype, degree, name, launch, fused",
    [*((*case, False) for case in PLAIN), *((*case, True) for case in FUSED)],
)
def test_executed_ptx(dtype, degree, name, launch, fused):
    shape, parameters, bounds = SHAPES[name]
    rng = np.random.default_rng(degree)
    x, dy = rng.normal(size=(2, *shape)).astype(dtype)
    x.flat[:: max(x.size // 7, 1)] = np.float32(3).astype(dtype)  # outside
    coeffs = rng.normal(size=(degree + 1, *parameters)).astype(np.float32)
    lower = rng.uniform(-2.0, -1.0, bounds).astype(np.float32)
    upper = rng.uniform(1.0, 2.0, bounds).astype(np.float32)
    program = compiled("a30", x, coeffs, lower, upper, dy, launch, fused)
    forward, gradient = map(
        program.kernels.get, (SKIP, INTERVAL) if fused else (FORWARD, GRADIENT)
    )

    layout = plan(shape, coeffs.shape, lower.shape, upper.shape)

    @quickly
    def pack(x, coeffs, lower, upper, dy):
        ends = (layout.pack_bound(end, broadcast=False) for end in (lower, upper))
        coeffs = layout.pack_coeffs(coeffs, broadcast=False)
        return layout.pack(x), coeffs, tuple(ends), layout.pack(dy)

    rows, packed, ends, each = pack(x, coeffs, lower, upper, dy)
    like_x = OutputSpec(layout.sizes, x.dtype)
    inputs = [rows, packed, *ends, *([each] if fused else [])]
    (y,) = execute(forward, inputs, [like_x])
    if fused:  # XLA may have the sum written over the addend
        both = InOut(np.asarray(each))
        in_place, _ = execute(forward, [*inputs[:-1], both], [both])
        np.testing.assert_array_equal(in_place, y)
    chosen = launch or config.gradient(layout.sizes, degree, interval=fused)
    blocks = -(-layout.sizes[1] // chosen.rows_per_program)
    interval = (lower.shape, upper.shape) if fused else ()
    sums = (degree + 1 + len(interval), blocks, layout.sizes[0], layout.sizes[2])
    sums, dx = execute(
        gradient,
        [rows, each, *ends, packed],
        [OutputSpec(sums, np.float32), like_x],
    )

    @quickly
    def unpack(y, dx, sums):
        total = layout.unpack_sums(sums.sum(axis=1), coeffs.shape, *interval)
        return layout.unpack(y), layout.unpack(dx), total

    y, dx, (dc, *dends) = unpack(y, dx, sums)

    narrow = dtype != "float32"
    rounding = float(jnp.finfo(dtype).eps) if narrow else 0.0
    tiny = float(jnp.finfo(dtype).smallest_subnormal) if narrow else TINY
    allowed = 8 * (degree + 2) * EPS

    def check(got, want, bound, rounding=rounding, tiny=tiny):
        error = np.abs(np.float64(got) - want)
        np.testing.assert_array_less(error, bound + rounding * np.abs(want) + tiny)

    x, dy = np.float64(x), np.float64(dy)
    addend = dy if fused else np.zeros_like(dy)
    limit = casteljau.value(x, np.abs(coeffs), lower, upper) + np.abs(addend)
    check(y, casteljau.value(x, coeffs, lower, upper) + addend, allowed * limit)
    limit = casteljau.slope(x, coeffs, lower, upper, absolute=True) * np.abs(dy)
    check(dx, casteljau.slope(x, coeffs, lower, upper) * dy, allowed * limit)
    limit = casteljau.moments(x, np.abs(dy), lower, upper, coeffs.shape)
    want = casteljau.moments(x, dy, lower, upper, coeffs.shape)
    summed = x.size * (degree + 1) / coeffs.size
    check(dc, want, (allowed + summed * EPS) * limit, rounding=0.0, tiny=TINY)
    if fused:
        wants = interval_oracle.gradients(x, coeffs, lower, upper, dy)
        limits = interval_oracle.limits(x, coeffs, lower, upper, dy)
        for got, want, limit in zip(dends, wants, limits, strict=True):
            bound = (allowed + x.size / got.size * EPS) * limit
            check(got, want, bound, rounding=0.0, tiny=TINY)


def test_special_values_in_executed_ptx():
    x = np.float32([[-3, 3, -np.inf, np.inf, -4, 4, np.nan, 0]]).T
    coeffs = np.float32([[[1]], [[-1]], [[4]], [[7]]])
    ends = np.float32([[[-3]], [[3]]])
    kernels = compiled("a30", x, coeffs, *ends, x).kernels
    one = np.ones_like(x)
    inputs = (x[None], coeffs, *ends)
    (y,) = execute(kernels[FORWARD], inputs, [OutputSpec(x.shape, x.dtype)])
    np.testing.assert_array_equal(y[:6, 0], [1, 7] * 3)
    sums, dx = execute(
        kernels[GRADIENT],
        [x[None], one[None], *ends, coeffs],
        [OutputSpec((4, 1), np.float32), OutputSpec(x.shape, x.dtype)],
    )
    np.testing.assert_allclose(dx[:2, 0], [-1, 1.5], rtol=4 * EPS)
    np.testing.assert_array_equal(dx[2:6, 0], 0)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
    np.testing.assert_array_equal(np.isnan(dx), np.isnan(x))
    assert np.isnan(sums).all()


# FP32 instructions per element of the forward and of the gradient kernel, and registers.
LIMITS = {3: (18, 28, 48), 9: (30, 52, 64), 25: (62, 116, 128)}
ARCHITECTURES = {"a30": "sm_80", "h100": "sm_90"}


@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize("degree", LIMITS)
def test_machine_code(degree, target):
    rows, width = 16384, 256
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, end = shape((rows, width)), shape((1, 1))
    program = compiled(target, x, shape((degree + 1, 1, width)), end, end, x)
    # Each kernel once, and one sum of what the gradient's programs wrote.
    assert [k.launches for k in program.kernels.values()] == [1, 1, 1]
    assert not any(
        re.search(r"\b(atom|red)\.", k.ptx) for k in program.kernels.values()
    )
    *most, registers = LIMITS[degree]
    for name, limit, arrays in zip((FORWARD, GRADIENT), most, (1, 2), strict=True):
        kernel = program.kernels[name]
        report = sass.analyse(kernel.ptx, ARCHITECTURES[target])[name]
        assert report.spills == report.stack == 0
        assert report.registers <= registers
        # A short loop is unrolled: then all of the program is one pass of it, with the
        # reading of n+1 coefficients and two ends, and with the sums over its warps.
        loop = report.hot_loop or report.straight
        elements = rows * width // (kernel.blocks * kernel.threads)
        if report.hot_loop:
            elements = loop.opcodes["LDG"] // arrays
            assert loop.loaded == 4 * arrays * elements
            assert loop.stored == 4 * elements
        assert loop.opcodes["FFMA"] >= (degree - 1) * elements
        # ptxas writes the choice of zero outside the interval as an integer one.
        assert (loop.fp32 + loop.opcodes["SEL"]) / elements <= limit
    partial_sums = (degree + 1) * 4 * program.kernels[GRADIENT].blocks * 32
    assert partial_sums <= 0.02 * 12 * rows * width


@pytest.mark.parametrize("degree", [9, 25])
def test_addend_and_interval_cost_little(degree):
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, end = shape((16384, 256)), shape((1, 256))
    args = x, shape((degree + 1, 1, 256)), end, end, x
    plain, fused = (compiled("a30", *args, fused=fused) for fused in (False, True))

    def cost(program, name):
        """Of the loop over rows, FP32 instructions per element; and the occupancy."""
        kernel = program.kernels[name]
        report = sass.analyse(kernel.ptx, "sm_80")[name]
        assert report.spills == report.stack == 0
        loop, shared = report.hot_loop, report.shared + kernel.shared
        resources = {"registers": report.registers, "shared": shared}
        share = occupancy(program.target, threads=kernel.threads, **resources).share
        return loop.fp32 / loop.opcodes["STG"], share, loop

    before, resident, _ = cost(plain, FORWARD)
    after, still, loop = cost(fused, SKIP)
    assert after <= before  # the addend comes with the last multiply-add
    assert still >= resident
    assert loop.loaded == 2 * loop.stored
    before, resident, _ = cost(plain, GRADIENT)
    after, still, loop = cost(fused, INTERVAL)
    # A multiply-add for each end; and where `dx` was zero by predicate, it is chosen.
    assert after <= before + 3
    assert still >= resident
    assert loop.loaded == 2 * loop.stored
    partial_sums = (degree + 3) * 4 * fused.kernels[INTERVAL].blocks * 32
    assert partial_sums <= 0.02 * 12 * 16384 * 256


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_highest_degree_fits_in_registers(target):
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, end = shape((16384, 256)), shape((1, 1))
    args = x, shape((65, 1, 256)), end, end, x
    vjp = functools.partial(pallas_vjp.vjp, interval=True)
    kernel = compile_for(target, vjp, *args).kernels[INTERVAL]
    report = sass.analyse(kernel.ptx, ARCHITECTURES[target])[INTERVAL]
    assert report.spills == report.stack == 0
