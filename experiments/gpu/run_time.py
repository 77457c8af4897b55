"""Times on the device at hand: the activation, and whole training steps."""

import csv
import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.bench.bench_step import arguments, loss_and_gradients
from experiments.gpu import gpu_programs, roofline
from experiments.gpu.gpu_programs import PASSES, Workload
from experiments.gpu.gpu_targets import Target
from experiments.gpu.run_plan import Clock, Plan
from jaxbern.kernels import forms
from jaxbern.nn import NetworkConfig

HIGGS_FEATURES = 28


@dataclass(frozen=True)
class Timing:
    """One activation, forward or gradient."""

    implementation: str
    degree: int
    dtype: str
    which: str
    seconds: float
    relu: float  # seconds
    least: float | None  # seconds that the pipes and the memory of the GPU allow

    @property
    def ratio(self) -> float:
        """Time over ReLU's."""
        return self.seconds / self.relu


@dataclass(frozen=True)
class Step:
    """One training step of a residual network."""

    depth: int
    width: int
    dtype: str
    degree: int
    seconds: float
    relu: float
    memory: int  # bytes
    relu_memory: int
    paper: float | None  # the paper's ratio of training times, of HIGGS

    @property
    def ratio(self) -> float:
        """Time over ReLU's."""
        return self.seconds / self.relu


def timings(plan: Plan, target: Target | None, clock: Clock) -> Iterator[Timing]:
    """Time every implementation, degree, dtype and pass, after ReLU of that dtype."""
    for dtype in plan.dtypes:
        workload = Workload(*plan.timed, dtype)
        relu = {
            which: _time(gpu_programs.relu(workload, which), clock) for which in PASSES
        }
        for degree in plan.degrees:
            for name in plan.implementations:
                for which in PASSES:
                    program = gpu_programs.bernstein(workload, degree, name, which)
                    seconds = _time(program, clock)
                    least = None
                    if target is not None:
                        least = least_time(target, workload, degree, which)
                    case = name, degree, dtype, which
                    yield Timing(*case, seconds, relu[which], least)


def _time(program, clock: Clock) -> float:
    fn, shapes = program
    rng = np.random.default_rng(0)
    args = [jnp.asarray(rng.normal(size=s.shape), s.dtype) for s in shapes]
    run = jax.jit(fn)
    return clock(lambda: jax.block_until_ready(run(*args)))


def least_time(target: Target, workload: Workload, degree: int, which: str) -> float:
    """Return the roofline's seconds for the form of the kernels on ``target``."""
    lanes, itemsize = target.fp32_lanes, workload.itemsize
    if which == "forward":
        form = forms.of_value(degree, itemsize, lanes)
        counts = forms.value(degree, form)
    else:
        form, factors = forms.of_gradient(degree, itemsize, lanes)
        counts = forms.gradient(factors, form)
    moved = roofline.RELU_ACCESSES[which]
    each = {
        "fma": counts.fma,
        "compare": counts.alu,
        "special": counts.special,
        "global": moved,
    }
    instructions = Counter({kind: n * workload.elements for kind, n in each.items()})
    nbytes = moved * itemsize * workload.elements
    return roofline.bound(target, nbytes, instructions).time


def steps(plan: Plan, clock: Clock) -> Iterator[Step]:
    """Time every network in float32 and bfloat16, beside lean ReLU."""
    for depth, width in plan.networks:
        for dtype in plan.dtypes[:2]:
            shape = functools.partial(
                NetworkConfig, HIGGS_FEATURES, depth, width, dtype=dtype
            )
            relu, held = _step(shape(activation="relu"), plan.batch, clock)
            for degree in plan.degrees:
                config = shape(degree=degree)
                seconds, memory = _step(config, plan.batch, clock)
                case = depth, width, dtype, degree, seconds, relu, memory, held
                yield Step(*case, paper_ratio(depth, width, degree))


def _step(config: NetworkConfig, rows: int, clock: Clock) -> tuple[float, int]:
    args = arguments(config, rows)
    program = jax.jit(loss_and_gradients(config)).lower(*args).compile()
    memory: Any = program.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes
    held += memory.temp_size_in_bytes - memory.alias_size_in_bytes
    return clock(lambda: jax.block_until_ready(program(*args))), held


def paper_ratio(depth: int, width: int, degree: int) -> float | None:
    """Training time over ReLU's in the paper's table for HIGGS, with skip connections.

    >>> round(paper_ratio(150, 256, 9), 2)
    0.82
    """
    table = resources.files("experiments.report") / "paper/runtime_higgs_residual.csv"
    with table.open() as file:
        for row in csv.DictReader(file):
            if (int(row["depth"]), int(row["width"])) == (depth, width):
                seconds = row.get(f"n{degree}_seconds")
                return float(seconds) / float(row["relu_seconds"]) if seconds else None
    return None
