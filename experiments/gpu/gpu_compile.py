"""Compile a JAX function for a named GPU on a machine that has none.

XLA's CUDA compiler takes a description of the device in place of the device. What it
made is read back from its dump directory, which is an option of one compilation, so one
process can compile as often as it likes.

Where the PTX comes from:

- XLA's own kernels and Pallas' are in the dump. JAX 0.10 writes them always, JAX 0.12
  only if ``xla_dump_emitter_re`` matches the stage, whose name is ``ptx``.
- Kernels called through jax-triton are compiled when the program is lowered, and are
  part of the lowered program (:mod:`experiments.gpu.triton_calls`).
"""

import contextlib
import functools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import AbstractMesh, SingleDeviceSharding

from experiments.gpu import gpu_targets, toolchain, triton_calls
from experiments.gpu.gpu_kernel import Kernel
from experiments.gpu.gpu_targets import Target


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
        lowered = jax.jit(fn, donate_argnums=donate).lower(*args)
        compiled = lowered.compile(
            compiler_options={"xla_dump_to": folder, "xla_dump_emitter_re": ".*ptx.*"}
        )
        called = triton_calls.kernels(lowered.compiler_ir())
        kernels = _merge([*_dumped(Path(folder)), *called])
    hlo = compiled.as_text() or ""
    return Compiled(target, kernels, compiled.memory_analysis(), hlo)


@functools.cache
def device(target: Target) -> jax.Device:
    """The absent device, for use in a sharding."""
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
        if jax.__version_info__ >= (0, 11):
            from jax.sharding import AbstractDevice, use_abstract_mesh

            meant = AbstractDevice(target.description, target.cores, "gpu")
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
    """Each launch that XLA lists in program order, with the PTX it dumped."""
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
