"""Compare a few values and derivatives of the operator with exact rational arithmetic.

Every float is a rational number, so the textbook sum can be computed exactly. The
tolerance is a bound on rounding errors: a few ``eps`` per degree, times the sum of the
absolute values of all terms.
"""

import functools
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

import jaxbern as jb

DEGREE, NEURONS = 5, 3
# Inside, at and beyond both ends.
POINTS = (-4.0, -3.0, -2.75, -1.1, 0.0, 0.3, 1.7, 2.9, 3.0, 5.0)
# Exact sums of DEGREE + 1 terms with a few roundings each.
TOLERANCE = 8 * (DEGREE + 2) * float(np.finfo(np.float32).eps)


def problems(implementation: str | None) -> list[str]:
    """Describe each wrong result of an implementation; an empty list if all are right."""
    x, coeffs = _inputs()
    found = _program(implementation)(x, coeffs)
    y, dx, dc, ddx = (np.asarray(a, np.float64) for a in found)
    exact = [[Fraction(float(c)) for c in row] for row in coeffs]
    first = [_derivative(row) for row in exact]
    second = [_derivative(row) for row in first]
    wrong = [
        _compare("values", y, _sums(exact, x, inside_only=False)),
        _compare("derivatives in x", dx, _sums(first, x, inside_only=True)),
        _compare("second derivatives", ddx, _sums(second, x, inside_only=True)),
        _compare("gradients of the coefficients", dc, _moments(x)),
    ]
    return [text for text in wrong if text]


def _inputs() -> tuple[np.ndarray, np.ndarray]:
    x = np.tile(np.asarray(POINTS, np.float32)[:, None], (1, NEURONS))
    steps = np.arange(NEURONS * (DEGREE + 1), dtype=np.float32)
    return x, np.sin(1 + steps).reshape(NEURONS, -1)


def _program(implementation: str | None):
    """Return a program for values, gradients of their sum, and second derivatives."""
    f = functools.partial(jb.bernstein, implementation=implementation)

    def slope(x, coeffs):
        return jax.grad(lambda x: jnp.sum(f(x, coeffs)))(x)

    @jax.jit
    def run(x, coeffs):
        y, pull = jax.vjp(f, x, coeffs)
        dx, dc = pull(jnp.ones_like(y))
        ddx = jax.jvp(lambda x: slope(x, coeffs), (x,), (jnp.ones_like(x),))[1]
        return y, dx, dc, ddx

    return run


def _derivative(coeffs: list[Fraction]) -> list[Fraction]:
    scale = Fraction(len(coeffs) - 1, 6)
    return [scale * (b - a) for a, b in itertools.pairwise(coeffs)]


def _basis(x: float, degree: int) -> list[Fraction]:
    t = (min(max(Fraction(float(x)), Fraction(-3)), Fraction(3)) + 3) / 6
    return [
        math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)
    ]


def _sums(coeffs, x, *, inside_only):
    """Return ``sum_k c_k b_k(x)`` and ``sum_k |c_k b_k(x)|``; zero outside if asked for."""
    want, limit = np.zeros(x.shape), np.zeros(x.shape)
    for i, w in np.ndindex(*x.shape):
        if inside_only and not -3 <= x[i, w] <= 3:
            continue
        terms = zip(coeffs[w], _basis(x[i, w], len(coeffs[w]) - 1), strict=True)
        products = [c * b for c, b in terms]
        want[i, w], limit[i, w] = sum(products), sum(map(abs, products))
    return want, limit


def _moments(x):
    """Return ``sum_x b_k(x)`` for each neuron, and the scale of its rounding error."""
    sums = [
        [
            sum(column)
            for column in zip(*(_basis(v, DEGREE) for v in of_neuron), strict=True)
        ]
        for of_neuron in x.T
    ]
    want = np.array(sums, dtype=np.float64)
    return want, want * (1 + len(x) / (8 * (DEGREE + 2)))


def _compare(what: str, got: np.ndarray, exact) -> str:
    want, limit = exact
    excess = np.abs(got - want) / (TOLERANCE * limit + 1e-30)
    if (excess <= 1).all():  # False for NaN
        return ""
    worst = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), got.shape)
    return f"{what}: {got[worst]:.9g} instead of {want[worst]:.9g}"
