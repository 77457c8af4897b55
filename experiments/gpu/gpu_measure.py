"""What one program costs on one GPU: compile, assemble, count, bound."""

import re
from collections import Counter
from dataclasses import dataclass

from experiments.gpu import gpu_programs, hlo_traffic, roofline, sass
from experiments.gpu.gpu_compile import Compiled, Kernel, compile_for
from experiments.gpu.gpu_programs import Workload
from experiments.gpu.gpu_targets import Target
from experiments.gpu.roofline import occupancy


@dataclass(frozen=True)
class Row:
    """One line of the table; "per element" counts all kernels of the program."""

    target: str
    activation: str
    degree: int | None
    implementation: str
    which: str  # forward or gradient
    dtype: str
    rows: int
    width: int
    outside: str
    kernel: str  # the one that takes longest: the next ten columns are its own
    registers: int
    spills: int
    shared: int
    threads: int
    blocks: int
    occupancy: float
    occupancy_limit: str
    waves: float  # blocks over what the GPU holds at once
    limit: str  # the resource that sets its time
    kernel_bytes_per_element: float
    kernels: int  # launched by the program
    fp32_per_element: float
    fma_per_element: float  # on the pipe of multiply-adds, and so on
    alu_per_element: float
    special_per_element: float
    instructions_per_element: float
    bytes_per_element: float
    peak_memory: int
    time_us: float
    relu_us: float

    @property
    def ratio(self) -> float:
        """Roofline time over ReLU's."""
        return self.time_us / self.relu_us

    @property
    def label(self) -> str:
        """What was compiled."""
        if self.degree is None:
            return self.activation
        return f"{self.implementation} n={self.degree}"


@dataclass(frozen=True)
class KernelCost:
    """One kernel of a program, all its launches together."""

    kernel: Kernel
    report: sass.Report
    nbytes: int
    instructions: Counter
    bound: roofline.Bound


def measure(
    target: Target, workload: Workload, degree: int, implementation: str, which: str
) -> Row:
    """Cost of a Bernstein activation."""
    fn, args = gpu_programs.bernstein(workload, degree, implementation, which)
    compiled = compile_for(target, fn, *args)
    return row(compiled, workload, "bernstein", degree, implementation, which)


def measure_relu(target: Target, workload: Workload, which: str) -> Row:
    """Cost of ReLU, compiled by XLA: the yardstick, put through the same counting."""
    fn, args = gpu_programs.relu(workload, which)
    compiled = compile_for(target, fn, *args)
    return row(compiled, workload, "relu", None, "xla", which)


def row(
    compiled: Compiled,
    workload: Workload,
    activation: str,
    degree: int | None,
    implementation: str,
    which: str,
) -> Row:
    """Sum the costs of a program's kernels, which run one after the other."""
    target, elements = compiled.target, workload.elements
    costs = kernel_costs(compiled, workload)
    main = max(costs, key=lambda cost: cost.bound.time)
    kernel, report = main.kernel, main.report
    shared = report.shared + kernel.shared
    held = occupancy(
        target, registers=report.registers, threads=kernel.threads, shared=shared
    )
    counts = sum((cost.instructions for cost in costs), Counter())
    nbytes = hlo_traffic.traffic(compiled.hlo)
    # Small copies and repeated launches that no kernel's name could be found for.
    rest = max(0, nbytes - sum(cost.nbytes for cost in costs)) / target.bandwidth
    relu = roofline.relu_time(target, which, elements, workload.itemsize)
    return Row(
        target=target.name,
        activation=activation,
        degree=degree,
        implementation=implementation,
        which=which,
        dtype=workload.dtype,
        rows=workload.rows,
        width=workload.width,
        outside=workload.outside,
        kernel=kernel.name,
        registers=report.registers,
        spills=sum(cost.report.spills for cost in costs),
        shared=shared,
        threads=kernel.threads,
        blocks=kernel.blocks,
        occupancy=held.share,
        occupancy_limit=held.limit,
        waves=kernel.blocks / max(1, held.blocks * target.cores),
        limit=main.bound.limit,
        kernel_bytes_per_element=main.nbytes / elements,
        kernels=sum(cost.kernel.launches for cost in costs),
        fp32_per_element=sum(counts[kind] for kind in sass.FP32) / elements,
        fma_per_element=roofline.on_pipe(counts, "fma") / elements,
        alu_per_element=roofline.on_pipe(counts, "alu") / elements,
        special_per_element=roofline.on_pipe(counts, "special") / elements,
        instructions_per_element=counts.total() / elements,
        bytes_per_element=nbytes / elements,
        peak_memory=compiled.peak_memory,
        time_us=1e6 * (sum(cost.bound.time for cost in costs) + rest),
        relu_us=1e6 * relu,
    )


def kernel_costs(compiled: Compiled, workload: Workload) -> list[KernelCost]:
    """Bytes, instructions and bound of each kernel in ``compiled``."""
    accesses = match_accesses(compiled)
    costs = []
    for kernel in compiled.kernels.values():
        report = sass.analyse(kernel.ptx, compiled.target.arch)[kernel.name]
        touched = accesses.get(kernel.name, [])
        counts = roofline.executed(
            report,
            threads=kernel.blocks * kernel.threads * kernel.launches,
            elements=workload.elements,
            itemsize=workload.itemsize,
            read=sum(access.read for access in touched),
        )
        nbytes = sum(access.total for access in touched)
        limits = roofline.bound(compiled.target, nbytes, counts)
        costs.append(KernelCost(kernel, report, nbytes, counts, limits))
    return costs


def match_accesses(compiled: Compiled) -> dict[str, list[hlo_traffic.Access]]:
    """Collect the memory accesses of each kernel, by its name.

    XLA names a kernel after its instruction, dots replaced, and launches one kernel for
    several instructions that are alike. A Pallas call has the name in its attributes.
    jax-triton hides it: such calls are matched in their order.
    """
    found: dict[str, list[hlo_traffic.Access]] = {}
    names = list(compiled.kernels)
    hidden = []
    for access in hlo_traffic.accesses(compiled.hlo):
        instruction = access.instruction
        own = re.sub(r"\W", "_", instruction.name)
        if own not in compiled.kernels and instruction.opcode == "custom-call":
            quoted = [n for n in names if _mentions(instruction.attributes, n)]
            own = quoted[0] if quoted else ""
        if own in compiled.kernels:
            found.setdefault(own, []).append(access)
        else:
            hidden.append(access)
    missing = [k for k in compiled.kernels.values() if k.name not in found]
    for kernel, access in zip(missing, hidden, strict=False):
        found[kernel.name] = [access]
    return found


def _mentions(attributes: str, name: str) -> bool:
    return re.search(rf'\bname = "{re.escape(name)}"', attributes) is not None
