"""Deep Bernstein networks in exact rational arithmetic.

Nothing here shares code with the library: values come from de Casteljau's scheme on
``fractions.Fraction``, where a result that should be zero is zero.
"""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Vector = Sequence[Fraction]


@dataclass(frozen=True)
class Layer:
    """``sigma_j(w_j . x + b_j)`` for neurons ``j``, all on one interval."""

    weights: Sequence[Vector]
    biases: Vector
    coeffs: Sequence[Vector]
    lower: Fraction
    upper: Fraction

    def __call__(self, x: Vector) -> list[Fraction]:
        """Return the outputs of all neurons; inputs are clamped as in the library."""
        z = [
            sum((w * v for w, v in zip(row, x, strict=True)), bias)
            for row, bias in zip(self.weights, self.biases, strict=True)
        ]
        return [
            bernstein(value, c, self.lower, self.upper)
            for value, c in zip(z, self.coeffs, strict=True)
        ]


@dataclass(frozen=True)
class Network:
    """Hidden layers, and the sum of the last one's outputs."""

    layers: Sequence[Layer]

    def __call__(self, x: Vector) -> Fraction:
        """Evaluate at one point."""
        for layer in self.layers:
            x = layer(x)
        return sum(x, Fraction(0))


def bernstein(
    x: Fraction, coeffs: Vector, lower: Fraction, upper: Fraction
) -> Fraction:
    """Evaluate ``sum_k c_k b_{n,k}(x)`` by de Casteljau, ``x`` clamped to the interval."""
    t = (min(max(x, lower), upper) - lower) / (upper - lower)
    row = list(coeffs)
    while len(row) > 1:
        row = [a + t * (b - a) for a, b in itertools.pairwise(row)]
    return row[0]


def random_network(
    rng: random.Random, features: int, depth: int, width: int, degree: int
) -> Network:
    """Draw a network whose neurons stay in their interval for inputs in ``[-1, 1]``.

    Coefficients are in ``[-1, 1]``, and so are the outputs, as a Bernstein polynomial stays
    between its smallest and largest coefficient. The weights and the bias of a neuron
    are scaled to an absolute sum of at most 1, so that ``[-1, 1]`` holds every input.
    """
    layers, inputs = [], features
    for _ in range(depth):
        rows = [
            _scaled([_number(rng) for _ in range(inputs + 1)]) for _ in range(width)
        ]
        coeffs = [[_number(rng) for _ in range(degree + 1)] for _ in range(width)]
        layers.append(
            Layer(
                [row[:-1] for row in rows],
                [row[-1] for row in rows],
                coeffs,
                Fraction(-1),
                Fraction(1),
            )
        )
        inputs = width
    return Network(layers)


def chebyshev_network(depth: int, degree: int) -> Network:
    """Return a network with one neuron per layer, each the Chebyshev polynomial ``T_n``.

    ``T_n(T_m(x)) = T_{nm}(x)``, so the network is ``T_{n^L}`` on ``[-1, 1]``: the highest
    possible degree, with ``depth * (degree + 1)`` coefficients.
    """
    one = Fraction(1)
    coeffs = chebyshev_coefficients(degree)
    layer = Layer([[one]], [Fraction(0)], [coeffs], -one, one)
    return Network([layer] * depth)


def chebyshev_coefficients(degree: int) -> list[Fraction]:
    """Return Bernstein coefficients of ``T_n``: ``(-1)^(n-k) C(2n, 2k) / C(n, k)``."""
    return [
        Fraction(
            (-1) ** (degree - k) * math.comb(2 * degree, 2 * k), math.comb(degree, k)
        )
        for k in range(degree + 1)
    ]


def differences(values: Sequence[Fraction]) -> list[Fraction]:
    """Return the forward differences at the first point, of orders 0, 1, 2, ..."""
    found, row = [], list(values)
    while row:
        found.append(row[0])
        row = [b - a for a, b in itertools.pairwise(row)]
    return found


def degree_on_line(
    network: Network, start: Vector, end: Vector, most: int
) -> tuple[int | None, bool]:
    """Determine the degree of the network along a line, from equally spaced values.

    The total degree of a polynomial is its degree along almost every line. Differences of
    the order ``most + 1`` vanish for a polynomial of degree at most ``most``, and the last
    that does not vanish is its degree.

    Returns:
      The degree, None for the zero polynomial; and whether the difference of order
      ``most + 1`` is exactly zero.
    """
    values = []
    for k in range(most + 2):
        t = Fraction(k, most + 1)
        x = [a + t * (b - a) for a, b in zip(start, end, strict=True)]
        values.append(network(x))
    found = differences(values)
    orders = [order for order, value in enumerate(found) if value != 0]
    return (orders[-1] if orders else None), found[most + 1] == 0


def _number(rng: random.Random) -> Fraction:
    """Draw a nonzero multiple of 1/8 in ``[-1, 1]``."""
    return Fraction(rng.choice([k for k in range(-8, 9) if k]), 8)


def _scaled(numbers: list[Fraction]) -> list[Fraction]:
    total = sum(map(abs, numbers))
    return [number / total for number in numbers] if total > 1 else numbers
