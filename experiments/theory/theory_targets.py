"""The two functions on [-1, 1] that networks approximate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Target:
    """A function and what it is."""

    name: str
    formula: str
    f: Callable[[np.ndarray], np.ndarray]


TARGETS = (
    # Analytic, with poles at +-i/4: polynomials converge, but not at once.
    Target("smooth", "1 / (1 + 16 x^2)", lambda x: 1 / (1 + 16 * np.square(x))),
    # Infinite slope at 0: omega(delta) = sqrt(delta), no derivative helps.
    Target("continuous", "sqrt(|x|)", lambda x: np.sqrt(np.abs(x))),
)


def grid(points: int) -> np.ndarray:
    """About so many points, a third of them crowded around 0, where the root bends."""
    third = points // 3 | 1  # odd: 0 is one of them
    crowded = np.linspace(-1, 1, third) ** 3
    return np.unique(np.concatenate([np.linspace(-1, 1, points - third), crowded]))
