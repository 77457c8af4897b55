"""(b) Check the rate: errors of fitted networks and the bounds."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

from experiments.theory import theory_fitting
from experiments.theory.rate_bounds import modulus
from experiments.theory.theory_fitting import TARGETS

SMALLEST = 1e-6  # smaller errors are below the solver's tolerance


def best_error(f: Callable[[np.ndarray], np.ndarray], degree: int) -> float:
    """Compute ``min_p max_x |p(x) - f(x)|`` on [-1, 1] over polynomials of the degree.

    Uses Chebyshev points and some around 0; returns ``SMALLEST`` if the error is smaller.
    """
    nodes = np.cos(np.pi * np.arange(8 * degree + 401) / (8 * degree + 400))
    x = np.unique(np.concatenate([nodes, np.linspace(-1, 1, 301) ** 3]))
    basis = chebyshev.chebvander(x, degree)
    y, one = f(x), np.ones((len(x), 1))
    # Minimise e under -e <= p(x) - f(x) <= e.
    above = np.block([[basis, -one], [-basis, -one]])
    cost = np.zeros(degree + 2)
    cost[-1] = 1
    found = linprog(cost, A_ub=above, b_ub=np.concatenate([y, -y]), bounds=(None, None))
    if not found.success:
        raise RuntimeError(f"no best polynomial of degree {degree}: {found.message}")
    return max(float(found.fun), SMALLEST)


@dataclass(frozen=True)
class Effort:
    """The amount of fitting."""

    width: int = 4
    depths: tuple[int, ...] = (1, 2, 3)
    degrees: tuple[int, ...] = (2, 3, 5)
    seeds: int = 10
    iterations: int = 200


QUICK = Effort(width=2, depths=(1, 2), degrees=(2,), seeds=2, iterations=20)


@dataclass(frozen=True)
class Row:
    """One network on one target.

    ``bound`` is the modulus of continuity at ``n^-L`` or ``(W L)^-2``, with constant one.
    ``polynomial`` is the error of the best polynomial of degree ``n^L``, which the theorem
    assumes to be reached.
    """

    target: str
    network: str
    depth: int
    degree: int | None
    parameters: int
    best: float
    median: float
    outside: float  # fraction of inputs outside, in the best network
    bound: float
    polynomial: float | None


@dataclass(frozen=True, eq=False)
class Trained:
    """The best network of one kind on one target."""

    row: Row
    layers: list[Any]


def measure(effort: Effort, done: Callable[[str], None] = lambda what: None):
    """Fit every network to both targets.

    One program runs at a time: two programs with batched linear systems can deadlock in
    XLA's thread pool.
    """
    kinds = [
        (depth, degree) for depth in effort.depths for degree in (None, *effort.degrees)
    ]
    fitted: dict[tuple[int, int | None], theory_fitting.Fitted] = {}
    for depth, degree in kinds:
        fitted[depth, degree] = theory_fitting.fit(
            depth,
            effort.width,
            degree,
            seeds=effort.seeds,
            iterations=effort.iterations,
            shallower=fitted.get((depth - 1, degree)),
        )
        done(f"{network_name(degree)}, L={depth}")
    return [
        _trained(effort, kind, fitted[kind], k)
        for k in range(len(TARGETS))
        for kind in kinds
    ]


def _trained(effort: Effort, kind, fitted: theory_fitting.Fitted, k: int) -> Trained:
    (depth, degree), target = kind, TARGETS[k]
    best = int(np.argmin(fitted.error[k]))
    polynomial = None
    if degree is None:
        delta = (effort.width * depth) ** -2.0
    else:
        delta = float(degree) ** -depth
        polynomial = best_error(target.f, degree**depth)
    row = Row(
        target=target.name,
        network="ReLU" if degree is None else "DBN",
        depth=depth,
        degree=degree,
        parameters=theory_fitting.parameter_count(depth, effort.width, degree),
        best=float(fitted.error[k, best]),
        median=float(np.median(fitted.error[k])),
        outside=float(fitted.outside[k, best]),
        bound=modulus(target.f, delta),
        polynomial=polynomial,
    )
    layers = jax.tree.map(lambda a: a[k, best], fitted.parameters)
    return Trained(row, layers)


def network_name(degree: int | None) -> str:
    """Return the name of a network for tables and texts."""
    return "ReLU" if degree is None else f"DBN n={degree}"


def limited(row: Row) -> str:
    """Say what limits the error of a DBN, judged by its numbers."""
    if row.polynomial is None:
        return ""
    if row.best > 1.05 * row.polynomial:
        return "optimisation, or too few parameters"
    if row.best < 0.95 * row.polynomial:
        return "below any polynomial of degree n^L: it uses the clamped ends"
    return "as good as the best polynomial of degree n^L"


def as_record(row: Row) -> dict[str, Any]:
    """Convert to a record for a file."""
    return {**dataclasses.asdict(row), "limited": limited(row)}
