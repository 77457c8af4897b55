"""The best polynomial of a degree in the maximum norm, by linear programming."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

SMALLEST = 1e-6  # errors below are beyond the solver's tolerance


def best_error(f: Callable[[np.ndarray], np.ndarray], degree: int) -> float:
    """``min_p max_x |p(x) - f(x)|`` on [-1, 1] over polynomials of the degree.

    On Chebyshev points and some around 0; ``SMALLEST`` if it is less than that.
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
