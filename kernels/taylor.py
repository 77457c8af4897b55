"""Taylor mode: the rule of :mod:`jax.experimental.jet` for the operator.

Arguments are truncated series, ``x(e) = x_0 + x_1 e + ... + x_K e^K``. About ``x_0`` the
activation is ``sum_j F_j d^j`` with ``F_j = B^(j)(x_0) / j!`` and the move ``d = x(e) - x_0``
relative to the interval; it is linear in the coefficients, so each of their terms is
composed by itself.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jet

from jaxbern.kernels import primitives
from jaxbern.kernels.algebra import CLAMP, derivative, shifted, where_moving

Series = list[jax.Array]


def _rule(primals, series, *, outside: str, implementation: str):
    x, coeffs, interval, *addend = primals
    dx, dcoeffs, dinterval, *daddend = series
    order = len(dx)
    evaluate = functools.partial(primitives.evaluate, implementation=implementation)
    wide = x.astype(coeffs.dtype)
    move = _relative(wide, interval, [d.astype(wide.dtype) for d in dx], dinterval)
    total = [jnp.zeros_like(wide)] * (order + 1)
    for m, c in enumerate((coeffs, *dcoeffs)):
        if m and _is_zero(c):
            continue
        factors = _taylor(evaluate, wide, c, interval, outside, order - m)
        total = _add(total, _compose(factors, move), shift=m)
    for start, terms in zip(addend, daddend, strict=True):
        total = _add(total, [part.astype(wide.dtype) for part in (start, *terms)])
    y, *terms = (part.astype(x.dtype) for part in total)
    return y, terms


def _taylor(
    evaluate: Callable, x, coeffs, interval, outside: str, order: int
) -> Series:
    """``F_j`` for ``j <= order``. Beyond the ends a tangent has no second derivative."""
    factors = [evaluate(x, coeffs, interval, outside=outside)]
    for j in range(1, order + 1):
        coeffs = derivative(coeffs, interval) / j
        slope = evaluate(x, coeffs, interval, outside=CLAMP)
        factors.append(where_moving(x, interval, slope, outside if j == 1 else CLAMP))
    return factors


def _relative(x, interval, dx: Series, dinterval: Series) -> Series:
    """Terms of ``d``: of ``x``, less what the interval's own move takes with it.

    ``t(e) (u - l)(e) = (x - l)(e)``; dividing the series gives ``t(e)``, and in the interval
    at ``e = 0`` that is a move by ``(u - l) (t - t_0)``.
    """
    if all(map(_is_zero, dinterval)):
        return [jnp.zeros_like(x), *dx]
    width = [end[1] - end[0] for end in (interval, *dinterval)]
    t = [(shifted(x, interval) - interval[0]) / width[0]]
    move = [jnp.zeros_like(x)]
    for k, (d, ends) in enumerate(zip(dx, dinterval, strict=True), start=1):
        distance = shifted(d, ends) - ends[0]
        taken = sum(width[j] * t[k - j] for j in range(1, k + 1))
        move.append(distance - taken)
        t.append(move[-1] / width[0])
    return move


def _compose(factors: Series, move: Series) -> Series:
    """``sum_j F_j d^j`` as a series, by Horner's rule; as many terms as factors."""
    count = len(factors)
    total = [factors[-1]]
    for factor in reversed(factors[:-1]):
        product = _times(total, move, min(count, len(total) + 1))
        total = [product[0] + factor, *product[1:]]
    return total


def _times(a: Series, b: Series, count: int) -> Series:
    """The first ``count`` terms of a product; ``b`` has no constant term."""
    terms = [jnp.zeros_like(a[0])]
    for m in range(1, count):
        products = (a[i] * b[m - i] for i in range(min(m, len(a))))
        terms.append(functools.reduce(jnp.add, products))
    return terms


def _add(a: Series, b: Sequence[jax.Array], shift: int = 0) -> Series:
    moved = [*[None] * shift, *b]
    moved += [None] * (len(a) - len(moved))
    return [p if q is None else p + q for p, q in zip(a, moved, strict=True)]


def _is_zero(value: jax.Array) -> bool:
    """Known to be zero: ``jet`` makes arrays of what does not move."""
    return not isinstance(value, jax.core.Tracer) and not np.any(value)


jet.jet_rules[primitives.evaluate_p] = _rule
