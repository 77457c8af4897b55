"""One launch configuration of a GPU kernel."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """How a program is cut: tiles of ``rows x columns`` elements, one per thread."""

    rows: int  # of a tile
    columns: int  # of a tile, along the lanes of a warp
    unroll: int  # tiles whose loads are in flight together
    steps: int  # times that a program does so

    @property
    def warps(self) -> int:
        """One element of a tile per thread, and no less than a warp."""
        return max(self.rows * self.columns // 32, 1)

    @property
    def rows_per_program(self) -> int:
        """Rows of ``x`` that one program reads."""
        return self.rows * self.unroll * self.steps
