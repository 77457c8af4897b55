"""The Bernstein operator in Triton kernels, called through jax-triton.

``import jaxbern`` does not import Triton: what needs it is imported when it is called.
The kernels are in :mod:`jaxbern.kernels.triton_kernels`; this file prepares their calls.
Without a GPU they can be interpreted or compiled: :mod:`jaxbern.kernels.triton_offline`.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels import config, xla
from jaxbern.kernels.algebra import along_leading, binomials
from jaxbern.kernels.factored import factor
from jaxbern.kernels.layout import Layout, plan
from jaxbern.kernels.triton_call import Call

FORWARD = "jaxbern_bernstein"
SKIP = "jaxbern_bernstein_skip"
GRADIENT = "jaxbern_bernstein_vjp"
INTERVAL = "jaxbern_bernstein_vjp_interval"
MOMENTS = "jaxbern_bernstein_moments"

# Beyond, the coefficients of a column and its sums no longer fit into registers.
MAX_DEGREE = 64


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    *,
    addend: jax.Array | None = None,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel in Triton's interpreter, on the CPU.
    """
    if coeffs.shape[0] == 1 or x.size == 0:
        return xla.evaluate(x, coeffs, lower, upper, addend=addend)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    args = {"x": x, "coeffs": coeffs, "lower": lower, "upper": upper}
    kernel = FORWARD
    if addend is not None:
        args["addend"] = addend
        kernel = SKIP
    [y] = _run(kernel, coeffs.shape[0] - 1, layout, args, launch, interpret)
    return layout.unpack(y)


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    dy: jax.Array,
    *,
    interval: bool = False,
    on_cpu: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> tuple[jax.Array, ...]:
    """As :func:`jaxbern.kernels.xla.vjp`, in one pass over ``x`` and ``dy``."""
    if coeffs.shape[0] == 1 or x.size == 0:
        return xla.vjp(x, coeffs, lower, upper, dy, interval=interval, on_cpu=on_cpu)
    layout = plan(x.shape, coeffs.shape, lower.shape, upper.shape)
    args = {"x": x, "coeffs": coeffs, "lower": lower, "upper": upper, "dy": dy}
    degree = coeffs.shape[0] - 1
    kernel = INTERVAL if interval else GRADIENT
    dx, sums = _run(kernel, degree, layout, args, launch, on_cpu or interpret)
    total = _total(sums, degree, layout.sizes)
    ends = (lower.shape, upper.shape) if interval else ()
    return layout.unpack(dx), *layout.unpack_sums(total, coeffs.shape, *ends)


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
    args = {"x": x, "lower": lower, "upper": upper, "dy": dy}
    degree = shape[0] - 1
    [sums] = _run(MOMENTS, degree, layout, args, launch, on_cpu or interpret)
    return layout.unpack_coeffs(_total(sums, degree, layout.sizes), shape)


def _run(
    kernel: str,
    degree: int,
    layout: Layout,
    args: dict[str, jax.Array],
    launch: config.Launch | None,
    interpret: bool,
) -> Sequence[jax.Array]:
    """Pack ``args``, by name and in the kernel's order, and run it."""
    ways = {
        "coeffs": functools.partial(layout.pack_coeffs, broadcast=False),
        "lower": functools.partial(layout.pack_bound, broadcast=False),
        "upper": functools.partial(layout.pack_bound, broadcast=False),
    }
    packed = {name: ways.get(name, layout.pack)(a) for name, a in args.items()}
    call = prepare(kernel, degree, packed, launch)
    return call.run(packed.values(), interpret)


def scale(kernel: str, degree: int) -> float:
    """What ``t`` and ``s`` are multiplied by, so that no power is lost that counts.

    ``t^j`` alone may fall below the smallest float where ``C(n,k) t^k s^(n-k)`` does not,
    and what is lost is multiplied by the binomial, in the slope by n as well. Scaled
    like this it stays about the smallest normal float. In the other direction nothing
    overflows up to coefficients of 2^36 and gradients of 2^40.
    """
    if degree <= 15:
        return 1.0
    return 2.0 if kernel in (FORWARD, SKIP) or degree <= 48 else 2.5


def _total(sums: jax.Array, degree: int, sizes: tuple[int, int, int]) -> jax.Array:
    """Add up what the programs wrote, and weigh it, to ``[n+1, S, W]``.

    With the gradients of the interval to ``[n+3, S, W]``.
    """
    groups, _, width = sizes
    stretch = scale(GRADIENT, degree)
    weights = binomials(degree, np.float64) * stretch**-degree
    ends = np.full(len(sums) - len(weights), -1 / stretch)
    weights = np.concatenate([weights, ends])
    total = jnp.sum(sums.reshape(len(weights), groups, -1, width), axis=2)
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
    if launch is None and kernel in (FORWARD, SKIP):
        launch = config.forward(x.shape, degree, addend=kernel == SKIP)
    elif launch is None:
        launch = config.gradient(x.shape, degree, interval=kernel == INTERVAL)
    blocks = -(-rows // launch.rows_per_program)
    factors, stretch = factor(degree), scale(kernel, degree)
    strides: tuple[tuple[int, ...], ...] = _strides(lower.shape), _strides(upper.shape)
    if coeffs is not None:
        along_k = math.prod(coeffs.shape[1:])
        strides += ((along_k, *_strides(coeffs.shape[1:])),)
    ragged = rows % launch.rows_per_program != 0
    constants: dict[str, Any] = {
        "FACTORS": (degree, factors.inner, factors.outer),
        "SCALE": stretch,
        "WIDTH": width,
        "STRIDES": strides,
        "TILE": (launch.rows, launch.columns, launch.unroll, ragged),
    }
    count = degree + (3 if kernel == INTERVAL else 1)
    y = jax.ShapeDtypeStruct(x.shape, x.dtype)
    sums = jax.ShapeDtypeStruct((count, groups * blocks, width), jnp.float32)
    outputs = {FORWARD: (y,), SKIP: (y,), MOMENTS: (sums,)}.get(kernel, (y, sums))
    if kernel in (FORWARD, SKIP):
        constants["WEIGHTS"] = _floats(binomials(degree, np.float64))
    elif coeffs is not None:
        steps = binomials(degree - 1, np.float64) * (degree / stretch)
        constants["WEIGHTS"] = _floats(steps)
    return Call(
        kernel,
        tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args.values()),
        (rows, launch.rows_per_program),
        outputs,
        tuple(constants.items()),
        groups * blocks * -(-width // launch.columns),
        launch.warps,
        # In a loop over layers the sum takes the place of what it was added to; else XLA
        # would copy it there.
        ((list(args).index("addend"), 0),) if kernel == SKIP else (),
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
