"""The Triton kernels on a machine without a GPU: interpreted, or compiled for a GPU.

Triton's interpreter runs a kernel program by program with NumPy. It normally wants
``TRITON_INTERPRET=1`` before the kernels are defined, and PyTorch tensors; here it gets
copies of the kernels that have not been through ``triton.jit``, and NumPy arrays.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType

import jax
import numpy as np
import triton
import triton.language as tl
from triton.runtime.interpreter import GridExecutor, InterpretedFunction

from jaxbern.kernels.triton import triton_kernels, triton_strip, triton_tile
from jaxbern.kernels.triton.triton_call import Call

# One thread for all that runs Triton. While the interpreter works `triton.language` means
# something else for everyone, and the threads of XLA flush subnormal numbers to zero,
# which a GPU does not.
thread = ThreadPoolExecutor(1, "jaxbern-triton")

TYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def interpret(call: Call, args: Iterable[jax.Array]) -> Sequence[jax.Array]:
    """The outputs of ``call``, in any JAX program on the CPU."""
    thread.submit(_interpreted).result()  # a thread treats subnormals as its maker

    def run(*args):
        return thread.submit(execute, call, *args).result()

    return jax.pure_callback(run, call.outputs, *args)


def execute(call: Call, *args: jax.Array) -> tuple[np.ndarray, ...]:
    """What ``call`` writes, interpreted at once in this thread."""
    inputs = [np.ascontiguousarray(a) for a in args]
    # NaN, so that an element that no program writes is seen.
    outputs = tuple(np.full(o.shape, np.nan, o.dtype) for o in call.outputs)
    function = _interpreted()[call.kernel]
    names = getattr(triton_kernels, call.kernel).arg_names
    programs = _HostExecutor(function, names, (call.programs,))
    with np.errstate(all="ignore"):
        programs(
            *map(_Pointer, inputs),
            *call.scalars,
            *map(_Pointer, outputs),
            **dict(call.constants),
        )
    return outputs


@functools.cache
def _interpreted() -> dict[str, Callable]:
    """The kernels, and the functions they call, as the interpreter wants them."""
    namespace = {**vars(triton_tile), **vars(triton_strip), **vars(triton_kernels)}
    for name, value in list(namespace.items()):
        if isinstance(value, triton.JITFunction):
            plain = value.fn
            copy = FunctionType(plain.__code__, namespace, name, plain.__defaults__)
            copy.__annotations__ = plain.__annotations__
            namespace[name] = InterpretedFunction(copy).rewrite()
    # The one sum that the interpreter knows how to do at once.
    namespace["_add"] = tl.standard._sum_combine
    return namespace


class _HostExecutor(GridExecutor):
    """The interpreter, without the copies of PyTorch tensors to the host and back."""

    def _init_args_hst(self, args_dev, kwargs):
        return args_dev, kwargs

    def _restore_args_dev(self, *args):
        pass


class _Pointer:
    """A NumPy array as the interpreter sees an argument."""

    def __init__(self, array: np.ndarray):
        self._array = array
        self.dtype = TYPES[array.dtype.name]

    def data_ptr(self) -> int:
        return self._array.ctypes.data
