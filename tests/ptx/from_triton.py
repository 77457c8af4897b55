"""Compiles Triton kernels for a named GPU, without one, into something to launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .kernel import Argument, Kernel, Result


@dataclass(frozen=True)
class Compiled:
    """A kernel together with the launch it was compiled for."""

    kernel: Kernel
    threads: int
    shared_bytes: int
    text: str

    def launch(self, grid: int | tuple[int, ...], *args: Argument) -> Result:
        """`Kernel.launch` with the right block and shared memory."""
        return self.kernel.launch(
            grid, self.threads, args, shared_bytes=self.shared_bytes
        )


def compile_triton(
    function: object,
    signature: Mapping[str, str],
    constants: Mapping[str, object],
    *,
    capability: int = 80,
    warps: int = 4,
    multiples_of_16: tuple[str, ...] = (),
) -> Compiled:
    """Compiles a `triton.jit` function for compute capability `capability`.

    `signature` gives types as Triton writes them ("*bf16", "i32") for the arguments
    that are not `constants`. Pointers are taken to be aligned to 16 bytes, as
    buffers are; integers only if named in `multiples_of_16`.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    ordered = {name: types[name] for name in function.arg_names}
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, (name, kind) in enumerate(ordered.items())
        if kind.startswith("*") or name in multiples_of_16
    }
    source = ASTSource(function, ordered, constexprs=dict(constants), attrs=aligned)
    # Fusion is asked for where it is wanted (tl.fma), so that what is executed here
    # does not depend on what ptxas would fuse.
    options = {"num_warps": warps, "enable_fp_fusion": False}
    compiled = triton.compile(source, GPUTarget("cuda", capability, 32), options)
    text = compiled.asm["ptx"]
    return Compiled(Kernel(text), 32 * warps, compiled.metadata.shared, text)
