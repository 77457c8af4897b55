"""The Bernstein operator in plain ``jax.numpy``: what runs on every platform.

This file also defines what a backend is: three functions with these arguments.

Shapes. ``x`` has any shape ``X``. ``coeffs`` is ``[n+1, *C]`` with ``C`` of the rank of
``X``, each axis of ``C`` either that of ``X`` or 1; ``interval`` is ``[2 or 3, *I]`` with ``I``
likewise (:mod:`jaxbern.kernels.algebra`). So one rule covers shared and per-neuron
coefficients and every ``vmap``. ``coeffs`` and ``interval`` come in the dtype of the
arithmetic (float32 or float64), ``x`` and ``dy`` may be narrower.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern.kernels import algebra
from jaxbern.kernels.algebra import LINEAR
from jaxbern.kernels.array_types import Array, Float
from jaxbern.kernels.backend import Backend
from jaxbern.kernels.xla import cpu_sums, products


def evaluate(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    addend: Float[Array, "*batch"] | None = None,
    *,
    outside: str,
    on_cpu: bool = False,
) -> Float[Array, "*batch"]:
    """``sum_k c_k b_{n,k}(x)``, continued beyond the interval, plus ``addend``.

    Horner's rule in the ratio of the smaller of ``t`` and ``s`` to the larger, which is
    at most one: a multiply-add and a select per degree, and no intermediate value
    underflows unless the result does.
    """
    degree = len(coeffs) - 1
    lower, upper = interval[0], interval[1]
    v = algebra.shifted(x, interval)
    z = jnp.clip(v, lower, upper)
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
    value = total * algebra.power(larger / (upper - lower), degree)
    if outside == LINEAR:
        rises = a[degree + 1 :] * (degree / (upper - lower))[None]
        value = value + (v - z) * jnp.where(v < lower, rises[0], rises[1])
    return _plus(addend, value, x.dtype)


def _plus(
    addend: Float[Array, "*batch"] | None,
    value: Float[Array, "*batch"],
    dtype: DTypeLike,
) -> Float[Array, "*batch"]:
    """Rounded once, whether or not something is added."""
    if addend is not None:
        value = addend.astype(value.dtype) + value
    return value.astype(dtype)


def _scaled(
    coeffs: Float[Array, "terms *neurons"], on_cpu: bool
) -> Float[Array, "sums *neurons"]:
    """``C(n,k) c_k`` for every k, then ``c_1 - c_0`` and ``c_n - c_(n-1)``.

    The user keeps coefficients as ``[W, n+1]``. XLA:CPU would fold the transpose into the
    loop over ``x`` and read every coefficient with a stride, which halves its speed. A
    matrix product is never folded into a loop; this one is exact, each row having one
    entry or two that are one.
    """
    degree = len(coeffs) - 1
    weights = algebra.binomials(degree, coeffs.dtype)
    if on_cpu:
        rows = np.zeros((degree + 3, degree + 1), coeffs.dtype)
        rows[range(degree + 1), range(degree + 1)] = weights
        rows[degree + 1, :2] = rows[degree + 2, -2:] = -1, 1
        return jnp.tensordot(rows, coeffs, 1, precision="highest")
    scaled = coeffs * algebra.along_leading(weights, coeffs.ndim)
    ends = jnp.stack([coeffs[1] - coeffs[0], coeffs[-1] - coeffs[-2]])
    return jnp.concatenate([scaled, ends])


def vjp(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    outside: str,
    with_interval: bool = False,
    on_cpu: bool = False,
) -> tuple[Float[Array, "..."], ...]:
    """Gradients of ``sum(dy * evaluate(x, coeffs, interval))`` in ``x`` and in ``coeffs``.

    ``with_interval`` adds that in ``interval``.
    """
    wide, inner = x.astype(coeffs.dtype), algebra.derivative(coeffs, interval)
    slope = evaluate(wide, inner, interval, outside=algebra.CLAMP, on_cpu=on_cpu)
    dx = algebra.where_moving(x, interval, slope * dy.astype(slope.dtype), outside)
    sums = _sums(x, interval, dy, coeffs.shape, outside, with_interval, on_cpu)
    return dx.astype(x.dtype), *algebra.gradients(
        sums, coeffs.shape, interval, outside, coeffs if with_interval else None
    )


def moments(
    x: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    outside: str,
    shape: tuple[int, ...],
    on_cpu: bool = False,
) -> Float[Array, "terms *#batch"]:
    """The gradient in coefficients of ``shape``, which it does not depend on."""
    sums = _sums(x, interval, dy, shape, outside, False, on_cpu)
    return algebra.gradients(sums, shape, interval, outside)[0]


def _sums(x, interval, dy, coeffs_shape, outside, with_interval, on_cpu):
    """The sums that :func:`algebra.gradients` starts from."""
    degree, *shape = coeffs_shape[0] - 1, *coeffs_shape[1:]
    ends = outside if with_interval or outside == LINEAR else None
    if ends:  # Along an axis on which anything varies the sums are kept apart.
        shape = map(max, shape, interval.shape[1:])
    shape = tuple(shape)
    if on_cpu:
        sums = cpu_sums.sum_terms(x, dy, interval, degree, shape, ends=ends)
    else:
        values = products.terms(x, dy, interval, degree, ends=ends)
        sums = jnp.stack([algebra.sum_to(v, shape) for v in values])
    weights = products.weights(degree, bool(ends), interval.dtype)
    return sums * algebra.along_leading(weights, sums.ndim)


def _never(platform: str, dtype, degree: int) -> None:
    del platform, dtype, degree


def _backend(on_cpu: bool) -> Backend:
    return Backend(
        "xla",
        functools.partial(evaluate, on_cpu=on_cpu),
        functools.partial(vjp, on_cpu=on_cpu),
        functools.partial(moments, on_cpu=on_cpu),
        obstacle=_never,
        elementwise=True,
    )


BACKEND = _backend(on_cpu=False)
BACKEND_ON_CPU = _backend(on_cpu=True)
