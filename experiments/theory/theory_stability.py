"""(c) Check the proposition: bounds on the slope of Bernstein activations.

The paper's bound is ``|sigma'| <= 2 n max|c_k|``. Its proof assumes an interval of length
one: in general the slope is ``n / (u - l)`` times a mean of coefficient differences, so

    |sigma'| <= n max|c_{k+1} - c_k| / (u - l) <= 2 n max|c_k| / (u - l).

On [-3, 3] both are below the paper's; on an interval shorter than one the paper's, as it
is printed, does not hold. The second part must be about coefficients: ``|d sigma / d c_k|``
is a basis polynomial, between 0 and 1.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbern as jb
from experiments.theory.exact_networks import bernstein
from experiments.theory.theory_fitting import LOWER, UPPER

POINTS = 2001


@dataclass(frozen=True)
class Row:
    """One neuron."""

    network: str
    layer: int
    neuron: int
    degree: int
    measured: float  # max |sigma'| over the interval
    sharp: float  # n max|c_{k+1} - c_k| / (u - l)
    scaled: float  # 2 n max|c_k| / (u - l)
    paper: float  # 2 n max|c_k|
    in_coefficients: float  # max |d sigma / d c_k|

    @property
    def holds(self) -> bool:
        """Whether all bounds hold, with a tolerance for rounding."""
        hair = 1 + 1e-9
        steepest = self.measured
        return (
            steepest <= self.sharp * hair
            and self.sharp <= self.scaled * hair
            and steepest <= self.paper * hair
            and self.in_coefficients <= hair
        )


def check(name: str, layers: list[Any]) -> list[Row]:
    """Check every neuron of a fitted DBN, with derivatives from the library."""
    return [
        _neuron(name, k, j, coeffs)
        for k, layer in enumerate(layers)
        if "coeffs" in layer
        for j, coeffs in enumerate(layer["coeffs"])
    ]


def _neuron(name: str, layer: int, neuron: int, coeffs: np.ndarray) -> Row:
    degree, length = len(coeffs) - 1, UPPER - LOWER
    with jax.enable_x64(True):
        slopes, weights = map(np.asarray, _slopes(jnp.asarray(coeffs)))
    largest = float(np.abs(coeffs).max())
    return Row(
        network=name,
        layer=layer,
        neuron=neuron,
        degree=degree,
        measured=float(np.abs(slopes).max()),
        sharp=degree * float(np.abs(np.diff(coeffs)).max()) / length,
        scaled=2 * degree * largest / length,
        paper=2 * degree * largest,
        in_coefficients=float(np.abs(weights).max()),
    )


@jax.jit
def _slopes(coeffs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return derivatives in ``x`` and in the coefficients, over the whole interval."""

    def sigma(x, coeffs):
        return jb.bernstein(x, coeffs, lower=LOWER, upper=UPPER)

    x = jnp.linspace(LOWER, UPPER, POINTS)
    in_x = jax.vmap(jax.grad(sigma), (0, None))(x, coeffs)
    in_coeffs = jax.vmap(jax.grad(sigma, argnums=1), (0, None))(x, coeffs)
    return in_x, in_coeffs


def counterexample() -> tuple[Fraction, Fraction]:
    """Return an exact slope and the printed bound it violates, on [0, 1/4] for n = 1.

    ``sigma`` goes from -1 to 1: its slope is 8, while ``2 n max|c_k|`` is 2.
    """
    lower, upper = Fraction(0), Fraction(1, 4)
    coeffs = [Fraction(-1), Fraction(1)]
    rise = bernstein(upper, coeffs, lower, upper) - bernstein(
        lower, coeffs, lower, upper
    )
    return rise / (upper - lower), Fraction(2 * max(map(abs, coeffs)))
