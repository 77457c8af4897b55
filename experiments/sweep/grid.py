"""The cells of the paper's grid: 448 of them, three seeds each."""

import dataclasses
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbern.train import NetworkConfig

FEATURES = {"higgs": 28, "susy": 18}
PUBLISHED_EVENTS = {"higgs": 11_000_000, "susy": 5_000_000}
FIXED = ("relu", "leaky_relu", "selu", "gelu")
DEGREES = (3, 9, 15, 25)
ACTIVATIONS = (*FIXED, *(f"bernstein:{degree}" for degree in DEGREES))
WIDTHS = (16, 32, 128, 256)
RESIDUAL_DEPTHS = (5, 15, 50, 100, 150)
PLAIN_DEPTHS = (5, 15)
SEEDS = (0, 1, 2)


@dataclasses.dataclass(frozen=True, order=True)
class Cell:
    """One network on one data set.

    Attributes:
      dataset: ``"higgs"`` or ``"susy"``: which columns the events have.
      residual: with skips or plain.
      depth: hidden layers.
      width: neurons in each.
      activation: ``"relu"``, ``"leaky_relu"``, ``"selu"``, ``"gelu"`` or
        ``"bernstein:N"`` of degree N.

    >>> cell = Cell("higgs", True, 5, 16, "bernstein:9")
    >>> cell.name
    'higgs-residual-5x16-bernstein9'
    >>> cell.parameters, cell.degree
    (2386, 9)
    """

    dataset: str
    residual: bool
    depth: int
    width: int
    activation: str

    def __post_init__(self):
        """Raise ValueError for values that name no cell, such as those of a damaged file."""
        if self.dataset not in FEATURES:
            raise ValueError(
                f"dataset must be one of {', '.join(FEATURES)}, got {self.dataset!r}"
            )
        if not isinstance(self.residual, bool):
            raise ValueError(f"residual must be true or false, got {self.residual!r}")
        for name in ("depth", "width"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an int of at least 1, got {value!r}")
        if self.activation not in FIXED and not re.fullmatch(
            "bernstein:(100|[0-9]{1,2})", str(self.activation)
        ):
            raise ValueError(
                f"activation must be one of {', '.join(FIXED)} or bernstein:N for a degree N "
                f"up to 100, got {self.activation!r}"
            )

    @property
    def degree(self) -> int | None:
        """Degree of the Bernstein polynomials; None for the other activations."""
        _, _, degree = self.activation.partition(":")
        return int(degree) if degree else None

    @property
    def kind(self) -> str:
        """``"residual"`` or ``"plain"``."""
        return "residual" if self.residual else "plain"

    @property
    def name(self) -> str:
        """Unique name, usable as the name of a directory."""
        activation = self.activation.replace(":", "")
        return f"{self.dataset}-{self.kind}-{self.depth}x{self.width}-{activation}"

    @property
    def network(self) -> "NetworkConfig":
        """The configuration of the network."""
        from jaxbern.train import NetworkConfig  # with JAX: help does not wait for it

        network = NetworkConfig(
            FEATURES[self.dataset],
            self.depth,
            self.width,
            activation=self.activation.partition(":")[0],
            residual=self.residual,
        )
        if self.degree is None:
            return network
        return dataclasses.replace(network, degree=self.degree)

    @property
    def parameters(self) -> int:
        """Number of parameters of the network."""
        return self.network.parameter_count


def paper() -> list[Cell]:
    """Return all cells of the grid.

    >>> len(paper())
    448
    """
    shapes = [
        *itertools.product((True,), RESIDUAL_DEPTHS, WIDTHS),
        *itertools.product((False,), PLAIN_DEPTHS, WIDTHS),
    ]
    return [
        Cell(dataset, *shape, activation)
        for dataset in FEATURES
        for shape in shapes
        for activation in ACTIVATIONS
    ]
