"""What an implementation of the operator is: three functions, and when they cannot run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

# Beyond, the sums of a gradient kernel no longer fit in registers.
HIGHEST_KERNEL_DEGREE = 64


@dataclass(frozen=True)
class Backend:
    """One implementation; :mod:`jaxbern.kernels.xla.xla_backend` defines the functions.

    ``obstacle(platform, dtype, degree)`` says in half a sentence why a call cannot run,
    or gives None; ``dtype`` is that of the arithmetic. The functions are never called
    with degree 0 or without elements: XLA does that.
    """

    name: str
    evaluate: Callable[..., jax.Array]
    vjp: Callable[..., tuple[jax.Array, ...]]
    moments: Callable[..., jax.Array]
    obstacle: Callable[[str, np.dtype, int], str | None]
    elementwise: bool = False  # XLA's partitioner can follow ``evaluate`` by itself
    packed: Any = None  # of GPU kernels: the ``Packed`` whose launches can be tuned


def kernel_obstacle(platform: str, dtype, degree: int) -> str | None:
    """Why no GPU kernel of ours can run, if none can."""
    if platform != "cuda":
        return f"the kernels are for CUDA and this program is compiled for {platform!r}"
    return kernel_limit(platform, dtype, degree)


def kernel_limit(platform: str, dtype, degree: int) -> str | None:
    """The same on any platform, as for the kernels' interpreters."""
    del platform
    if dtype != np.float32:
        return f"the kernels compute in float32 and this call needs {np.dtype(dtype)}"
    if degree > HIGHEST_KERNEL_DEGREE:
        return f"the kernels go up to degree {HIGHEST_KERNEL_DEGREE}, this is {degree}"
    return None
