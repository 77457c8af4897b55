"""(d) The paper's table of rates, and the modulus of continuity in them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rate:
    """A bound ``omega_f(delta)`` on the error, without its constant.

    ``log10_delta`` is kept, as ``delta`` itself can be less than any float.
    """

    method: str
    formula: str
    log10_delta: float

    @property
    def delta(self) -> float:
        """Argument of the modulus; zero where it is too small for a float."""
        return 10.0**self.log10_delta if self.log10_delta > -300 else 0.0


def rates(width: int, depth: int, degree: int, dimension: int) -> list[Rate]:
    """Return the rows of the paper's table for given ``W``, ``L``, ``n`` and ``d``."""
    for name, value, least in (
        ("width", width, 2),
        ("depth", depth, 1),
        ("degree", degree, 1),
        ("dimension", dimension, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    size = 2 * math.log10(width * depth)
    log_width = math.log10(math.log(width))
    return [
        Rate("ReLU_std", "(W^2 L^2)^(-1/d)", -size / dimension),
        Rate("ReLU_opt", "(W^2 L^2 ln W)^(-1/d)", -(size + log_width) / dimension),
        Rate("ReLU_flr", "W^(-sqrt(L))", -math.sqrt(depth) * math.log10(width)),
        Rate("FLES", "2^(-W), depth 3", -width * math.log10(2)),
        Rate("DBN", "n^(-L)", -depth * math.log10(degree)),
    ]


def modulus(
    f: Callable[[np.ndarray], np.ndarray],
    delta: float,
    lower: float = -1.0,
    upper: float = 1.0,
    points: int = 4001,
) -> float:
    """Compute ``omega_f(delta) = max |f(x) - f(y)|`` over ``|x - y| <= delta``, on a grid.

    Distances between grid points are rounded up, so the bound is never too small; finer
    grids come closer.
    """
    x = np.linspace(lower, upper, points)
    y = f(x)
    most = min(math.ceil(delta / (x[1] - x[0]) - 1e-9), points - 1)
    return max(
        (float(np.abs(y[k:] - y[:-k]).max()) for k in range(1, most + 1)), default=0.0
    )
