"""Kernels on sharded arrays: every device works on its own rows.

The partitioner cannot look into a kernel, nor follow a loop over tiles of a sharded axis:
left alone it gathers the whole array on every device. Here it is told how the axes of
the arguments belong together. Only the coefficients' gradients, which are sums over
rows, are added up between devices.
"""

from collections.abc import Callable, Sequence

import jax
from jax import lax
from jax._src import dispatch
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AbstractMesh, NamedSharding, use_abstract_mesh
from jax.sharding import PartitionSpec as P

Axes = tuple[int | None, ...]  # for each axis of an array: the axis of x it follows


def needs_devices(primitive) -> None:
    """Let the lowering of ``primitive`` see the devices, as partitioning asks for.

    JAX has no public name for this; it is what its own primitives do.
    """
    dispatch.prim_requires_devices_during_lowering.add(primitive)


def like_x(x: jax.Array) -> Axes:
    """The axes of ``x`` and of whatever has its shape."""
    return tuple(range(x.ndim))


def broadcast_along(x: jax.Array, shape: tuple[int, ...], leading: int = 0) -> Axes:
    """The axes of something that broadcasts against ``x`` after ``leading`` axes."""
    follows = (
        axis if size == x.shape[axis] and size != 1 else None
        for axis, size in enumerate(shape[leading:])
    )
    return (*[None] * leading, *follows)


def by_rows(
    run: Callable, in_axes: Sequence[Axes], out_axes: Sequence[Axes]
) -> Callable:
    """``run``, a function of ``x`` and more to a tuple, made to work shard by shard."""

    def local(mesh, arg_shapes, result_shape):
        del result_shape
        spec = _spec(arg_shapes[0])
        args, results = (
            tuple(NamedSharding(mesh, _follow(spec, axes)) for axes in every)
            for every in (in_axes, out_axes)
        )

        def on_each_device(*args):
            # On one device there is no mesh, whatever the user has set.
            with use_abstract_mesh(AbstractMesh((), ())):
                return tuple(
                    _sum_over(out, spec, axes)
                    for out, axes in zip(run(*args), out_axes, strict=True)
                )

        return mesh, on_each_device, results, args

    def rule(mesh, in_types, out_types):
        del mesh, in_types, out_types
        return f"{_factors('a', in_axes)} -> {_factors('r', out_axes)}"

    # Jitted, because what is partitioned may hold no constants of its own.
    whole = custom_partitioning(jax.jit(lambda *args: tuple(run(*args))))
    whole.def_partition(partition=local, sharding_rule=rule)
    return whole


def _spec(shape) -> P:
    entries = tuple(shape.sharding.spec)
    return P(*entries, *[None] * (len(shape.shape) - len(entries)))


def _follow(spec: P, axes: Axes) -> P:
    return P(*(None if axis is None else spec[axis] for axis in axes))


def _sum_over(out: jax.Array, spec: P, axes: Axes) -> jax.Array:
    """Add up what devices have that share no axis of ``out``."""
    names = []
    for axis, entry in enumerate(spec):
        if entry is not None and axis not in axes:
            names += [entry] if isinstance(entry, str) else list(entry)
    return lax.psum(out, tuple(names)) if names else out


def _factors(prefix: str, every: Sequence[Axes]) -> str:
    """The sharding rule of one side: ``x`` has factors d0, d1, ...; the rest are alone."""
    return ", ".join(
        " ".join(
            f"{prefix}{i}n{j}" if axis is None else f"d{axis}"
            for j, axis in enumerate(axes)
        )
        for i, axes in enumerate(every)
    )
