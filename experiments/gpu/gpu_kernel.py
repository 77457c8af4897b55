"""A kernel of a compiled program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """PTX and how it is launched."""

    name: str
    ptx: str
    grid: tuple[int, ...]
    threads: int  # in one block
    shared: int  # bytes given at launch, beside what the PTX declares
    launches: int = 1  # places in the program that launch it

    @property
    def blocks(self) -> int:
        """Number of blocks of one launch."""
        x, y, z = self.grid
        return x * y * z
