"""The least time a kernel can take on a GPU, and the resource that sets it.

A kernel moves bytes and issues instructions. Each resource has a rate; the kernel takes
at least as long as the slowest of them, if the GPU overlaps all others perfectly:

    time = max(bytes / bandwidth, instructions / rate of their pipe, ...)

It is a bound, not a measurement. ReLU is the yardstick: it reads and writes one number
an element forward, reads two and writes one backward, and is bound by that.
"""

from collections import Counter
from dataclasses import dataclass

from experiments.gpu.gpu_targets import Target
from experiments.gpu.sass import COMPARE, FP32, SPECIAL, Report

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
    """Bound for ``nbytes`` moved and thread ``instructions`` run, by kind.

    ``fp32`` counts every FP32 instruction at the rate of the multiply-add pipe, as if
    comparisons and selections ran there too: on the pipe of 64 lanes that is the
    cautious reading. ``alu`` is the pipe where they do run, beside the integer ones.
    """
    alu = instructions[COMPARE] + instructions["integer"]
    fp32 = sum(instructions[kind] for kind in FP32)
    return Bound(
        {
            "memory": nbytes / target.bandwidth,
            "fp32": fp32 / target.per_second(target.fp32_lanes),
            "alu": alu / target.per_second(target.alu_lanes),
            "special": instructions[SPECIAL] / target.per_second(target.special_lanes),
            "issue": instructions.total() / target.per_second(target.issue_lanes),
        }
    )


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
