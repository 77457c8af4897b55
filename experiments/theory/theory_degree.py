"""(a) Check the lemma: a network of depth L, degree n is a polynomial of degree n^L."""

import random
from dataclasses import dataclass
from fractions import Fraction

from experiments.theory.exact_networks import (
    Layer,
    Network,
    chebyshev_network,
    degree_on_line,
    random_network,
)

FEATURES = 2
WIDTH = 2


@dataclass(frozen=True)
class Row:
    """One network along one line."""

    network: str
    depth: int
    degree: int
    bound: int  # n^L
    measured: int | None
    vanishes: bool  # the difference of order n^L + 1, exactly

    @property
    def holds(self) -> bool:
        """Whether the lemma holds, and the degree is reached."""
        return self.vanishes and self.measured == self.bound


def check(pairs: list[tuple[int, int]], seed: int = 0) -> list[Row]:
    """Check random and Chebyshev networks for every ``(depth, degree)``, and one clamped."""
    rng = random.Random(seed)
    rows = []
    for depth, degree in pairs:
        network = random_network(rng, FEATURES, depth, WIDTH, degree)
        start, end = ([_coordinate(rng) for _ in range(FEATURES)] for _ in range(2))
        rows.append(_row(f"random {depth}x{WIDTH}", network, depth, degree, start, end))
        network = chebyshev_network(depth, degree)
        line = [Fraction(-1)], [Fraction(1)]
        rows.append(_row("Chebyshev", network, depth, degree, *line))
    return rows


def outside(depth: int, degree: int, seed: int = 0) -> Row:
    """Check a network whose inputs leave a short first interval, against the assumption."""
    rng = random.Random(seed)
    first, *rest = random_network(rng, 1, depth, WIDTH, degree).layers
    short = Fraction(1, 8)
    first = Layer(first.weights, first.biases, first.coeffs, -short, short)
    network = Network([first, *rest])
    line = [Fraction(-1)], [Fraction(1)]
    return _row("inputs outside", network, depth, degree, *line)


def _row(name, network, depth, degree, start, end) -> Row:
    bound = degree**depth
    measured, vanishes = degree_on_line(network, start, end, bound)
    return Row(name, depth, degree, bound, measured, vanishes)


def _coordinate(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(-16, 16), 16)
