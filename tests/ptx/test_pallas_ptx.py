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

from experiments.gpu import sass
from experiments.gpu.gpu_compile import compile_for
from experiments.gpu.roofline import occupancy
from jaxbern.kernels.config import Launch
from jaxbern.kernels.packed import FORWARD, GRADIENT, SKIP
from jaxbern.kernels.pallas.pallas_backend import BACKEND
from tests.experiments.gpu_cases import needs_compiler
from tests.ptx import OutputSpec, executed
from tests.ptx.executed import check_case, execute
from tests.ptx.kernel_checks import CASES, EPS

pytestmark = [needs_compiler, pytest.mark.slow]
compiled = functools.partial(executed.compiled, BACKEND)

# Two steps of two tiles for each program: the loop, on few rows.
LOOP = Launch(rows=8, columns=32, unroll=2, steps=2)


@pytest.mark.parametrize("dtype, degree, name, fused, outside", CASES)
def test_executed_ptx(dtype, degree, name, fused, outside):
    launch = LOOP if name == "ragged" else None
    check_case(BACKEND, dtype, degree, name, fused, outside, launch)


def test_special_values_in_executed_ptx():
    x = np.float32([[-3, 3, -np.inf, np.inf, -4, 4, np.nan, 0]]).T
    coeffs = np.float32([[[1]], [[-1]], [[4]], [[7]]])
    interval = np.float32([[[-3]], [[3]]])
    kernels = compiled("a30", x, coeffs, interval, x).kernels
    one = np.ones_like(x)
    inputs = (x[None], coeffs, interval)
    (y,) = execute(kernels[FORWARD], inputs, [OutputSpec(x.shape, x.dtype)])
    np.testing.assert_array_equal(y[:6, 0], [1, 7] * 3)
    dx, sums = execute(
        kernels[GRADIENT],
        [x[None], coeffs, interval, one[None]],
        [OutputSpec(x.shape, x.dtype), OutputSpec((4, 1), np.float32)],
    )
    np.testing.assert_allclose(dx[:2, 0], [-1, 1.5], rtol=4 * EPS)
    np.testing.assert_array_equal(dx[2:6, 0], 0)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
    np.testing.assert_array_equal(np.isnan(dx), np.isnan(x))
    assert np.isnan(sums).all()


# Multiply-adds, sums and products per element of the forward and of the gradient kernel,
# and registers. An A30, which has few lanes for them, gets another form at degree 25.
LIMITS = {3: (14, 20, 48), 9: (28, 41, 64), 25: (57, 87, 128)}
FEWER = {("a30", 25): (40, 78, 128)}
ARCHITECTURES = {"a30": "sm_80", "h100": "sm_90"}


@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize(
    "degree", [9, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 25))]
)
def test_machine_code(degree, target):
    rows, width = 16384, 256
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, interval = shape((rows, width)), shape((2, 1, 1))
    program = compiled(target, x, shape((degree + 1, 1, width)), interval, x)
    # Each kernel once, and one sum of what the gradient's programs wrote.
    assert [k.launches for k in program.kernels.values()] == [1, 1, 1]
    assert not any(
        re.search(r"\b(atom|red)\.", k.ptx) for k in program.kernels.values()
    )
    *most, registers = FEWER.get((target, degree), LIMITS[degree])
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
        assert loop.kinds["fma"] / elements <= limit
    partial_sums = (degree + 1) * 4 * program.kernels[GRADIENT].blocks * 32
    assert partial_sums <= 0.02 * 12 * rows * width


def cost(program, name):
    """Of the loop over rows, FP32 instructions per element; and the occupancy."""
    kernel = program.kernels[name]
    report = sass.analyse(kernel.ptx, "sm_80")[name]
    assert report.spills == report.stack == 0
    loop, shared = report.hot_loop, report.shared + kernel.shared
    resources = {"registers": report.registers, "shared": shared}
    share = occupancy(program.target, threads=kernel.threads, **resources).share
    return (loop.fp32 + loop.opcodes["SEL"]) / loop.opcodes["STG"], share, loop


@pytest.mark.parametrize("degree", [9, pytest.param(25, marks=pytest.mark.slow)])
def test_addend_centre_and_interval_cost_little(degree):
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, coeffs = shape((16384, 256)), shape((degree + 1, 1, 256))
    plain = compiled("a30", x, coeffs, shape((2, 1, 256)), x)
    fused = compiled("a30", x, coeffs, shape((3, 1, 256)), x, fused=True)
    before, resident, _ = cost(plain, FORWARD)
    after, still, loop = cost(fused, SKIP)
    # The addend comes with the last multiply-add, the centre is one subtraction.
    assert after <= before + 1
    assert still >= resident
    assert loop.loaded == 2 * loop.stored
    before, resident, _ = cost(plain, GRADIENT)
    after, still, loop = cost(fused, GRADIENT)
    # The subtraction, and for each end a multiply-add; in the ratio also t and s.
    assert after <= before + (3 if degree == 9 else 5)
    assert still >= resident
    assert loop.loaded == 2 * loop.stored
    partial_sums = (degree + 3) * 4 * fused.kernels[GRADIENT].blocks * 32
    assert partial_sums <= 0.02 * 12 * 16384 * 256


@pytest.mark.parametrize("degree", [9, pytest.param(25, marks=pytest.mark.slow)])
def test_straight_tails_cost_little_and_no_byte(degree):
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    args = shape((16384, 256)), shape((degree + 1, 1, 256)), shape((2, 1, 1))
    clamp, linear = (
        compiled("a30", *args, args[0], Launch(8, 32, 2, 16), outside=outside)
        for outside in ("clamp", "linear")
    )
    for name, more in ((FORWARD, 6), (GRADIENT, 12)):
        before, _, loop = cost(clamp, name)
        after, _, with_tails = cost(linear, name)
        assert after <= before + more
        per_store = [each.loaded / each.stored for each in (loop, with_tails)]
        assert per_store[0] == per_store[1]


@pytest.mark.slow
@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_highest_degree_fits_in_registers(target):
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    x, coeffs, interval = shape((16384, 256)), shape((65, 1, 256)), shape((3, 1, 1))
    for outside in ("clamp", "linear"):
        options = {"with_interval": True, "outside": outside}
        vjp = functools.partial(BACKEND.vjp, **options)
        kernel = compile_for(target, vjp, x, coeffs, interval, x).kernels[GRADIENT]
        report = sass.analyse(kernel.ptx, ARCHITECTURES[target])[GRADIENT]
        assert report.spills == report.stack == 0
