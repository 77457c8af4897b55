"""A launch of a Triton kernel, and how jax-triton is asked for it."""

import contextlib
import functools
import inspect
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxbern.kernels.exclusive import exclusively


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


def launch(call: Call, args: Iterable[jax.Array]) -> Sequence[jax.Array]:
    """The outputs of ``call`` on the GPU, for arrays like its ``inputs``."""
    try:
        import jax_triton  # noqa: F401
    except ImportError as error:
        raise NotImplementedError(
            "implementation='triton' needs jax-triton and JAX with CUDA support: "
            f"pip install 'jaxbern[triton,cuda12]' ({error})"
        ) from error
    return _portably(functools.partial(_launch, call), call.outputs, *args)


def _launch(call: Call, *args: jax.Array) -> Sequence[jax.Array]:
    import jax_triton

    from jaxbern.kernels.triton import triton_kernels

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

    0.3 cannot pass it on, and who calls does not know for which GPU it will be. Other
    threads, which may compile kernels that are not ours, get what they ask for.
    """
    from triton.backends.nvidia.compiler import CUDABackend

    original, ours = CUDABackend.parse_options, threading.get_ident()

    def parse_options(self, options):
        if threading.get_ident() == ours:
            options = {**options, "ptx_version": ptx_version(self.target.arch)}
        return original(self, options)

    CUDABackend.parse_options = parse_options
    try:
        yield
    finally:
        CUDABackend.parse_options = original


# A primitive of our own around jax-triton's, because the latter compiles while it is
# lowered, long after the call, and that is when Triton must know our settings. It also
# keeps jax-triton 0.4.1 away from JAX 0.12's dead-code elimination, which asks its rule
# with one argument more than it takes.
_portably = exclusively("jaxbern_triton", _portable_ptx)
