"""The Bernstein operator in Triton kernels, called through jax-triton.

``import jaxbern`` does not import Triton: what needs it is imported when it is called.
The kernels are in :mod:`jaxbern.kernels.triton_kernels`; this file prepares their calls.
Without a GPU they can be interpreted or compiled: :mod:`jaxbern.kernels.triton_offline`.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels import config, xla
from jaxbern.kernels.algebra import along_leading, binomials
from jaxbern.kernels.factored import factor
from jaxbern.kernels.layout import plan
from jaxbern.kernels.triton_call import Call

FORWARD = "jaxbern_bernstein"
GRADIENT = "jaxbern_bernstein_vjp"
MOMENTS = "jaxbern_bernstein_moments"

# Beyond, the coefficients of a column and its sums no longer fit into registers.
MAX_DEGREE = 64


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel in Triton's interpreter, on the CPU.
    """
    if coeffs.shape[0] == 1 or x.size == 0:
        return xla.evaluate(x, coeffs, lower, upper)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    args = {
        "x": layout.pack(x),
        "coeffs": layout.pack_coeffs(coeffs, broadcast=False),
        "lower": layout.pack_bound(lower, broadcast=False),
        "upper": layout.pack_bound(upper, broadcast=False),
    }
    call = prepare(FORWARD, coeffs.shape[0] - 1, args, launch)
    [y] = call.run(args.values(), interpret)
    return layout.unpack(y)


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dy: jax.Array,
    *,
    on_cpu: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> tuple[jax.Array, jax.Array]:
    """As :func:`jaxbern.kernels.xla.vjp`, in one pass over ``x`` and ``dy``."""
    if coeffs.shape[0] == 1 or x.size == 0:
        return xla.vjp(x, coeffs, lower, upper, dy, on_cpu=on_cpu)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    args = {
        "x": layout.pack(x),
        "coeffs": layout.pack_coeffs(coeffs, broadcast=False),
        "lower": layout.pack_bound(lower, broadcast=False),
        "upper": layout.pack_bound(upper, broadcast=False),
        "dy": layout.pack(dy),
    }
    degree = coeffs.shape[0] - 1
    call = prepare(GRADIENT, degree, args, launch)
    dx, sums = call.run(args.values(), on_cpu or interpret)
    dcoeffs = _total(sums, degree, layout.sizes)
    return layout.unpack(dx), layout.unpack_coeffs(dcoeffs, coeffs.shape)


def moments(
    x: jax.Array,
    dy: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    shape: tuple[int, ...],
    on_cpu: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.moments`: :func:`vjp` without ``dx``."""
    if shape[0] == 1 or x.size == 0:
        return xla.moments(x, dy, lower, upper, shape=shape, on_cpu=on_cpu)
    layout = plan(x.shape, shape, lower.shape, upper.shape)
    args = {
        "x": layout.pack(x),
        "lower": layout.pack_bound(lower, broadcast=False),
        "upper": layout.pack_bound(upper, broadcast=False),
        "dy": layout.pack(dy),
    }
    degree = shape[0] - 1
    call = prepare(MOMENTS, degree, args, launch)
    [sums] = call.run(args.values(), on_cpu or interpret)
    return layout.unpack_coeffs(_total(sums, degree, layout.sizes), shape)


def scale(kernel: str, degree: int) -> float:
    """What ``t`` and ``s`` are multiplied by, so that no power is lost that counts.

    ``t^j`` alone may fall below the smallest float where ``C(n,k) t^k s^(n-k)`` does not,
    and what is lost is multiplied by the binomial, in the slope by n as well. Scaled
    like this it stays about the smallest normal float. In the other direction nothing
    overflows up to coefficients of 2^36 and gradients of 2^40.
    """
    if degree <= 15:
        return 1.0
    return 2.0 if kernel == FORWARD or degree <= 48 else 2.5


def _total(sums: jax.Array, degree: int, sizes: tuple[int, int, int]) -> jax.Array:
    """Add up what the programs wrote, and weigh it, to ``[n+1, S, W]``."""
    groups, _, width = sizes
    weights = binomials(degree, np.float64) * scale(GRADIENT, degree) ** -degree
    total = jnp.sum(sums.reshape(degree + 1, groups, -1, width), axis=2)
    return total * along_leading(weights.astype(sums.dtype), total.ndim)


def prepare(
    kernel: str,
    degree: int,
    args: dict[str, jax.Array | jax.ShapeDtypeStruct],
    launch: config.Launch | None = None,
) -> Call:
    """How ``kernel`` is called for packed ``args``, by name and in its own order."""
    x, lower, upper = args["x"], args["lower"], args["upper"]
    coeffs = args.get("coeffs")
    _require(degree, x.dtype, lower.dtype)
    groups, rows, width = x.shape
    choose = config.forward if kernel == FORWARD else config.gradient
    launch = launch or choose(x.shape, degree)
    blocks = -(-rows // launch.rows_per_program)
    factors, stretch = factor(degree), scale(kernel, degree)
    constants: dict[str, Any] = {
        "DEGREE": degree,
        "INNER": factors.inner,
        "OUTER": factors.outer,
        "SCALE": stretch,
        "WIDTH": width,
        "LOWER_STRIDES": _strides(lower.shape),
        "UPPER_STRIDES": _strides(upper.shape),
        "ROWS": launch.rows,
        "COLS": launch.columns,
        "UNROLL": launch.unroll,
        "RAGGED": rows % launch.rows_per_program != 0,
    }
    if coeffs is not None:
        along_k = math.prod(coeffs.shape[1:])
        constants["COEFF_STRIDES"] = (along_k, *_strides(coeffs.shape[1:]))
        constants["UNSCALE"] = stretch**-degree
    y = jax.ShapeDtypeStruct(x.shape, x.dtype)
    sums = jax.ShapeDtypeStruct((degree + 1, groups * blocks, width), jnp.float32)
    if kernel == FORWARD:
        constants["WEIGHTS"] = _floats(binomials(degree, np.float64))
    elif kernel == GRADIENT:
        steps = binomials(degree - 1, np.float64) * (degree / stretch)
        constants["WEIGHTS"] = _floats(steps)
    return Call(
        kernel,
        tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args.values()),
        (rows, launch.rows_per_program),
        {FORWARD: (y,), GRADIENT: (y, sums), MOMENTS: (sums,)}[kernel],
        tuple(constants.items()),
        groups * blocks * -(-width // launch.columns),
        launch.warps,
    )


def _floats(weights: np.ndarray) -> tuple[float, ...]:
    return tuple(weights.astype(np.float32).tolist())


def _strides(shape: tuple[int, ...]) -> tuple[int, int]:
    """Strides of ``[S or 1, W or 1]``: zero along what is shared."""
    groups, width = shape
    return width if groups > 1 else 0, 1 if width > 1 else 0


def _require(degree: int, dtype, arithmetic) -> None:
    if degree > MAX_DEGREE:
        raise NotImplementedError(
            f"the Triton kernels take degrees up to {MAX_DEGREE}, got {degree}: write "
            "implementation='xla'"
        )
    if arithmetic != jnp.float32:
        raise NotImplementedError(
            f"the Triton kernels compute in float32, got arithmetic in {arithmetic}: "
            "write implementation='xla' for float64"
        )
    if dtype not in (jnp.float32, jnp.bfloat16, jnp.float16):
        raise NotImplementedError(
            f"the Triton kernels take float32, bfloat16 or float16, got {dtype}: write "
            "implementation='xla'"
        )
