"""What would run on a GPU: the Triton kernels compiled, executed and looked at."""

import functools
import importlib
import sys
import zlib
from collections import Counter
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.gpu.mosaic_dump import environment
from jaxbern.kernels import packed
from jaxbern.kernels.config import Launch
from jaxbern.kernels.layout import plan
from jaxbern.kernels.packed import FORWARD, GRADIENT, MOMENTS, SKIP
from jaxbern.kernels.triton.triton_backend import BACKEND, prepare
from tests.ptx import InOut, Kernel, OutputSpec
from tests.ptx.kernel_checks import CASES, arguments, check
from tests.quick import quickly

pytest.importorskip("triton", reason="these kernels need Triton")

from jaxbern.kernels.triton import triton_offline
from tests.ptx.compile_triton import compile_call

pytestmark = pytest.mark.slow


def execute(call, *args, outputs=None):
    """Run the PTX of ``call``; every element must be written, and none beside them."""
    compiled = compile_call(call, capability=80)
    outputs = outputs or [OutputSpec(o.shape, o.dtype) for o in call.outputs]
    result = Kernel(compiled.asm["ptx"], call.kernel).launch(
        call.programs,
        32 * call.warps,
        [*args, *(n for n in call.scalars if n != 1), *outputs],
        shared_bytes=compiled.metadata.shared,
    )
    assert not any(result.unwritten)
    return result.outputs


def call_of(kernel, outside, x, coeffs, interval, more, **options):
    """The call of ``kernel`` for these arrays, these packed, its task and the layout."""
    layout = plan(x.shape, coeffs.shape, interval.shape)
    with environment(JAXBERN_CAPABILITY="8.0"):
        what = packed.task(kernel, layout, coeffs.shape, interval, outside, **options)
    arrays = [layout.pack(x), *map(layout.pack_parameters, (coeffs, interval))]
    arrays += [] if kernel == FORWARD else [layout.pack(more)]
    arrays = [np.asarray(a) for a in arrays]
    return prepare(what, arrays), arrays, what, layout


@pytest.mark.parametrize("dtype, degree, name, fused, outside", CASES)
def test_executed_ptx(dtype, degree, name, fused, outside):
    args = arguments(dtype, degree, name, fused)
    call, arrays, *_ = call_of(SKIP if fused else FORWARD, outside, *args)
    (y,) = execute(call, *arrays)
    if fused:  # XLA may have the sum written over the addend
        both = InOut(arrays[-1])
        in_place, _ = execute(call, *arrays[:-1], both, outputs=[both])
        np.testing.assert_array_equal(in_place, y)
    call, arrays, what, layout = call_of(GRADIENT, outside, *args, with_interval=fused)
    dx, sums = execute(call, *arrays)

    @quickly
    def unpack(y, dx, sums):
        return *map(layout.unpack, (y, dx)), packed.weighed(what, sums, layout)

    check(outside, *args, *unpack(y, dx, sums), addend=args[-1] if fused else None)


@pytest.mark.parametrize("outside", ["clamp", "linear"])
def test_the_interpreter_gives_the_bits_of_the_ptx(outside):
    """Every multiply-add is written as one, so nothing is left to round otherwise."""
    args = arguments("float32", 9, "ragged", fused=False)
    launch = Launch(rows=8, columns=32, unroll=2, steps=4)
    call, arrays, *_ = call_of(GRADIENT, outside, *args, launch=launch)
    dx, _ = execute(call, *arrays)
    dx_interpreted, _ = triton_offline.execute(call, *arrays)
    np.testing.assert_array_equal(dx, dx_interpreted)


# FP32 instructions per element, registers: degree -> forward, gradient, both.
LIMITS = {3: (18, 28, 64), 9: (30, 52, 80), 25: (62, 116, 128)}


@pytest.mark.parametrize(
    "degree, capability", [(3, 80), (9, 80), (25, 80), (9, 90), (25, 90)]
)
def test_machine_code(degree, capability):
    sass = pytest.importorskip("experiments.gpu.sass")
    forward, gradient, registers = LIMITS[degree]
    fused = {"with_interval": True}
    cases = [(FORWARD, forward, "clamp", 2, {}), (GRADIENT, gradient, "clamp", 2, {})]
    if capability == 80:
        cases += [
            (SKIP, forward + 1, "clamp", 3, {}),
            (GRADIENT, gradient + 3, "clamp", 3, fused),
            (FORWARD, forward + 6, "linear", 2, {}),
            (GRADIENT, gradient + 12, "linear", 2, {}),
        ]
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    for name, limit, outside, rows, options in cases:
        x, coeffs = shape((16384, 256)), shape((degree + 1, 1, 256))
        interval = shape((rows, 1, 1))
        layout = plan(x.shape, coeffs.shape, interval.shape)
        with environment(JAXBERN_CAPABILITY=f"{capability // 10}.{capability % 10}"):
            what = packed.task(name, layout, coeffs.shape, interval, outside, **options)
        x, arrays = shape(layout.sizes), [shape(layout.sizes), coeffs, interval]
        call = prepare(what, arrays if name == FORWARD else [*arrays, x])
        compiled = compile_call(call, capability)
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
        assert loop.loaded == (4 if name == FORWARD else 8) * elements
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
        y = BACKEND.evaluate(x, coeffs, interval, **options)
        dc = BACKEND.moments(x, interval, dy, shape=coeffs.shape, **options)
        skip = BACKEND.evaluate(x, coeffs, interval, dy, **options)
        return y, dc, skip, BACKEND.vjp(x, coeffs, interval, dy, **options)

    args = arguments("float32", 3, "seeds", fused=True)
    traced = jax.jit(run).trace(*args)
    module = traced.lower(lowering_platforms=("cuda",)).compiler_ir("stablehlo")
    names = FORWARD, SKIP, GRADIENT, MOMENTS
    found = Counter()
    for opaque in custom_calls(module):
        name = next(
            n for n in sorted(names, key=len, reverse=True) if n.encode() in opaque
        )
        found[name] += 1
    assert found == Counter(names)
