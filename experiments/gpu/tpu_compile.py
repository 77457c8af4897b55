"""What the activation moves on a TPU that is not here, found by compiling for it."""

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from experiments.gpu import gpu_programs, gpu_tables, hlo_traffic, roofline, toolchain
from experiments.gpu.gpu_programs import PASSES, Workload
from experiments.gpu.tpu_targets import TARGETS, Tpu


@dataclass(frozen=True)
class TpuRow:
    """One program on one TPU."""

    target: str
    degree: int
    dtype: str
    which: str
    bytes_per_element: float
    least: int  # bytes that ReLU moves
    kernel: bool  # whether a kernel of ours is in it
    peak_memory: int


def cases(
    tpus: Sequence[Tpu], workload: Workload, degrees: Sequence[int]
) -> list[tuple[Tpu, Workload, int, str]]:
    """List every program."""
    return [(t, workload, n, which) for t in tpus for n in degrees for which in PASSES]


def measure(tpu: Tpu, workload: Workload, degree: int, which: str) -> TpuRow:
    """Compile the activation, forward or gradient, and count its traffic."""
    fn, args = gpu_programs.bernstein(workload, degree, "xla", which)
    hlo, memory = compile_for(tpu, fn, *args)
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return TpuRow(
        target=tpu.name,
        degree=degree,
        dtype=workload.dtype,
        which=which,
        bytes_per_element=hlo_traffic.traffic(hlo) / workload.elements,
        least=roofline.RELU_ACCESSES[which] * workload.itemsize,
        kernel="tpu_custom_call" in hlo,
        peak_memory=held + memory.temp_size_in_bytes,
    )


def compile_for(tpu: Tpu, fn: Callable, *args: Any) -> tuple[str, Any]:
    """Compile ``fn(*args)``; return the optimised HLO and its memory analysis."""
    sharding = SingleDeviceSharding(device(tpu))
    args = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), args
    )
    with toolchain.no_driver_expected():
        compiled = jax.jit(fn).lower(*args).compile()
    return compiled.as_text() or "", compiled.memory_analysis()


@functools.cache
def device(tpu: Tpu) -> jax.Device:
    """Return the absent device, for use in a sharding."""
    toolchain.require_tpu()
    # Else libtpu asks the network which TPU this machine is.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    with toolchain.no_driver_expected():
        topology = topologies.get_topology_desc(
            platform="tpu", topology_name=tpu.topology
        )
    return topology.devices[0]


def text(rows: Sequence[TpuRow]) -> str:
    """Format a table for each TPU."""
    parts = []
    for name in dict.fromkeys(row.target for row in rows):
        lines = [["degree", "pass", "bytes/elem", "/ ReLU", "code", "memory"]]
        for row in rows:
            if row.target == name:
                lines.append(
                    [
                        str(row.degree),
                        row.which,
                        f"{row.bytes_per_element:.2f}",
                        f"{row.bytes_per_element / row.least:.2f}",
                        "kernel" if row.kernel else "XLA",
                        f"{row.peak_memory / 2**20:.0f} MiB",
                    ]
                )
        title = f"{TARGETS[name].description}, {rows[0].dtype}"
        parts.append(f"{title}\n{gpu_tables.aligned(lines)}\n")
    return "\n".join(parts)
