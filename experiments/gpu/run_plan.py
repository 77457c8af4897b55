"""What ``python -m experiments gpu run`` does on a GPU, as data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

import jaxbern as jb
from experiments.gpu import gpu_targets
from experiments.gpu.gpu_targets import Target
from jaxbern.kernels import backends


@dataclass(frozen=True)
class Card:
    """The device at hand."""

    kind: str
    capability: str
    target: Target | None  # its data sheet, if it is known here

    @classmethod
    def at_hand(cls) -> "Card | None":
        """JAX's first device, if that is a CUDA GPU."""
        device = jax.devices()[0]
        if backends.platform_of(device) != "cuda":
            return None
        return cls(device.device_kind, device.compute_capability, known(device))


def known(device: Any) -> Target | None:
    """Return the target whose name is part of the device's: "NVIDIA L40S", not "NVIDIA L4"."""
    words = device.device_kind.lower().replace("-", " ").split()
    return next((t for name, t in gpu_targets.TARGETS.items() if name in words), None)


@dataclass(frozen=True)
class Plan:
    """Cases; ``quick`` ones take a minute."""

    implementations: tuple[str, ...]
    degrees: tuple[int, ...] = (3, 9, 15, 25)
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16")
    checked: tuple[int, int] = (1003, 100)  # rows and width: no multiple of anything
    timed: tuple[int, int] = (16384, 256)
    networks: tuple[tuple[int, int], ...] = ((150, 256), (5, 16))
    batch: int = 512
    rounds: int = 20
    tune: bool = True

    @classmethod
    def quick(cls, implementations: tuple[str, ...]) -> "Plan":
        """Enough to see that everything runs."""
        return cls(
            implementations,
            degrees=(3, 9),
            dtypes=("float32", "bfloat16"),
            checked=(67, 40),
            timed=(2048, 256),
            networks=((5, 16),),
            rounds=3,
            tune=False,
        )

    def text(self) -> str:
        """Format the plan as text."""
        (rows, width), dtypes = self.timed, ", ".join(self.dtypes)
        degrees = ", ".join(map(str, self.degrees))
        nets = " and ".join(f"{depth}x{each}" for depth, each in self.networks)
        lines = [
            f"1. check {', '.join(self.implementations)} against de Casteljau's algorithm "
            f"in float64: degrees {degrees}, {dtypes}, clamped and with straight tails",
            f"2. time forward and gradient on {rows} x {width}, beside ReLU and beside the "
            "least time that the GPU allows",
            f"3. time a training step of {nets}, batch {self.batch}, and read its memory, "
            "beside ReLU and beside the paper's tables",
        ]
        if self.tune:
            lines.append("4. try launch configurations and keep the fastest")
        return "\n".join(lines)


def usable(name: str) -> str | None:
    """Why an implementation cannot run here, or None."""
    try:
        jb.explain(implementation=name)
    except NotImplementedError as reason:
        return str(reason).partition(": ")[2].partition(";")[0]
    return None


# Seconds that a call takes, once it is compiled.
Clock = Callable[[Callable[[], Any]], float]
