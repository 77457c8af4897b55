"""The library's Triton kernels compiled for a GPU, on a machine that has none."""

import pytest

pytest.importorskip("triton", reason="these kernels need Triton")

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel

from jaxbern.kernels.triton import triton_kernels, triton_offline
from jaxbern.kernels.triton.triton_call import Call, ptx_version


def compile_call(call: Call, capability: int = 80) -> CompiledKernel:
    """Compile the kernel of ``call`` as jax-triton would on that GPU."""
    function = getattr(triton_kernels, call.kernel)
    arrays = [
        f"*{triton_offline.TYPES[a.dtype.name]}" for a in (*call.inputs, *call.outputs)
    ]
    after = len(call.inputs)
    types = [*arrays[:after], *("i32" for _ in call.scalars), *arrays[after:]]
    names = function.arg_names
    signature = dict(zip(names, types, strict=False))
    constants = dict(call.constants)
    for name, value in zip(names[after:], call.scalars, strict=False):
        if value == 1:
            constants[name] = 1
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, kind in enumerate(types)
        if kind.startswith("*")
    }
    source = ASTSource(
        function,
        {n: "constexpr" if n in constants else signature[n] for n in names},
        constexprs=constants,
        attrs=aligned,
    )
    options = {
        "num_warps": call.warps,
        "num_stages": 1,
        "enable_fp_fusion": False,
        "ptx_version": ptx_version(capability),
    }
    target = GPUTarget("cuda", capability, 32)
    return triton_offline.thread.submit(_compile, source, target, options).result()


def _compile(*args) -> CompiledKernel:
    cache = triton.knobs.cache
    with cache.scope():
        # jax-triton 0.3 has no use for the cache and leaves it without a place.
        cache.dir = cache.dir or cache.get_triton_dir("cache")
        return triton.compile(*args)
