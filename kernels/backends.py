"""Which implementation runs: by name, by platform, and why.

A name the user gave works or raises, saying why. Without one (``AUTO``) the platform that
the program is compiled for decides, at lowering time, so a program exported for
another platform gets that platform's choice.
"""

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from jaxbern.kernels import xla

AUTO = "auto"
NAMES = ("xla", "pallas", "triton")
# Slow, on any platform: what the kernels mean rather than their code. For tests.
INTERPRETED = ("pallas:interpret", "triton:interpret")
# Beyond, a gradient kernel's sums no longer fit in registers.
HIGHEST_KERNEL_DEGREE = 64
# The tuning and the compile tests start with Ampere.
LOWEST_CAPABILITY = 8.0


@dataclass(frozen=True)
class Backend:
    """The functions every implementation has; :mod:`jaxbern.kernels.xla` defines them."""

    evaluate: Callable
    vjp: Callable
    moments: Callable
    elementwise: bool  # XLA's partitioner can follow ``evaluate`` by itself


@dataclass(frozen=True)
class Choice:
    """An implementation, and the reason in half a sentence."""

    name: str
    reason: str


def choose(implementation: str, platform: str, dtype, degree: int) -> Choice:
    """The implementation for a program compiled for ``platform``.

    ``dtype`` is that of the arithmetic. Raises ``NotImplementedError`` for a named
    implementation that cannot run there.
    """
    name = implementation.partition(":")[0]
    if name == "xla":
        return Choice(name, "asked for by name")
    obstacle = _kernel_obstacle(platform, dtype, degree)
    if name == AUTO:
        return _choose_kernel() if obstacle is None else Choice("xla", obstacle)
    if implementation in INTERPRETED:
        obstacle = _kernel_obstacle("cuda", dtype, degree)
    if obstacle is not None:
        raise NotImplementedError(
            f"implementation={implementation!r} cannot run here: {obstacle}; write "
            "implementation='xla', or leave it out and the best available one is chosen"
        )
    return Choice(implementation, "asked for by name")


def get(implementation: str, platform: str, dtype, degree: int) -> Backend:
    """The functions of the implementation that :func:`choose` names."""
    name, _, mode = choose(implementation, platform, dtype, degree).name.partition(":")
    on_cpu = platform == "cpu"
    if name == "xla":
        return Backend(
            evaluate=functools.partial(xla.evaluate, on_cpu=on_cpu),
            vjp=functools.partial(xla.vjp, on_cpu=on_cpu),
            moments=functools.partial(xla.moments, on_cpu=on_cpu),
            elementwise=True,
        )
    interpret = mode == "interpret"
    if name == "pallas":
        from jaxbern.kernels import pallas, pallas_vjp

        modules = pallas, pallas_vjp
    else:
        from jaxbern.kernels import triton

        modules = triton, triton
    gradient = functools.partial(modules[1].vjp, on_cpu=on_cpu, interpret=interpret)
    sums = functools.partial(modules[1].moments, on_cpu=on_cpu, interpret=interpret)
    return Backend(
        evaluate=functools.partial(modules[0].evaluate, interpret=interpret),
        vjp=gradient,
        moments=sums,
        elementwise=False,
    )


def _kernel_obstacle(platform: str, dtype, degree: int) -> str | None:
    """Why no GPU kernel can run, if none can."""
    if platform != "cuda":
        return f"the kernels are for CUDA and this program is compiled for {platform!r}"
    if dtype != np.float32:
        return f"the kernels compute in float32 and this call needs {np.dtype(dtype)}"
    if degree > HIGHEST_KERNEL_DEGREE:
        return f"the kernels go up to degree {HIGHEST_KERNEL_DEGREE}, this is {degree}"
    return None


def _choose_kernel() -> Choice:
    """The kernel for the CUDA device at hand, if it is new enough."""
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        return Choice(
            "xla",
            "there is no CUDA device here to ask for its capability; name an "
            "implementation when compiling for another machine",
        )
    capability = float(device.compute_capability)
    described = f"{device.device_kind} has capability {capability}"
    if capability < LOWEST_CAPABILITY:
        return Choice("xla", f"{described}, the kernels start at {LOWEST_CAPABILITY}")
    if importlib.util.find_spec("jax.experimental.pallas.triton"):
        return Choice("pallas", described)
    if importlib.util.find_spec("jax_triton"):
        return Choice("triton", f"{described} and this JAX has no Pallas for Triton")
    return Choice("xla", "neither Pallas for Triton nor jax-triton is installed")
