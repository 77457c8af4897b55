"""Compile a JAX function for a named GPU on a machine that has none.

XLA's CUDA compiler takes a description of the device in place of the device. What it
made is read back from its dump directory, which is an option of one compilation, so one
process can compile as often as it likes.

Where the PTX comes from:

- XLA's own kernels and Pallas' are in the dump. JAX 0.10 writes them always, JAX 0.12
  only if ``xla_dump_emitter_re`` matches the stage, whose name is ``ptx``.
- Kernels called through jax-triton are compiled when the program is lowered, and are
  part of the lowered program (:func:`triton_kernels`).
- Mosaic GPU's have a dump directory of their own (:mod:`experiments.gpu.mosaic_dump`).
"""

import contextlib
import functools
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import AbstractMesh, SingleDeviceSharding
from jaxlib.mlir import ir

from experiments.gpu import gpu_targets, mosaic_dump, toolchain
from experiments.gpu.gpu_targets import Target


@dataclass(frozen=True)
class Kernel:
    """PTX and how it is launched."""

    name: str
    ptx: str
    grid: tuple[int, ...]
    threads: int  # in one block
    shared: int  # bytes given at launch, beside what the PTX declares
    launches: int = 1  # places in the program that launch it
    # Positions of the call's arrays, inputs before outputs, in the order of the
    # kernel's parameters; None where that is the same.
    order: tuple[int, ...] | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks of one launch."""
        x, y, z = self.grid
        return x * y * z


# Fields of jaxlib's messages TritonAnyKernelCall, TritonKernelCall, TritonKernel.
_CALL, _AUTOTUNED, _AUTOTUNED_CONFIGS = 1, 2, 2
_KERNEL, _GRID = 1, (2, 3, 4)
_NAME, _WARPS, _SHARED, _PTX = 1, 2, 3, 4


def triton_kernels(module: Any) -> list[Kernel]:
    """List every jax-triton call of a lowered MLIR ``module``, in program order.

    XLA does not compile these: jax-triton puts PTX, launch and all into the attribute of a
    custom call, as a compressed protocol buffer. So the PTX is taken from the lowered
    program, and is what the driver would be given.
    """
    return [
        decode(zlib.decompress(_opaque(operation)))
        for operation in _operations(module.operation)
        if operation.name == "stablehlo.custom_call"
        and "triton_kernel_call" in str(operation.attributes["call_target_name"])
    ]


def decode(message: bytes) -> Kernel:
    """Decode a kernel and its launch from the protocol buffer of the call."""
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
    """Return the call's description: a string (API version 2) or an entry of a dictionary."""
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


@dataclass(frozen=True)
class Compiled:
    """A program compiled for ``target``."""

    target: Target
    kernels: dict[str, Kernel]
    memory: Any  # jax's CompiledMemoryStats
    hlo: str  # optimised and scheduled

    @property
    def ptx(self) -> dict[str, str]:
        """PTX text by kernel name."""
        return {name: kernel.ptx for name, kernel in self.kernels.items()}

    @property
    def peak_memory(self) -> int:
        """Bytes that arguments, results and temporaries take together."""
        m = self.memory
        held = m.argument_size_in_bytes + m.output_size_in_bytes
        return held + m.temp_size_in_bytes - m.alias_size_in_bytes


def compile_for(
    target: str | Target, fn: Callable, *args: Any, donate: tuple[int, ...] = ()
) -> Compiled:
    """Compile ``fn(*args)`` for ``target``; ``args`` hold ``ShapeDtypeStruct`` leaves.

    ``donate`` are the positions of arguments whose memory results may take.

    Needs the extra ``gpu-aot`` and neither a GPU nor a driver. Set
    ``JAX_PLATFORMS=cpu`` before JAX is imported, or it will look for the driver and
    complain.
    """
    target = gpu_targets.get(target) if isinstance(target, str) else target
    sharding = SingleDeviceSharding(device(target))
    args = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), args
    )
    with tempfile.TemporaryDirectory() as folder, _as_if_on(target):
        of_mosaic = Path(folder, "mosaic")
        lowered = jax.jit(fn, donate_argnums=donate).lower(*args)
        with mosaic_dump.into(of_mosaic):
            compiled = lowered.compile(
                compiler_options={
                    "xla_dump_to": folder,
                    "xla_dump_emitter_re": ".*ptx.*",
                    # As on a GPU, even where JAX is told to optimise little.
                    "xla_backend_optimization_level": "3",
                    "xla_llvm_disable_expensive_passes": False,
                }
            )
        called = triton_kernels(lowered.compiler_ir())
        called += [Kernel(**found) for found in mosaic_dump.kernels(of_mosaic)]
        kernels = _merge([*_dumped(Path(folder)), *called])
    hlo = compiled.as_text() or ""
    return Compiled(target, kernels, compiled.memory_analysis(), hlo)


@functools.cache
def device(target: Target) -> jax.Device:
    """Return the absent device, for use in a sharding."""
    toolchain.require()
    topology = topologies.get_topology_desc(
        platform="cuda", target_config=target.text_proto(), topology="1x1x1"
    )
    return topology.devices[0]


@contextlib.contextmanager
def _as_if_on(target: Target):
    """Answer for the device, where lowering rules ask for more than the sharding says.

    Those of JAX >= 0.11 ask the abstract mesh; jax-triton asks the driver.
    """
    with contextlib.ExitStack() as stack:
        # The kernels are written for the pipes of the GPU.
        capability = {"JAXBERN_CAPABILITY": f"{target.major}.{target.minor}"}
        stack.enter_context(mosaic_dump.environment(**capability))
        if jax.__version_info__ >= (0, 11):
            from jax.sharding import AbstractDevice, use_abstract_mesh

            class Meant(AbstractDevice):
                # Mosaic takes a device without it for an H100.
                compute_capability = f"{target.major}.{target.minor}"

            meant = Meant(target.description, target.cores, "gpu")
            mesh = AbstractMesh((), (), abstract_device=meant)
            stack.enter_context(use_abstract_mesh(mesh))
        with contextlib.suppress(ImportError):
            from jaxlib import gpu_triton

            asked = "get_compute_capability"
            stack.callback(setattr, gpu_triton, asked, getattr(gpu_triton, asked))
            setattr(gpu_triton, asked, lambda _: target.capability)
        yield


_LAUNCH = re.compile(
    r"(?P<name>[\w.$-]+) grid: \[(?P<grid>[\d, ]+)\] threads: \[(?P<threads>[\d, ]+)\]"
    r"\s+shared_memory: (?P<shared>\d+)"
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def _dumped(folder: Path) -> Iterable[Kernel]:
    """List the launches in program order, with the PTX that XLA dumped."""
    ptx = {}
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_text()
        ptx.update(dict.fromkeys(_ENTRY.findall(text), text))
    for path in sorted(folder.glob("*thunk_sequence.txt")):
        for launch in _LAUNCH.finditer(path.read_text()):
            if launch["name"] in ptx:
                grid = tuple(int(n) for n in launch["grid"].split(","))
                x, y, z = (int(n) for n in launch["threads"].split(","))
                shared = int(launch["shared"])
                name = launch["name"]
                yield Kernel(name, ptx[name], grid, x * y * z, shared)


def _merge(kernels: list[Kernel]) -> dict[str, Kernel]:
    launches = Counter(kernel.name for kernel in kernels)
    return {k.name: replace(k, launches=launches[k.name]) for k in kernels}
