"""What would run on a GPU: the Triton kernels compiled, executed and looked at."""

import importlib
import sys
import zlib
from collections import Counter
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels import triton as kernels
from jaxbern.kernels.config import Launch
from tests.oracles import casteljau, interval_oracle
from tests.ptx import InOut, Kernel, OutputSpec

pytest.importorskip("triton", reason="these kernels need Triton")

from jaxbern.kernels import triton_offline

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)

SHAPES = {  # S, B, W
    "ragged": (1, 45, 37),
    "one row": (1, 1, 40),
    "one column": (1, 300, 1),
    "smaller than a block": (1, 3, 5),
    "seeds": (3, 20, 9),
    "full blocks": (1, 64, 64),
    "fewer than a warp": (1, 3, 2),
}
PLAIN = [
    *(("float32", degree, "ragged") for degree in (1, 3, 9, 25)),
    *(("bfloat16", degree, "ragged") for degree in (1, 3, 9, 25)),
    *(("float16", degree, "ragged") for degree in (1, 3, 9, 25)),
    *(("float32", 3, shape) for shape in SHAPES if shape != "ragged"),
    ("bfloat16", 3, "one column"),
    ("float16", 3, "seeds"),
]
FUSED = [
    *(("float32", degree, "ragged") for degree in (3, 9, 25)),
    ("float32", 3, "seeds"),
    ("bfloat16", 3, "fewer than a warp"),
]


def execute(call, *args, outputs=None):
    """Run the PTX of ``call``; every element must be written, and none beside them."""
    compiled = triton_offline.compile_call(call, capability=80)
    outputs = outputs or [OutputSpec(o.shape, o.dtype) for o in call.outputs]
    result = Kernel(compiled.asm["ptx"], call.kernel).launch(
        call.programs,
        32 * call.warps,
        [*args, *(n for n in call.scalars if n != 1), *outputs],
        shared_bytes=compiled.metadata.shared,
    )
    assert not any(result.unwritten)
    return result.outputs


def arguments(sizes, degree, dtype, per_column):
    groups, _, width = sizes
    rng = np.random.default_rng(degree)
    x, dy = rng.normal(size=(2, *sizes)).astype(dtype)
    coeffs = rng.normal(size=(degree + 1, groups, width)).astype(np.float32)
    bound = (groups, width) if per_column else (1, 1)
    lower = rng.uniform(-2.0, -1.0, bound).astype(np.float32)
    upper = rng.uniform(1.0, 2.0, bound).astype(np.float32)
    x.flat[:: max(x.size // 7, 1)] = np.float32(3).astype(dtype)  # outside
    return x, coeffs, lower, upper, dy


@pytest.mark.parametrize(
    "dtype, degree, shape, fused",
    [*((*case, False) for case in PLAIN), *((*case, True) for case in FUSED)],
)
def test_executed_ptx(dtype, degree, shape, fused):
    """``fused`` kernels add ``dy`` to the value, and differentiate in the interval too."""
    sizes, per_column = SHAPES[shape], degree == 3
    args = arguments(sizes, degree, dtype, per_column)
    describe = {"degree": degree, "dtype": dtype, "sizes": sizes}
    describe |= {"per_column_domain": per_column}
    call = triton_offline.describe(
        kernels.SKIP if fused else kernels.FORWARD, **describe
    )
    (y,) = execute(call, *(args if fused else args[:4]))
    if fused:  # XLA may have the sum written over the addend
        both = InOut(args[-1])
        in_place, _ = execute(call, *args[:4], both, outputs=[both])
        np.testing.assert_array_equal(in_place, y)
    call = triton_offline.describe(
        kernels.INTERVAL if fused else kernels.GRADIENT, **describe
    )
    dx, sums = execute(call, *args)
    total = kernels._total(jnp.asarray(sums), degree, sizes)
    dc, ends = total[: degree + 1], total[degree + 1 :]

    x, coeffs, lower, upper, dy = map(np.float64, args)
    wide = coeffs[:, :, None], lower[:, None], upper[:, None]
    allowed, narrow = 8 * (degree + 2) * EPS, dtype != "float32"
    rounding = float(jnp.finfo(dtype).eps) if narrow else 0.0
    tiny = float(jnp.finfo(dtype).smallest_subnormal) if narrow else TINY

    def check(got, want, bound):
        assert np.all(np.abs(np.float64(got) - want) <= bound)

    addend = dy if fused else np.zeros_like(dy)
    want = casteljau.value(x, *wide) + addend
    limit = casteljau.value(x, np.abs(wide[0]), *wide[1:]) + np.abs(addend)
    check(y, want, allowed * limit + rounding * np.abs(want) + tiny)
    want = casteljau.slope(x, *wide) * dy
    limit = casteljau.slope(x, *wide, absolute=True) * np.abs(dy)
    check(dx, want, allowed * limit + rounding * np.abs(want) + tiny)
    want = casteljau.moments(x, dy, *wide[1:], wide[0].shape)
    limit = casteljau.moments(x, np.abs(dy), *wide[1:], wide[0].shape)
    check(dc[:, :, None], want, (allowed + sizes[1] * EPS) * limit + TINY)
    assert len(ends) == (2 if fused else 0)
    if fused:
        # As if each column had its own, which is how the kernel writes them.
        own = np.broadcast_to(wide[1:], (2, *wide[0].shape[1:]))
        wants = interval_oracle.gradients(x, wide[0], *own, dy)
        limits = interval_oracle.limits(x, wide[0], *own, dy)
        for got, want, limit in zip(ends, wants, limits, strict=True):
            check(got[:, None], want, (allowed + sizes[1] * EPS) * limit + TINY)


def test_the_interpreter_gives_the_bits_of_the_ptx():
    """Every multiply-add is written as one, so nothing is left to round otherwise."""
    args = arguments((1, 45, 37), 9, "float32", per_column=False)
    call = triton_offline.describe(
        kernels.GRADIENT,
        degree=9,
        dtype="float32",
        sizes=(1, 45, 37),
        launch=Launch(rows=8, columns=32, unroll=2, steps=4),
    )
    (dx, _), (dx_interpreted, _) = (
        execute(call, *args),
        triton_offline.execute(call, *args),
    )
    np.testing.assert_array_equal(dx, dx_interpreted)


# FP32 instructions per element, registers: degree -> forward, gradient, both.
LIMITS = {3: (18, 28, 64), 9: (30, 52, 80), 25: (62, 116, 128)}


@pytest.mark.parametrize(
    "degree, capability", [(3, 80), (9, 80), (25, 80), (9, 90), (25, 90)]
)
def test_machine_code(degree, capability):
    sass = pytest.importorskip("experiments.gpu.sass")
    forward, gradient, registers = LIMITS[degree]
    most = {kernels.FORWARD: forward, kernels.GRADIENT: gradient}
    if capability == 80:
        most |= {kernels.SKIP: forward, kernels.INTERVAL: gradient + 2}
    for name, limit in most.items():
        compiled, _ = triton_offline.compile_kernel(
            name, degree=degree, capability=capability
        )
        ptx = compiled.asm["ptx"]
        assert ptx.count(f".visible .entry {name}(") == 1
        assert "fma.rn.f32" in ptx
        assert ".version 8.5" in ptx
        report = sass.analyse(ptx, f"sm_{capability}")[name]
        assert report.spills == report.stack == 0
        assert report.registers <= registers
        loop = report.hot_loop
        assert loop.opcodes["FFMA"] >= degree + 1
        assert not any(o.startswith(("ATOM", "RED")) for o in report.opcodes)
        elements = loop.stored // 4
        assert loop.loaded == (4 if name == kernels.FORWARD else 8) * elements
        # ptxas writes the choice of zero outside the interval as an integer one.
        assert (loop.fp32 + loop.opcodes["SEL"]) / elements <= limit


@pytest.fixture
def _jax_triton(monkeypatch):
    """jax-triton, told that the GPU is an A30.

    Without JAX's CUDA plugin it cannot serialise a call; then a stand-in writes the
    kernel's name, which is what is looked for.
    """
    monkeypatch.setenv("TRITON_CACHE_DIR", "")  # jax-triton changes it
    native = importlib.import_module("jaxlib.gpu_triton")
    complete = hasattr(native, "TritonKernel")

    def call(kernel, *grid_and_parameters):
        return SimpleNamespace(to_proto=lambda *_: kernel.encode())

    if not complete:
        stand_in = {
            "TritonKernel": lambda name, *_: name,
            "TritonKernelCall": call,
            "create_array_parameter": lambda *_: None,
            "create_scalar_parameter": lambda *_: None,
            "get_serialized_metadata": lambda *_: b"",
        }
        for name, value in stand_in.items():
            monkeypatch.setattr(native, name, value, raising=False)
    monkeypatch.setattr(native, "get_compute_capability", lambda _: 80, raising=False)
    pytest.importorskip("jax_triton", reason="the calls go through jax-triton")
    yield
    if not complete:
        for name in [n for n in sys.modules if n.partition(".")[0] == "jax_triton"]:
            del sys.modules[name]


def custom_calls(module):
    """What each call of a Triton kernel in a lowered program was given."""

    def walk(operation):
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    yield inner.operation
                    yield from walk(inner.operation)

    for operation in walk(module.operation):
        if operation.name != "stablehlo.custom_call":
            continue
        attributes = operation.attributes
        if "mhlo.backend_config" in attributes:
            opaque = attributes["mhlo.backend_config"]["opaque"]
        else:
            opaque = attributes["backend_config"]
        yield zlib.decompress(opaque.value_bytes)


@pytest.mark.usefixtures("_jax_triton")
def test_lowered_for_cuda_each_kernel_is_called_once():
    def run(x, coeffs, lower, upper, dy):
        y = kernels.evaluate(x, coeffs, lower, upper)
        dc = kernels.moments(x, dy, lower, upper, shape=coeffs.shape)
        plain = y, *kernels.vjp(x, coeffs, lower, upper, dy), dc
        y = kernels.evaluate(x, coeffs, lower, upper, addend=dy)
        return plain, y, kernels.vjp(x, coeffs, lower, upper, dy, interval=True)

    x, coeffs, lower, upper, dy = arguments((2, 64, 32), 3, "float32", per_column=False)
    traced = jax.jit(run).trace(x, coeffs[:, :, None], lower[None], upper[None], dy)
    module = traced.lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")
    names = [
        getattr(kernels, name)
        for name in ("FORWARD", "SKIP", "GRADIENT", "INTERVAL", "MOMENTS")
    ]
    found = Counter()
    for opaque in custom_calls(module):
        name = next(
            n for n in sorted(names, key=len, reverse=True) if n.encode() in opaque
        )
        found[name] += 1
    assert found == Counter(names)
