"""The GPUs that programs are compiled for here, as data.

Each target carries the figures of its data sheet and those of its compute capability,
and writes the text proto that XLA takes as a description of a device that is absent.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One GPU: sizes in bytes, rates per second unless the name says otherwise."""

    name: str
    description: str
    major: int
    minor: int
    cores: int  # streaming multiprocessors
    clock_ghz: float  # boost
    bandwidth: float
    memory: int
    l2: int
    fp32_lanes: int  # FP32 fused multiply-adds per core and cycle
    shared_per_core: int
    shared_per_block: int  # with opt-in
    threads_per_core: int
    blocks_per_core: int
    registers_per_core: int = 65536
    # The same on every capability from 8.0 to 10.0 (CUDA programming guide, tables of
    # technical specifications and of arithmetic throughput).
    alu_lanes: int = 64  # compare, select, minimum, integer: per core and cycle
    special_lanes: int = 16  # reciprocal, square root, exponential: likewise
    issue_lanes: int = 128  # four schedulers, one warp each: likewise
    shared_reserved: int = 1024  # by the system, in every block

    @property
    def arch(self) -> str:
        """The name that ``ptxas`` knows: ``sm_80``."""
        return f"sm_{self.major}{self.minor}"

    @property
    def capability(self) -> int:
        """Compute capability as Triton writes it: 80."""
        return 10 * self.major + self.minor

    @property
    def tflops(self) -> float:
        """FP32 peak in 10^12 operations per second, a multiply-add counting two."""
        return 2e-3 * self.cores * self.fp32_lanes * self.clock_ghz

    def per_second(self, lanes: int) -> float:
        """Thread instructions per second of a pipe, ``lanes`` per core and cycle."""
        return lanes * self.cores * self.clock_ghz * 1e9

    def text_proto(self) -> str:
        """Format the device as XLA's ``GpuTargetConfigProto`` in text form."""
        return f"""
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {self.shared_per_core}
  threads_per_core_limit: {self.threads_per_core}
  core_count: {self.cores}
  fpus_per_core: {self.fp32_lanes}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {int(self.bandwidth)}
  l2_cache_size: {self.l2}
  clock_rate_ghz: {self.clock_ghz}
  device_memory_size: {self.memory}
  shared_memory_per_block_optin: {self.shared_per_block}
  cuda_compute_capability {{ major: {self.major} minor: {self.minor} }}
  registers_per_core_limit: {self.registers_per_core}
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 7 }}
runtime_version {{ major: 12 minor: 8 }}
device_description_str: "{self.description}"
"""


KIB, MIB, GIB = 2**10, 2**20, 2**30

# Cores, clock, bandwidth, memory and L2: NVIDIA's data sheet or architecture paper of
# each card. Lanes, threads, blocks, shared memory: the CUDA programming guide's
# tables for its compute capability.
_SM80 = {
    "major": 8, "minor": 0, "fp32_lanes": 64, "shared_per_core": 164 * KIB,
    "shared_per_block": 163 * KIB, "threads_per_core": 2048, "blocks_per_core": 32,
}  # fmt: skip
_SM89 = {
    "major": 8, "minor": 9, "fp32_lanes": 128, "shared_per_core": 100 * KIB,
    "shared_per_block": 99 * KIB, "threads_per_core": 1536, "blocks_per_core": 24,
}  # fmt: skip
_SM90 = {
    "major": 9, "minor": 0, "fp32_lanes": 128, "shared_per_core": 228 * KIB,
    "shared_per_block": 227 * KIB, "threads_per_core": 2048, "blocks_per_core": 32,
}  # fmt: skip
_SM100 = {**_SM90, "major": 10}
# "NVIDIA A30 Tensor Core GPU" data sheet: 933 GB/s HBM2, 24 GB, 10.3 TFLOP/s FP32.
A30 = Target(
    "a30", "NVIDIA A30", cores=56, clock_ghz=1.44, bandwidth=933e9,
    memory=24 * GIB, l2=24 * MIB, **_SM80,
)  # fmt: skip
# "NVIDIA A100 Tensor Core GPU" data sheet, SXM 80 GB: 2,039 GB/s, 19.5 TFLOP/s.
A100 = Target(
    "a100", "NVIDIA A100-SXM4-80GB", cores=108, clock_ghz=1.41, bandwidth=2039e9,
    memory=80 * GIB, l2=40 * MIB, **_SM80,
)  # fmt: skip
# "NVIDIA H100 Tensor Core GPU" data sheet, SXM: 3.35 TB/s HBM3, 67 TFLOP/s FP32.
H100 = Target(
    "h100", "NVIDIA H100 80GB HBM3", cores=132, clock_ghz=1.98, bandwidth=3352.32e9,
    memory=80 * GIB, l2=50 * MIB, **_SM90,
)  # fmt: skip
# "NVIDIA L4 Tensor Core GPU" data sheet: 300 GB/s GDDR6, 24 GB, 30.3 TFLOP/s.
L4 = Target(
    "l4", "NVIDIA L4", cores=58, clock_ghz=2.04, bandwidth=300e9,
    memory=24 * GIB, l2=48 * MIB, **_SM89,
)  # fmt: skip
# "NVIDIA L40S" data sheet: 864 GB/s GDDR6, 48 GB, 91.6 TFLOP/s FP32.
L40S = Target(
    "l40s", "NVIDIA L40S", cores=142, clock_ghz=2.52, bandwidth=864e9,
    memory=48 * GIB, l2=96 * MIB, **_SM89,
)  # fmt: skip
# "NVIDIA Blackwell" data sheet, B200 SXM: 8 TB/s HBM3e, 180 GB, 75 TFLOP/s FP32.
B200 = Target(
    "b200", "NVIDIA B200", cores=148, clock_ghz=1.965, bandwidth=8e12,
    memory=180 * GIB, l2=126 * MIB, **_SM100,
)  # fmt: skip

TARGETS = {target.name: target for target in (A30, A100, H100, L4, L40S, B200)}


def get(name: str) -> Target:
    """Return the target called ``name``."""
    if name not in TARGETS:
        raise ValueError(
            f"target must be one of {', '.join(TARGETS)}, got {name!r}; a new card is "
            "one more Target in experiments/gpu/gpu_targets.py"
        )
    return TARGETS[name]
