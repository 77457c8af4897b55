"""The Bernstein operator in Triton kernels, called through jax-triton.

``import jaxbern`` does not import Triton: what needs it is imported when it is called. The
kernels are in :mod:`jaxbern.kernels.triton.triton_kernels`; this file prepares their calls.
Without a GPU they can be interpreted or compiled: ``triton_offline`` beside it.
"""

import functools
import importlib.util
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels import algebra, config
from jaxbern.kernels.algebra import LINEAR, along_leading, binomials
from jaxbern.kernels.backend import Backend, kernel_limit, kernel_obstacle
from jaxbern.kernels.factored import factor, stretch
from jaxbern.kernels.layout import Layout, plan
from jaxbern.kernels.triton.triton_call import Call

FORWARD = "jaxbern_bernstein"
SKIP = "jaxbern_bernstein_skip"
GRADIENT = "jaxbern_bernstein_vjp"
MOMENTS = "jaxbern_bernstein_moments"


def evaluate(
    x: jax.Array,
    coeffs: jax.Array,
    interval: jax.Array,
    addend: jax.Array | None = None,
    *,
    outside: str,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.xla_backend.evaluate`, in one pass over ``x``.

    ``interpret`` runs the kernel in Triton's interpreter, on the CPU.
    """
    layout = plan(x.shape, coeffs.shape, interval.shape)
    args = {"x": x, "coeffs": coeffs, "interval": interval}
    if addend is not None:
        args["addend"] = addend
    kernel = FORWARD if addend is None else SKIP
    call = functools.partial(prepare, kernel, len(coeffs) - 1, outside, launch=launch)
    [y] = _run(call, layout, args, interpret)
    return layout.unpack(y)


def vjp(
    x: jax.Array,
    coeffs: jax.Array,
    interval: jax.Array,
    dy: jax.Array,
    *,
    outside: str,
    with_interval: bool = False,
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> tuple[jax.Array, ...]:
    """As :func:`jaxbern.kernels.xla.xla_backend.vjp`, in one pass over ``x`` and ``dy``."""
    layout = plan(x.shape, coeffs.shape, interval.shape)
    args = {"x": x, "coeffs": coeffs, "interval": interval, "dy": dy}
    degree, options = len(coeffs) - 1, {"ends": with_interval, "launch": launch}
    call = functools.partial(prepare, GRADIENT, degree, outside, **options)
    dx, sums = _run(call, layout, args, interpret)
    given = coeffs if with_interval else None
    sums = _total(sums, degree, outside, layout)
    summed = {"summed_dx": outside != LINEAR}
    return layout.unpack(dx), *algebra.gradients(
        sums, coeffs.shape, interval, outside, given, **summed
    )


def moments(
    x: jax.Array,
    interval: jax.Array,
    dy: jax.Array,
    *,
    outside: str,
    shape: tuple[int, ...],
    interpret: bool = False,
    launch: config.Launch | None = None,
) -> jax.Array:
    """As :func:`jaxbern.kernels.xla.xla_backend.moments`: :func:`vjp` without ``dx``."""
    layout = plan(x.shape, shape, interval.shape)
    degree = shape[0] - 1
    call = functools.partial(prepare, MOMENTS, degree, outside, launch=launch)
    [sums] = _run(call, layout, {"x": x, "interval": interval, "dy": dy}, interpret)
    sums = _total(sums, degree, outside, layout)
    return algebra.gradients(sums, shape, interval, outside)[0]


def _run(call, layout: Layout, args: dict[str, jax.Array], interpret: bool):
    """Pack ``args``, by name and in the kernel's order, and run it."""
    ways = dict.fromkeys(("coeffs", "interval"), layout.pack_parameters)
    packed = {name: ways.get(name, layout.pack)(a) for name, a in args.items()}
    return call(packed).run(packed.values(), interpret)


def _total(sums: jax.Array, degree: int, outside: str, layout: Layout) -> jax.Array:
    """Add up what the programs wrote, and weigh it."""
    groups, _, width = layout.sizes
    scale = stretch(degree)
    weights = binomials(degree, np.float64) * scale**-degree
    ends = np.full(len(sums) - len(weights), 1 if outside == LINEAR else 1 / scale)
    weights = np.concatenate([weights, ends])
    total = jnp.sum(sums.reshape(len(weights), groups, -1, width), axis=2)
    weights = along_leading(weights.astype(sums.dtype), total.ndim)
    return layout.unpack_sums(total * weights)


def prepare(
    kernel: str,
    degree: int,
    outside: str,
    args: dict[str, jax.Array | jax.ShapeDtypeStruct],
    *,
    ends: bool = False,
    launch: config.Launch | None = None,
) -> Call:
    """How ``kernel`` is called for packed ``args``, by name and in its own order.

    ``ends`` asks for the sums beyond both ends, which straight tails need anyway.
    """
    x, interval, coeffs = args["x"], args["interval"], args.get("coeffs")
    groups, rows, width = x.shape
    forward, linear = kernel in (FORWARD, SKIP), outside == LINEAR
    ends = not forward and (ends or linear)
    if launch is None and forward:
        launch = config.forward(x.shape, degree, addend=kernel == SKIP)
    elif launch is None:
        launch = config.gradient(x.shape, degree, ends=ends)
    blocks = -(-rows // launch.rows_per_program)
    factors, scale = factor(degree), stretch(degree)
    ragged = rows % launch.rows_per_program != 0
    parameters = (interval,) if coeffs is None else (interval, coeffs)
    constants: dict[str, Any] = {
        "FACTORS": (degree, factors.inner, factors.outer, scale),
        "WIDTH": width,
        "STRIDES": tuple(_strides(p.shape) for p in parameters),
        "TILE": (launch.rows, launch.columns, launch.unroll, ragged),
        "MODE": (interval.shape[0] == 3, linear, ends),
    }
    count = degree + (3 if ends else 1)
    y = jax.ShapeDtypeStruct(x.shape, x.dtype)
    sums = jax.ShapeDtypeStruct((count, groups * blocks, width), jnp.float32)
    outputs = {GRADIENT: (y, sums), MOMENTS: (sums,)}.get(kernel, (y,))
    if forward:
        constants["WEIGHTS"] = _floats(binomials(degree, np.float64))
    elif coeffs is not None:
        steps = binomials(degree - 1, np.float64) * (degree / scale)
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


def _strides(shape: Sequence[int]) -> tuple[int, int, int]:
    """Strides of ``[k, S or 1, W or 1]``: zero along what is shared."""
    _, groups, width = shape
    return groups * width, width if groups > 1 else 0, 1 if width > 1 else 0


def _obstacle(platform: str, dtype, degree: int) -> str | None:
    if importlib.util.find_spec("jax_triton") is None:
        return "jax-triton is not installed: pip install 'jaxbern[triton,cuda12]'"
    return kernel_obstacle(platform, dtype, degree)


BACKEND = Backend("triton", evaluate, vjp, moments, obstacle=_obstacle)
INTERPRETED = Backend(
    "triton:interpret",
    *(functools.partial(f, interpret=True) for f in (evaluate, vjp, moments)),
    obstacle=kernel_limit,
)
