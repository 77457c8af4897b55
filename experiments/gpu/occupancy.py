"""How many blocks of a kernel fit on one core of a GPU, and what stops more."""

from dataclasses import dataclass

from experiments.gpu.gpu_targets import Target

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
