"""What would run on a GPU: the Triton kernels compiled, executed and looked at."""

import importlib
import sys
import zlib
from collections import Counter
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxbern.kernels.config import Launch
from jaxbern.kernels.layout import plan
from jaxbern.kernels.triton import triton_backend as kernels
from tests.ptx import InOut, Kernel, OutputSpec
from tests.ptx.kernel_checks import CASES, arguments, check
from tests.quick import quickly

pytest.importorskip("triton", reason="these kernels need Triton")

from jaxbern.kernels.triton import triton_offline


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


def call_of(kernel, x, coeffs, interval, outside, **options):
    """The call of ``kernel`` for these arrays, and how they are packed."""
    layout = plan(x.shape, coeffs.shape, interval.shape)
    pack = layout.pack_parameters
    args = {"x": layout.pack(x), "coeffs": pack(coeffs), "interval": pack(interval)}
    if kernel != kernels.FORWARD:
        args["addend" if kernel == kernels.SKIP else "dy"] = args["x"]
    degree = len(coeffs) - 1
    return kernels.prepare(kernel, degree, outside, args, **options), layout


@pytest.mark.parametrize("dtype, degree, name, fused, outside", CASES)
def test_executed_ptx(dtype, degree, name, fused, outside):
    x, coeffs, interval, dy = args = arguments(dtype, degree, name, fused)
    forward = kernels.SKIP if fused else kernels.FORWARD
    call, layout = call_of(forward, x, coeffs, interval, outside)
    packed = [np.asarray(layout.pack(x))]
    packed += [np.asarray(layout.pack_parameters(p)) for p in (coeffs, interval)]
    each = np.asarray(layout.pack(dy))
    (y,) = execute(call, *packed, *([each] if fused else []))
    if fused:  # XLA may have the sum written over the addend
        both = InOut(each)
        in_place, _ = execute(call, *packed, both, outputs=[both])
        np.testing.assert_array_equal(in_place, y)
    call, _ = call_of(kernels.GRADIENT, x, coeffs, interval, outside, ends=fused)
    dx, sums = execute(call, *packed, each)

    @quickly
    def unpack(y, dx, sums):
        total = kernels._total(sums, degree, outside, layout)
        return layout.unpack(y), layout.unpack(dx), total

    check(outside, *args, *unpack(y, dx, sums), addend=dy if fused else None)


@pytest.mark.parametrize("outside", ["clamp", "linear"])
def test_the_interpreter_gives_the_bits_of_the_ptx(outside):
    """Every multiply-add is written as one, so nothing is left to round otherwise."""
    x, coeffs, interval, dy = arguments("float32", 9, "ragged", fused=False)
    launch = Launch(rows=8, columns=32, unroll=2, steps=4)
    call, layout = call_of(
        kernels.GRADIENT, x, coeffs, interval, outside, launch=launch
    )
    args = [layout.pack(x), *map(layout.pack_parameters, (coeffs, interval))]
    args = [np.asarray(a) for a in (*args, layout.pack(dy))]
    dx, _ = execute(call, *args)
    dx_interpreted, _ = triton_offline.execute(call, *args)
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
    cases = [(*case, {}) for case in most.items()]
    if capability == 80:
        fused = {"centred": True, "ends": True}
        cases += [(kernels.SKIP, forward + 1, {"centred": True})]
        cases += [(kernels.GRADIENT, gradient + 3, fused)]
        linear = {"outside": "linear"}
        cases += [(kernels.FORWARD, forward + 6, linear)]
        cases += [(kernels.GRADIENT, gradient + 12, linear)]
    for name, limit, options in cases:
        compiled, _ = triton_offline.compile_kernel(
            name, degree=degree, capability=capability, **options
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
    options = {"outside": "clamp"}

    def run(x, coeffs, interval, dy):
        y = kernels.evaluate(x, coeffs, interval, **options)
        dc = kernels.moments(x, interval, dy, shape=coeffs.shape, **options)
        skip = kernels.evaluate(x, coeffs, interval, dy, **options)
        return y, dc, skip, kernels.vjp(x, coeffs, interval, dy, **options)

    args = arguments("float32", 3, "seeds", fused=True)
    traced = jax.jit(run).trace(*args)
    module = traced.lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")
    names = [
        getattr(kernels, name) for name in ("FORWARD", "SKIP", "GRADIENT", "MOMENTS")
    ]
    found = Counter()
    for opaque in custom_calls(module):
        name = next(
            n for n in sorted(names, key=len, reverse=True) if n.encode() in opaque
        )
        found[name] += 1
    assert found == Counter(names)
