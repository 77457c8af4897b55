"""What a GPU allows a kernel: its occupancy, its least time, and what sets that.

A kernel moves bytes and issues instructions. Each resource has a rate; the kernel takes
at least as long as the slowest of them, if the GPU overlaps all others perfectly:

    time = max(bytes / bandwidth, instructions / rate of their pipe, ...)

Which pipe runs an instruction is taken from NVIDIA's profiler (Nsight Compute, pipelines):

- ``fma``: FP32 products, sums and multiply-adds, integer products; ptxas writes many moves
  and shifts as such products. 64 lanes on an A30 or A100, 128 on others.
- ``alu``: comparisons, selects, minima, integer sums and logic, and the packing of two
  floats as a pair of narrow ones. 64 lanes on all.
- ``special``: reciprocals and roots, conversions to and from integers. 16 lanes.
- ``issue``: everything, 128 in a cycle. Loads, stores, branches and what is the same in a
  whole warp (uniform) count here alone; what loads and stores cost beside is ``memory``.

Assumed are the boost clock, the data sheet's bandwidth, all pipes busy at once, and every
byte moved once. It is a bound, not a measurement. ReLU is the yardstick: it reads and
writes one number an element forward, reads two and writes one backward, and is bound by
that.
"""

from collections import Counter
from dataclasses import dataclass

from experiments.gpu.gpu_targets import Target
from experiments.gpu.sass import COMPARE, FMA, SPECIAL, Report

WARP = 32
# Of every capability from 8.0 to 9.0: registers are given to a warp in units of 256 by
# one of four partitions, shared memory to a block in units of 128 bytes.
PARTITIONS, REGISTER_UNIT, SHARED_UNIT = 4, 256, 128


@dataclass(frozen=True)
class Occupancy:
    """Blocks resident on a core, the share of its warps they are, and the limit."""

    blocks: int
    share: float
    limit: str


def occupancy(
    target: Target, *, registers: int, threads: int, shared: int = 0
) -> Occupancy:
    """Occupancy of a kernel with ``registers`` a thread, ``shared`` bytes a block."""
    warps = -(-threads // WARP)
    most_warps = target.threads_per_core // WARP
    per_warp = _round_up(max(registers, 1) * WARP, REGISTER_UNIT)
    per_block = _round_up(shared + target.shared_reserved, SHARED_UNIT)
    fitting = PARTITIONS * (target.registers_per_core // PARTITIONS // per_warp)
    limits = {
        "threads": most_warps // warps,
        "registers": fitting // warps,
        "shared memory": target.shared_per_core // per_block,
        "blocks": target.blocks_per_core,
    }
    limit = min(limits, key=limits.__getitem__)
    blocks = limits[limit]
    return Occupancy(blocks, blocks * warps / most_warps, limit)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


RELU_ACCESSES = {"forward": 2, "gradient": 3}


@dataclass(frozen=True)
class Bound:
    """Seconds that each resource needs at least."""

    seconds: dict[str, float]

    @property
    def limit(self) -> str:
        """The resource that sets the time."""
        return max(self.seconds, key=self.seconds.__getitem__)

    @property
    def time(self) -> float:
        """The roofline's time."""
        return self.seconds[self.limit]


def bound(target: Target, nbytes: float, instructions: Counter) -> Bound:
    """Bound for ``nbytes`` moved and thread ``instructions`` run, by kind."""
    lanes = {
        "fma": target.fp32_lanes,
        "alu": target.alu_lanes,
        "special": target.special_lanes,
    }
    busy = {
        pipe: on_pipe(instructions, pipe) / target.per_second(lanes[pipe])
        for pipe in PIPES
    }
    issue = instructions.total() / target.per_second(target.issue_lanes)
    return Bound({"memory": nbytes / target.bandwidth, **busy, "issue": issue})


PIPES = {
    "fma": (FMA, "multiply", "half"),
    "alu": (COMPARE, "integer", "pack"),
    "special": (SPECIAL, "convert"),
}


def on_pipe(instructions: Counter, pipe: str) -> float:
    """Count the ``instructions`` that ``pipe`` runs."""
    return sum(instructions[kind] for kind in PIPES[pipe])


def relu_time(target: Target, which: str, elements: int, itemsize: int) -> float:
    """Seconds of ReLU's ``forward`` or ``gradient``: its traffic at full bandwidth."""
    return RELU_ACCESSES[which] * elements * itemsize / target.bandwidth


def executed(
    report: Report, *, threads: int, elements: float, itemsize: int, read: int = 0
) -> Counter:
    """Thread instructions by kind that a launch of ``threads`` in all runs.

    Straight code runs once in every thread. The hot loop runs until ``elements``
    results are stored, or, when it stores none, until ``read`` bytes are loaded. Other
    loops are a remainder of the hot one, and are taken to run not at all. A pass that
    ptxas peeled off the loop stands in the straight code and so counts twice.
    """
    counts = Counter({k: v * threads for k, v in report.straight.kinds.items()})
    if (loop := report.hot_loop) is not None:
        if loop.stored:
            passes = elements / (loop.stored / itemsize)
        elif loop.loaded and read:
            passes = read / loop.loaded
        else:
            passes = threads
        counts.update({k: v * passes for k, v in loop.kinds.items()})
    return counts
