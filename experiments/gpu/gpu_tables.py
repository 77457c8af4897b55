"""Rows of measurements as text, one table per target and degree, and as CSV."""

import csv
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.gpu import gpu_targets
from experiments.gpu.gpu_layers import LayerRow
from experiments.gpu.gpu_measure import Row

# heading, what stands below it
COLUMNS: dict[str, Callable[[Row], str]] = {
    "implementation": lambda r: r.implementation if r.degree is not None else "relu",
    "pass": lambda r: r.which,
    "registers": lambda r: str(r.registers),
    "spills": lambda r: f"{r.spills} B",
    "shared": lambda r: f"{r.shared / 1024:.1f} KiB",
    "FMA": lambda r: f"{r.fma_per_element:.1f}",
    "ALU": lambda r: f"{r.alu_per_element:.1f}",
    "MUFU": lambda r: f"{r.special_per_element:.1f}",
    "all": lambda r: f"{r.instructions_per_element:.1f}",
    "bytes/elem": lambda r: f"{r.bytes_per_element:.2f}",
    "occupancy": lambda r: f"{100 * r.occupancy:.0f}%",
    "kernels": lambda r: str(r.kernels),
    "time": lambda r: f"{r.time_us:.1f} us",
    "/ ReLU": lambda r: f"{r.ratio:.2f}",
    "limit": lambda r: r.limit,
}


def text(rows: list[Row]) -> str:
    """Format a table for each target and degree, with ReLU first."""
    parts = []
    for name in dict.fromkeys(r.target for r in rows):
        target = gpu_targets.get(name)
        own = [r for r in rows if r.target == name]
        relu = [r for r in own if r.degree is None]
        first = own[0]
        for degree in dict.fromkeys(r.degree for r in own if r.degree is not None):
            title = (
                f"{target.description}, {target.arch}, degree {degree}, "
                f"{first.rows:,} x {first.width} {first.dtype}, "
                f"outside {first.outside}"
            )
            shown = relu + [r for r in own if r.degree == degree]
            cells = [[cell(row) for cell in COLUMNS.values()] for row in shown]
            parts.append(f"{title}\n{aligned([list(COLUMNS), *cells])}\n")
    return "\n".join(parts)


def layers_text(rows: list[LayerRow]) -> str:
    """Format a table of layers for each target, compared with ReLU."""
    parts = []
    for name in dict.fromkeys(row.target for row in rows):
        own = [row for row in rows if row.target == name]
        relu = next(row for row in own if row.degree is None)
        lines = [["layer", "degree", "bytes/elem", "/ ReLU", "memory", "/ ReLU"]]
        for row in own:
            lines.append(
                [
                    row.activation,
                    "" if row.degree is None else str(row.degree),
                    f"{row.bytes_per_element:.1f}",
                    f"{row.bytes_per_element / relu.bytes_per_element:.2f}",
                    f"{row.peak_memory / 2**20:.0f} MiB",
                    f"{row.peak_memory / relu.peak_memory:.2f}",
                ]
            )
        title = f"{gpu_targets.get(name).description}, h + act(batchnorm(h w + b)) and"
        parts.append(f"{title} its gradients\n{aligned(lines)}\n")
    return "\n".join(parts)


def aligned(lines: list[list[str]]) -> str:
    """Columns under a line of headings; words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [
        "  ".join(
            cell.ljust(width) if heading in _WORDS else cell.rjust(width)
            for cell, width, heading in zip(line, widths, lines[0], strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([aligned[0], "-" * len(aligned[0]), *aligned[1:]])


_WORDS = {"implementation", "layer", "pass", "limit"}


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write every field of every row, and the ratio to ReLU."""
    names = [field.name for field in dataclasses.fields(rows[0])]
    names += ["ratio"] if isinstance(rows[0], Row) else []
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)
