"""Parts of the grid, selected on a command line."""

import argparse
import dataclasses
from collections.abc import Iterable

from experiments.core.options import numbers, words_of
from experiments.sweep import grid
from experiments.sweep.grid import Cell


@dataclasses.dataclass(frozen=True)
class Filter:
    """Conditions on cells; None where any value is accepted.

    >>> wanted = Filter(dataset=("susy",), depth=(5,), activation=("relu", "bernstein:9"))
    >>> [cell.name for cell in wanted.of(grid.paper())][:2]
    ['susy-residual-5x16-relu', 'susy-residual-5x16-bernstein9']
    """

    dataset: tuple[str, ...] | None = None
    residual: bool | None = None
    depth: tuple[int, ...] | None = None
    width: tuple[int, ...] | None = None
    activation: tuple[str, ...] | None = None

    def of(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return the cells that fulfil the conditions, in their order.

        Raises:
          ValueError: none does.
        """
        cells = list(cells)
        found = [cell for cell in cells if self._fits(cell)]
        if not found:
            raise ValueError(
                f"no cell fits {self}; there are\n{describe(cells)}\n"
                "(--preset paper has the whole grid)"
            )
        return found

    def _fits(self, cell: Cell) -> bool:
        if self.residual is not None and cell.residual != self.residual:
            return False
        wanted = (self.dataset, self.depth, self.width, self.activation)
        values = (cell.dataset, cell.depth, cell.width, cell.activation)
        return all(
            w is None or value in w for w, value in zip(wanted, values, strict=True)
        )

    def __str__(self) -> str:
        words = []
        for name in ("dataset", "depth", "width", "activation"):
            if (values := getattr(self, name)) is not None:
                words.append(f"--{name} {','.join(map(str, values))}")
        if self.residual is not None:
            words.append("--residual" if self.residual else "--plain")
        return " ".join(words) or "everything"


def describe(cells: Iterable[Cell]) -> str:
    """Describe the available cells, by attribute."""
    cells = list(cells)
    lines = []
    for residual in (True, False):
        of_kind = [cell for cell in cells if cell.residual == residual]
        if not of_kind:
            continue
        parts = {
            "dataset": list(dict.fromkeys(cell.dataset for cell in of_kind)),
            "depth": sorted({cell.depth for cell in of_kind}),
            "width": sorted({cell.width for cell in of_kind}),
            "activation": list(dict.fromkeys(cell.activation for cell in of_kind)),
        }
        text = "; ".join(f"{k} {','.join(map(str, v))}" for k, v in parts.items())
        lines.append(f"  {of_kind[0].kind}: {text}")
    return "\n".join(lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--dataset``, ``--depth``, ``--width``, ``--activation``, ``--residual``, ..."""
    part = parser.add_argument_group(
        "part of the grid", "lists are separated by commas"
    )
    part.add_argument(
        "--dataset", type=words_of(tuple(grid.FEATURES)), help="higgs, susy"
    )
    part.add_argument("--depth", type=numbers, help="hidden layers, such as 5,15")
    part.add_argument("--width", type=numbers, help="neurons in each, such as 16")
    part.add_argument(
        "--activation",
        type=words_of(grid.ACTIVATIONS),
        help="such as relu,bernstein:9",
    )
    kind = part.add_mutually_exclusive_group()
    kind.add_argument(
        "--residual",
        action="store_true",
        default=None,
        help="networks with skips only",
    )
    kind.add_argument(
        "--plain",
        dest="residual",
        action="store_false",
        default=None,
        help="without only",
    )


def from_options(options: argparse.Namespace) -> Filter:
    """Make the filter that the command line asks for."""

    def given(name: str) -> tuple | None:
        values = getattr(options, name)
        return None if values is None else tuple(values)

    lists = {name: given(name) for name in ("dataset", "depth", "width", "activation")}
    return Filter(residual=options.residual, **lists)
