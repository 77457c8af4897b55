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
    power,
    terms,
)


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    on_cpu: bool = False,
) -> jax.Array:
    """``sum_k c_k b_{n,k}(x)`` at ``x`` clamped to the interval.

    Horner's rule in the ratio of the smaller of ``t`` and ``s`` to the larger, which is
    at most one: a multiply-add and a select per degree, and no intermediate value
    underflows unless the result does.
    """
    degree = coeffs.shape[0] - 1
    z = jnp.clip(x.astype(coeffs.dtype), lower, upper)
    if degree == 0:
        return (coeffs[0] + z * 0).astype(x.dtype)  # z * 0: the shape, and NaN
    a = _scaled(coeffs, on_cpu)
    below, above = z - lower, upper - z
    near_lower = below <= above
    larger = jnp.maximum(below, above)
    ratio = jnp.minimum(below, above) / larger
    total = jnp.where(near_lower, a[degree], a[0])
    for k in range(degree - 1, -1, -1):
        total = total * ratio + jnp.where(near_lower, a[k], a[degree - k])
    return (total * power(larger / (upper - lower), degree)).astype(x.dtype)


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
    if on_cpu:
        sums = moments_cpu.sum_terms(x, dy, lower, upper, degree, shape[1:])
    else:
        values = terms(x, dy, lower, upper, degree, 0, degree + 1)
        axes = tuple(i for i, size in enumerate(shape[1:]) if size != x.shape[i])
        sums = jnp.stack([jnp.sum(v, axis=axes, keepdims=True) for v in values])
    return sums * along_leading(halved_binomials(degree, lower.dtype), len(shape))


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dy: jax.Array,
    *,
    on_cpu: bool,
) -> tuple[jax.Array, jax.Array]:
    """Gradients of ``sum(dy * evaluate(x, coeffs))`` in ``x`` and in ``coeffs``."""
    wide = x.astype(coeffs.dtype)
    inner = derivative(coeffs, lower, upper)
    slope = evaluate(wide, inner, lower, upper, on_cpu=on_cpu)
    dx = slope * dy.astype(slope.dtype)
    # Outside the activation is constant; at an end point the slope from inside holds.
    dx = jnp.where((wide < lower) | (wide > upper), jnp.zeros_like(dx), dx)
    dcoeffs = moments(x, dy, lower, upper, shape=coeffs.shape, on_cpu=on_cpu)
    return dx.astype(x.dtype), dcoeffs
