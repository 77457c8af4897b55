"""Which implementation runs: by name, by platform, and why.

A name the user gave works or raises, saying why. Without one (``AUTO``) the platform that
the program is compiled for decides, at lowering time, so a program exported for
another platform gets that platform's choice.
"""

import importlib
from dataclasses import dataclass

import jax

from jaxbern.kernels.backend import Backend, kernel_obstacle
from jaxbern.kernels.xla import xla_backend

AUTO = "auto"
# Every implementation, in the order in which they are preferred: to add one is to add a
# line, with a Backend or the module that has it, which is imported when first asked for.
BACKENDS: dict[str, Backend | str] = {
    "pallas": "jaxbern.kernels.pallas.pallas_backend",
    "mosaic": "jaxbern.kernels.mosaic.mosaic_backend",
    "triton": "jaxbern.kernels.triton.triton_backend",
    "xla": xla_backend.BACKEND,
}
_ON_TPU = "jaxbern.kernels.tpu.tpu_backend"
# Slow, on any platform: what the kernels mean rather than their code. For tests.
INTERPRETED = ("pallas:interpret", "mosaic:interpret", "triton:interpret")
# The tuning and the compile tests start with Ampere.
LOWEST_CAPABILITY = 8.0


@dataclass(frozen=True)
class Choice:
    """An implementation, and the reason in half a sentence."""

    backend: Backend
    reason: str

    @property
    def name(self) -> str:
        """How users call it."""
        return self.backend.name


def choose(implementation: str, platform: str, dtype, degree: int) -> Choice:
    """The implementation for a program compiled for ``platform``.

    ``dtype`` is that of the arithmetic. Raises ``NotImplementedError`` for a named
    implementation that cannot run there.
    """
    if implementation == AUTO:
        return _best(platform, dtype, degree)
    backend = _load(implementation)
    obstacle = backend.obstacle(platform, dtype, degree)
    if obstacle is not None:
        raise NotImplementedError(
            f"implementation={implementation!r} cannot run here: {obstacle}; write "
            "implementation='xla', or leave it out and the best available one is chosen"
        )
    return Choice(backend, "asked for by name")


def get(implementation: str, platform: str, dtype, degree: int, size: int) -> Backend:
    """What runs a call on ``size`` elements: what :func:`choose` names, mostly.

    A constant or an empty array needs no kernel; on a CPU XLA has sums of its own, and on
    a TPU help with those of high degree.
    """
    backend = choose(implementation, platform, dtype, degree).backend
    if degree == 0 or size == 0:
        backend = xla_backend.BACKEND
    if backend is not xla_backend.BACKEND:
        return backend
    if platform == "tpu":
        return importlib.import_module(_ON_TPU).BACKEND
    return xla_backend.BACKEND_ON_CPU if platform == "cpu" else backend


def platform_of(device: jax.Device) -> str:
    """The platform that programs for ``device`` are lowered for."""
    if device.platform != "gpu":
        return device.platform
    version = getattr(device.client, "platform_version", "")
    return "rocm" if "rocm" in version.lower() else "cuda"


def names() -> tuple[str, ...]:
    """What users may ask for."""
    return tuple(sorted(BACKENDS, key=lambda name: (name != "xla", name)))


def _load(implementation: str) -> Backend:
    name, _, interpreted = implementation.partition(":")
    found = BACKENDS[name]
    if isinstance(found, Backend):
        return found
    module = importlib.import_module(found)
    return module.INTERPRETED if interpreted else module.BACKEND


def _best(platform: str, dtype, degree: int) -> Choice:
    """The first in order that nothing stands against; else XLA, with the reason."""
    obstacle = kernel_obstacle(platform, dtype, degree)
    if obstacle is not None:
        return Choice(xla_backend.BACKEND, obstacle)
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        reason = (
            "there is no CUDA device here to ask for its capability; name an "
            "implementation when compiling for another machine"
        )
        return Choice(xla_backend.BACKEND, reason)
    capability = float(device.compute_capability)
    reason = f"{device.device_kind} has capability {capability}"
    if capability < LOWEST_CAPABILITY:
        reason += f", the kernels start at {LOWEST_CAPABILITY}"
        return Choice(xla_backend.BACKEND, reason)
    for backend in map(_load, BACKENDS):
        obstacle = backend.obstacle(platform, dtype, degree)
        if obstacle is None:
            break
        reason += f"; {obstacle}"
    return Choice(backend, reason)
