"""Lower a primitive to the backend that runs it, on one device or on many."""

import functools
from collections.abc import Callable

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from jaxbern.kernels import backends, partition
from jaxbern.kernels.array_types import Array, Float

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def register(primitive: Primitive, run: Callable) -> None:
    """Compiled calls inline ``run`` for their platform; eager ones are jitted."""
    partition.needs_devices(primitive)
    primitive.def_impl(eager(primitive))
    for platform in _PLATFORMS:
        lowered = functools.partial(_lowered, primitive, run, platform)
        several = primitive.multiple_results
        mlir.register_lowering(
            primitive, mlir.lower_fun(lowered, multiple_results=several), platform
        )


def eager(primitive: Primitive) -> Callable:
    """Run ``primitive`` as a program of its own, also where ``jax.jit`` is disabled."""

    @functools.lru_cache(maxsize=1024)
    def program(params):
        return jax.jit(functools.partial(primitive.bind, **dict(params)))

    def impl(*args, **params):
        with jax.disable_jit(False):
            return program(tuple(params.items()))(*args)

    return impl


def _lowered(primitive, run: Callable, platform: str, *args, **params):
    """``run``; on a mesh of explicit axes with these made automatic inside.

    There every reshape would have to say how its result is sharded. The partitioner
    knows (see :mod:`jaxbern.kernels.partition`), and results have their types already.
    """
    run = functools.partial(run, **params, platform=platform)
    avals = [jax.typeof(a) for a in args]
    explicit = jax.sharding.AxisType.Explicit
    if not any(explicit in aval.sharding.mesh.axis_types for aval in avals):
        return run(*args)
    out_avals, _ = primitive.abstract_eval(*avals, **params)
    out_sharding = jax.tree.map(lambda aval: aval.sharding, out_avals)
    return jax.sharding.auto_axes(run, out_sharding=out_sharding)(*args)


def run_evaluate(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    *addend: Float[Array, "*batch"],
    outside: str,
    implementation: str,
    platform: str,
) -> Float[Array, "*batch"]:
    """``evaluate`` of the chosen backend."""
    degree = len(coeffs) - 1
    backend = backends.get(implementation, platform, interval.dtype, degree, x.size)

    def local(*args):
        return (backend.evaluate(*args, outside=outside),)

    args = (x, coeffs, interval, *addend)
    if backend.elementwise:
        return local(*args)[0]
    axes = _axes(x, coeffs.shape, interval.shape)
    axes += [axes[0] for _ in addend]
    return partition.by_rows(local, axes, axes[:1])(*args)[0]


def run_cotangent(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    wanted: str,
    outside: str,
    implementation: str,
    platform: str,
) -> list[Float[Array, "..."]]:
    """``cotangent``: all gradients in one call."""
    degree = len(coeffs) - 1
    backend = backends.get(implementation, platform, interval.dtype, degree, x.size)
    options = {"outside": outside, "with_interval": "i" in wanted}
    local = functools.partial(backend.vjp, **options)
    axes = _axes(x, coeffs.shape, interval.shape)
    run = partition.by_rows(local, [*axes, axes[0]], axes[: len(wanted)])
    return list(run(x, coeffs, interval, dy))


def run_moments(
    x: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    shape: tuple[int, ...],
    outside: str,
    implementation: str,
    platform: str,
) -> Float[Array, "terms *#batch"]:
    """``moments``: the gradient in the coefficients alone."""
    degree = shape[0] - 1
    backend = backends.get(implementation, platform, interval.dtype, degree, x.size)
    own, coeffs, ends = _axes(x, shape, interval.shape)

    def local(x, interval, dy):
        # On each device the coefficients that follow a sharded axis are its own part.
        here = [
            s if a is None else x.shape[a] for s, a in zip(shape, coeffs, strict=True)
        ]
        return (backend.moments(x, interval, dy, outside=outside, shape=tuple(here)),)

    return partition.by_rows(local, [own, ends, own], [coeffs])(x, interval, dy)[0]


def _axes(x, coeffs_shape, interval_shape) -> list[partition.Axes]:
    along = functools.partial(partition.broadcast_along, x, leading=1)
    return [partition.like_x(x), along(coeffs_shape), along(interval_shape)]
