"""From a primitive to the backend that runs it, on one device or on many."""

import functools
from collections.abc import Callable

import jax
from jax.interpreters import mlir

from jaxbern.kernels import backends, partition

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def register(primitive, run: Callable):
    """Compiled calls inline ``run`` for their platform; eager ones are jitted."""
    several = primitive.multiple_results

    @functools.partial(jax.jit, static_argnames=("shape", "interval", "implementation"))
    def eager(*args, **params):
        return primitive.bind(*args, **params)

    primitive.def_impl(eager)
    partition.needs_devices(primitive)
    for platform in _PLATFORMS:
        lowered = functools.partial(_lowered, primitive, run, platform)
        mlir.register_lowering(
            primitive, mlir.lower_fun(lowered, multiple_results=several), platform
        )


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
    if primitive.multiple_results:
        out_sharding = tuple(out_sharding)
    return jax.sharding.auto_axes(run, out_sharding=out_sharding)(*args)


def run_evaluate(x, coeffs, lower, upper, *addend, implementation, platform):
    """``evaluate`` of the chosen backend."""
    backend = backends.get(implementation, platform, lower.dtype, len(coeffs) - 1)

    def local(x, coeffs, lower, upper, addend=None):
        return (backend.evaluate(x, coeffs, lower, upper, addend=addend),)

    args = (x, coeffs, lower, upper, *addend)
    if backend.elementwise:
        return local(*args)[0]
    own = partition.like_x(x)
    axes = [*_axes(x, coeffs, lower, upper), *[own for _ in addend]]
    return partition.by_rows(local, axes, [own])(*args)[0]


def run_cotangent(x, coeffs, lower, upper, dy, *, interval, implementation, platform):
    """``cotangent``: all gradients in one call."""
    backend = backends.get(implementation, platform, lower.dtype, len(coeffs) - 1)
    local = functools.partial(backend.vjp, interval=interval)
    axes = _axes(x, coeffs, lower, upper)
    run = partition.by_rows(local, [*axes, axes[0]], axes if interval else axes[:2])
    return run(x, coeffs, lower, upper, dy)


def run_moments(x, lower, upper, dy, *, shape, implementation, platform):
    """``moments``: the gradient in the coefficients alone."""
    backend = backends.get(implementation, platform, lower.dtype, shape[0] - 1)
    own, coeffs, *bounds = _axes(x, jax.ShapeDtypeStruct(shape, dy.dtype), lower, upper)

    def local(x, lower, upper, dy):
        # On each device the coefficients that follow a sharded axis are its own part.
        here = [
            s if a is None else x.shape[a] for s, a in zip(shape, coeffs, strict=True)
        ]
        return (backend.moments(x, dy, lower, upper, shape=tuple(here)),)

    run = partition.by_rows(local, [own, *bounds, own], [coeffs])
    return run(x, lower, upper, dy)[0]


def _axes(x, coeffs, lower, upper):
    along = functools.partial(partition.broadcast_along, x)
    bounds = [along(b.shape) for b in (lower, upper)]
    return [partition.like_x(x), along(coeffs.shape, leading=1), *bounds]
