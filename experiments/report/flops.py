"""Floating-point operations of a training, counted from the network's formula.

Per event, forward and backward, with ``d`` features, depth ``L``, width ``W``:

| part | forward | backward |
|---|---|---|
| each weight of a Linear | 2 | 4 (towards the input, towards the weight) |
| normalisation, per neuron | 6 | 10 |
| skip, per neuron | 1 | 1 |
| ReLU, Leaky ReLU | 1 | 1 |
| SELU, GeLU (one exponential each, counted as 10) | 14 | 18 |
| Bernstein of degree n | 2 n + 8 | 5 n + 8 |

A Bernstein polynomial takes a multiply-add per degree and a division or so to begin
with; its gradients take one more for the slope and three operations for the
coefficients. The optimiser (a dozen per parameter and step, nothing beside a batch of
thousands) and validation are left out. It is arithmetic, not time: what a device makes
of it is another matter.
"""

from experiments.sweep.cell_results import CellResult
from experiments.sweep.grid import Cell

_NORMALISATION = 6 + 10
_SKIP = 1 + 1
_FIXED = {"relu": 1 + 1, "leaky_relu": 1 + 1, "selu": 14 + 18, "gelu": 14 + 18}


def event(cell: Cell) -> int:
    """Forward and backward for one event.

    >>> event(Cell("higgs", True, 5, 16, "relu"))
    10592
    """
    network = cell.network
    inner = (cell.depth - 1) * cell.width
    weights = cell.width * (network.in_features + inner + network.out_features)
    neurons = cell.depth * cell.width
    return (
        6 * weights
        + neurons * (_NORMALISATION + activation(cell))
        + (_SKIP * inner if cell.residual else 0)
    )


def activation(cell: Cell) -> int:
    """Of one neuron, forward and backward."""
    if cell.degree is None:
        return _FIXED[cell.activation]
    return 7 * cell.degree + 16


def epoch(result: CellResult) -> float | None:
    """Over the training rows; None if their number is not known."""
    events = result.about.get("events")
    fraction = result.about.get("config", {}).get("test_fraction")
    if events is None or fraction is None:
        return None
    return events * (1 - fraction) * event(result.cell)
