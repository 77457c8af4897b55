"""The TPUs that programs are compiled for here, as data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tpu:
    """One generation."""

    name: str
    description: str
    topology: str  # the smallest that libtpu knows
    bandwidth: float  # bytes per second


# Bandwidth: Google Cloud's documentation of each version.
V5E = Tpu("v5e", "TPU v5e", "v5e:2x2", 819e9)
V6E = Tpu("v6e", "TPU v6e", "v6e:2x2", 1640e9)
TARGETS = {target.name: target for target in (V5E, V6E)}
