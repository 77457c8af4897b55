"""The kernels that jax-triton compiled into a program, read from its custom calls.

XLA does not compile these: jax-triton puts PTX, launch and all into the attribute of a
custom call, as a compressed protocol buffer. So the PTX is taken from the lowered
program, and is what the driver would be given.
"""

import zlib
from collections.abc import Iterator
from typing import Any

from jaxlib.mlir import ir

from experiments.gpu.gpu_kernel import Kernel

# Fields of jaxlib's messages TritonAnyKernelCall, TritonKernelCall, TritonKernel.
_CALL, _AUTOTUNED, _AUTOTUNED_CONFIGS = 1, 2, 2
_KERNEL, _GRID = 1, (2, 3, 4)
_NAME, _WARPS, _SHARED, _PTX = 1, 2, 3, 4


def kernels(module: Any) -> list[Kernel]:
    """Every jax-triton call of a lowered MLIR ``module``, in program order."""
    return [
        decode(zlib.decompress(_opaque(operation)))
        for operation in _operations(module.operation)
        if operation.name == "stablehlo.custom_call"
        and "triton_kernel_call" in str(operation.attributes["call_target_name"])
    ]


def decode(message: bytes) -> Kernel:
    """A kernel and its launch from the protocol buffer that describes the call."""
    call = _fields(message)
    if _AUTOTUNED in call:  # several launches to try: the first stands for all
        call = _fields(_fields(call[_AUTOTUNED])[_AUTOTUNED_CONFIGS])
    call = _fields(call[_CALL])
    kernel = _fields(call[_KERNEL])
    return Kernel(
        name=kernel[_NAME].decode(),
        ptx=kernel[_PTX].decode(),
        grid=tuple(call.get(axis, 1) for axis in _GRID),
        threads=32 * kernel[_WARPS],
        shared=kernel.get(_SHARED, 0),
    )


def _operations(operation) -> Iterator:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _operations(inner.operation)


def _opaque(operation) -> bytes:
    """The call's description: a string (API version 2) or an entry of a dictionary."""
    attributes = operation.attributes
    if "mhlo.backend_config" in attributes:
        config = ir.DictAttr(attributes["mhlo.backend_config"])
        return ir.StringAttr(config["opaque"]).value_bytes
    return ir.StringAttr(attributes["backend_config"]).value_bytes


def _fields(message: bytes) -> dict[int, Any]:
    """Fields of a protocol buffer by number, int or bytes; the first of repeated ones."""
    fields: dict[int, Any] = {}
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(message):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            value = varint()
        else:
            length = varint() if wire == 2 else {1: 8, 5: 4}[wire]
            value = message[position : position + length]
            position += length
        fields.setdefault(number, value)
    return fields
