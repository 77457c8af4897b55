"""The Bernstein operator in plain ``jax.numpy``: what runs on every platform.

Shapes. ``x`` has any shape ``X``. ``coeffs`` is ``[n+1, *C]`` with ``C`` of the rank of
``X``, each axis of ``C`` either that of ``X`` or 1; ``lower`` and ``upper`` likewise without
the leading axis. So one rule covers shared and per-neuron coefficients and every
``vmap``. ``coeffs``, ``lower`` and ``upper`` come in the dtype of the arithmetic (float32
or float64), ``x`` and ``dy`` may be narrower.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels import moments_cpu
from jaxbern.kernels.algebra import (
    along_leading,
    binomials,
    derivative,
    halved_binomials,
    interval_cotangent,
    outside,
    power,
    sum_to,
    terms,
)


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    addend: jax.Array | None = None,
    on_cpu: bool = False,
) -> jax.Array:
    """``sum_k c_k b_{n,k}(x)`` at ``x`` clamped to the interval, plus ``addend``.

    Horner's rule in the ratio of the smaller of ``t`` and ``s`` to the larger, which is
    at most one: a multiply-add and a select per degree, and no intermediate value
    underflows unless the result does.
    """
    degree = coeffs.shape[0] - 1
    z = jnp.clip(x.astype(coeffs.dtype), lower, upper)
    if degree == 0:
        return _plus(addend, coeffs[0] + z * 0, x.dtype)  # z * 0: the shape, and NaN
    a = _scaled(coeffs, on_cpu)
    below, above = z - lower, upper - z
    near_lower = below <= above
    larger = jnp.maximum(below, above)
    ratio = jnp.minimum(below, above) / larger
    total = jnp.where(near_lower, a[degree], a[0])
    for k in range(degree - 1, -1, -1):
        total = total * ratio + jnp.where(near_lower, a[k], a[degree - k])
    return _plus(addend, total * power(larger / (upper - lower), degree), x.dtype)


def _plus(addend: jax.Array | None, value: jax.Array, dtype) -> jax.Array:
    """Rounded once, whether or not something is added."""
    if addend is not None:
        value = addend.astype(value.dtype) + value
    return value.astype(dtype)


def _scaled(coeffs: jax.Array, on_cpu: bool) -> jax.Array:
    """``C(n,k) c_k``.

    The user keeps coefficients as ``[W, n+1]``. XLA:CPU would fold the transpose into the
    loop over ``x`` and read every coefficient with a stride, which halves its speed. A
    matrix product is never folded into a loop; this one is exact, each row having one
    entry.
    """
    weights = binomials(coeffs.shape[0] - 1, coeffs.dtype)
    if on_cpu:
        return jnp.tensordot(np.diag(weights), coeffs, 1, precision="highest")
    return coeffs * along_leading(weights, coeffs.ndim)


def moments(
    x: jax.Array,
    dy: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    shape: tuple[int, ...],
    on_cpu: bool,
) -> jax.Array:
    """``sum dy * b_{n,k}(x)`` to the coefficients' ``shape``, over what they broadcast."""
    degree = shape[0] - 1
    return _sums(x, dy, lower, upper, degree, shape[1:], on_cpu, with_outside=False)


def _sums(x, dy, lower, upper, degree, shape, on_cpu, with_outside):
    """The moments, and behind them the sums of ``dy`` below and above the interval."""
    weights = halved_binomials(degree, lower.dtype)
    if with_outside:
        weights = np.concatenate([weights, np.ones(2, weights.dtype)])
    if on_cpu:
        sums = moments_cpu.sum_terms(
            x, dy, lower, upper, degree, shape, with_outside=with_outside
        )
    else:
        values = terms(x, dy, lower, upper, degree, 0, degree + 1)
        if with_outside:
            values += outside(x, dy, lower, upper)
        sums = jnp.stack([sum_to(v, shape) for v in values])
    return sums * along_leading(weights, sums.ndim)


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dy: jax.Array,
    *,
    interval: bool = False,
    on_cpu: bool,
) -> tuple[jax.Array, ...]:
    """Gradients of ``sum(dy * evaluate(x, coeffs))`` in ``x`` and in ``coeffs``.

    With ``interval`` also in ``lower`` and in ``upper``.
    """
    wide = x.astype(coeffs.dtype)
    inner = derivative(coeffs, lower, upper)
    slope = evaluate(wide, inner, lower, upper, on_cpu=on_cpu)
    dx = slope * dy.astype(slope.dtype)
    # Outside the activation is constant; at an end point the slope from inside holds.
    dx = jnp.where((wide < lower) | (wide > upper), jnp.zeros_like(dx), dx)
    dx = dx.astype(x.dtype)
    if not interval:
        return dx, moments(x, dy, lower, upper, shape=coeffs.shape, on_cpu=on_cpu)
    # Along an axis on which anything varies the sums are kept apart.
    shapes = coeffs.shape[1:], lower.shape, upper.shape
    joint = tuple(map(max, *shapes))
    degree = coeffs.shape[0] - 1
    sums = _sums(x, dy, lower, upper, degree, joint, on_cpu, with_outside=True)
    *each, below, above = sums
    each = jnp.stack(each)
    bounds = interval_cotangent(coeffs, each, below, above, lower, upper)
    return dx, sum_to(each, coeffs.shape), *bounds
