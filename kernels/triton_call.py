"""A launch of a Triton kernel, and how jax-triton is asked for it."""

import contextlib
import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import mlir


@dataclass(frozen=True)
class Call:
    """One launch of one kernel, for the GPU, the interpreter or the compiler."""

    kernel: str
    inputs: tuple[jax.ShapeDtypeStruct, ...]
    scalars: tuple[int, ...]  # follow the inputs
    outputs: tuple[jax.ShapeDtypeStruct, ...]  # follow the scalars
    constants: tuple[tuple[str, Any], ...]  # by the kernel's names for them
    programs: int
    warps: int
    in_place: tuple[tuple[int, int], ...] = ()  # inputs that outputs are written over

    def run(self, args: Iterable[jax.Array], interpret: bool) -> Sequence[jax.Array]:
        """The kernel's outputs for arrays like ``inputs``."""
        if interpret:
            from jaxbern.kernels import triton_offline

            return triton_offline.interpret(self, args)
        try:
            import jax_triton  # noqa: F401
        except ImportError as error:
            raise NotImplementedError(
                "implementation='triton' needs jax-triton and JAX with CUDA support: "
                f"pip install 'jaxbern[triton,cuda12]' ({error})"
            ) from error
        return _call_p.bind(*args, call=self)


# A primitive of our own around jax-triton's, because the latter compiles while it is
# lowered, long after the call, and that is when Triton must know our settings. It also
# keeps jax-triton 0.4.1 away from JAX 0.12's dead-code elimination, which asks its rule
# with one argument more than it takes.
_call_p = Primitive("jaxbern_triton")
_call_p.multiple_results = True
_call_p.def_impl(
    lambda *args, call: jax.jit(functools.partial(_call_p.bind, call=call))(*args)
)
_call_p.def_abstract_eval(
    lambda *args, call: [ShapedArray(o.shape, o.dtype) for o in call.outputs]
)


def _lower(ctx, *args, call: Call):
    launch = functools.partial(_launch, call)
    with _portable_ptx():
        return mlir.lower_fun(launch, multiple_results=True)(ctx, *args)


mlir.register_lowering(_call_p, _lower)


def _launch(call: Call, *args: jax.Array) -> Sequence[jax.Array]:
    import jax_triton

    from jaxbern.kernels import triton_kernels

    # Multiply-adds are written out, so nothing is left for the compiler to fuse.
    if "out_type" in inspect.signature(jax_triton.triton_call).parameters:  # 0.4
        options = {
            "out_type": call.outputs,
            "backend_options": {"enable_fp_fusion": False},
        }
    else:
        options = {
            "out_shape": call.outputs,
            "enable_fp_fusion": False,
            # 0.4 gives a kernel no pointer for an output in place of an input.
            "input_output_aliases": dict(call.in_place),
        }
    return jax_triton.triton_call(
        *args,
        *call.scalars,
        kernel=getattr(triton_kernels, call.kernel),
        name=call.kernel,
        grid=(call.programs,),
        num_warps=call.warps,
        # One stage: the loads of a step are under way together already, and staging
        # them through shared memory would cost instructions and occupancy.
        num_stages=1,
        **options,
        **dict(call.constants),
    )


def ptx_version(capability: int) -> int:
    """The PTX that the kernels are written in, such as 85 for 8.5.

    Triton by itself writes the newest that it knows, 9.4 for an H100, and what XLA
    assembles it with may be as old as CUDA 12.6 (8.5). The kernels need nothing new;
    Blackwell is known from CUDA 12.8 on, all of it from 12.9 (8.8).
    """
    return 85 if capability < 100 else 88


@contextlib.contextmanager
def _portable_ptx() -> Iterator[None]:
    """Add :func:`ptx_version` to the options that jax-triton gives to Triton.

    0.3 cannot pass it on, and who calls does not know for which GPU it will be.
    """
    from triton.backends.nvidia.compiler import CUDABackend

    original = CUDABackend.parse_options

    def parse_options(self, options):
        version = ptx_version(self.target.arch)
        return original(self, {**options, "ptx_version": version})

    CUDABackend.parse_options = parse_options
    try:
        yield
    finally:
        CUDABackend.parse_options = original
