"""Relative cost of cells, the order of training, and the division between jobs.

Costs are relative and rough: good enough to order cells and to divide them. ``python -m
experiments plan`` measures how long they take on a device.
"""

from collections.abc import Iterable

from experiments.sweep.grid import FEATURES, Cell

# Of one architecture, the questions of the paper first: is a DBN better than ReLU?
_QUESTIONS = (
    "relu",
    "bernstein:9",
    "bernstein:3",
    "bernstein:15",
    "bernstein:25",
    "gelu",
    "leaky_relu",
    "selu",
)
# In multiplications of a matrix product, whose operations cost least of all; fitted to the
# times of the half grid on a CPU.
_NEURON, _GELU, _DEGREE = 105.0, 75.0, 14.0
_STEP = 30_000.0  # whatever the width, for each layer of a step
_FIXED = 2.5e11  # for the cell, most of it for compiling


def cost(
    cell: Cell, *, rows: int = 20_000, batch: int = 1024, epochs: int = 25
) -> float:
    """Estimate the relative cost of training all seeds."""
    width, hidden = cell.width, cell.depth - 1
    products = 3 * (FEATURES[cell.dataset] * width + hidden * width * width)
    each = _NEURON + _GELU * (cell.activation == "gelu") + _DEGREE * (cell.degree or 0)
    row = products + cell.depth * width * each
    return _FIXED + 3 * epochs * (rows * row + rows / batch * cell.depth * _STEP)


def ordered(cells: Iterable[Cell], **size: int) -> list[Cell]:
    """Order cells by architecture, the cheap ones first, with all activations together.

    A report on the first part of a sweep can then already compare activations.

    >>> [cell.name for cell in ordered([
    ...     Cell("higgs", True, 15, 16, "relu"),
    ...     Cell("higgs", True, 5, 16, "gelu"),
    ...     Cell("higgs", True, 5, 16, "relu"),
    ... ])]
    ['higgs-residual-5x16-relu', 'higgs-residual-5x16-gelu', 'higgs-residual-15x16-relu']
    """
    cells = list(cells)

    def architecture(cell):
        return cell.dataset, cell.residual, cell.depth, cell.width

    def of_relu(cell):
        yardstick = Cell(*architecture(cell), "relu")
        return cost(yardstick, **size)

    return sorted(
        cells,
        key=lambda c: (of_relu(c), architecture(c), _QUESTIONS.index(c.activation)),
    )


def shard(cells: list[Cell], index: int, count: int, **size: int) -> list[Cell]:
    """Return the cells of job ``index`` of ``count``, counted from 1, in their order.

    Each cell, the most expensive first, goes to the job with the least work so far, so that
    all jobs end at about the same time. Every job computes the same division.

    >>> cells = [Cell("higgs", True, 5, 16, name) for name in ("relu", "gelu", "selu")]
    >>> [len(shard(cells, k, 2)) for k in (1, 2)]
    [1, 2]
    """
    if not 1 <= index <= count:
        raise ValueError(
            f"a shard must be one of 1/{count} to {count}/{count}, got {index}/{count}"
        )
    loads = [0.0] * count
    mine = set()
    for cell in sorted(cells, key=lambda c: (-cost(c, **size), c)):
        least = loads.index(min(loads))
        loads[least] += cost(cell, **size)
        if least == index - 1:
            mine.add(cell)
    return [cell for cell in cells if cell in mine]
