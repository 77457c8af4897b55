"""Find the fastest launch configurations on the GPU at hand, by trying them."""

import functools
import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jaxbern.kernels import backends, config, tuned
from jaxbern.kernels.algebra import CLAMP
from jaxbern.kernels.backend import Backend
from jaxbern.kernels.launch import Launch


def autotune(
    rows: int,
    width: int,
    degree: int,
    *,
    groups: int = 1,
    dtype: DTypeLike = jnp.float32,
    implementation: str = "pallas",
    repeats: int = 20,
    report: Callable[[str], None] = print,
) -> dict[str, Launch]:
    """Time launch configurations for ``x [groups, rows, width]`` and keep the fastest.

    Both kernels are tried with the default configuration and its neighbours. What was
    fastest goes to the file :func:`jaxbern.kernels.tuned.path` and is used from then on
    for calls of this size and degree on this kind of device. ``groups`` is the number of
    vmapped seeds.

    Returns:
      The configuration of each kernel, by name.
    """
    platform = backends.platform_of(jax.devices()[0])
    arithmetic = jnp.dtype(jnp.float32)
    backend = backends.choose(implementation, platform, arithmetic, degree).backend
    device = jax.devices()[0].device_kind
    if (packed := backend.packed) is None:
        raise ValueError(
            f"implementation must be one with launch configurations, which "
            f"{implementation!r} does not have; write 'pallas', 'mosaic' or 'triton'"
        )
    x, coeffs, interval, _ = args = _arguments((groups, rows, width), degree, dtype)
    sizes = packed.plan(x.shape, coeffs.shape, interval.shape).sizes
    tile = packed.tile
    kernels = {
        "forward": (_forward, config.forward(sizes, degree, tile=tile)),
        "gradient": (_gradient, config.gradient(sizes, degree, tile=tile)),
    }
    best = {}
    for name, (make, default) in kernels.items():
        seconds = {}
        for launch in neighbours(default, fixed_tile=tile is not None):
            step = jax.jit(make(backend, launch))
            try:
                seconds[launch] = _time(step, args, repeats)
            except jax.errors.JaxRuntimeError as error:  # does not fit on this card
                report(f"{name} {launch}: {str(error).splitlines()[0]}")
                continue
            report(f"{name} {launch}: {seconds[launch] * 1e6:.1f} us")
        if not seconds:
            raise RuntimeError(
                f"no configuration of the {name} kernel runs on {device}"
            )
        best[name] = min(seconds, key=seconds.__getitem__)
        key = config.tuned_name(name, tile)
        file = tuned.save(key, device, sizes, degree, best[name])
        report(f"{name}: {best[name]}, kept in {file}")
    return best


def neighbours(launch: Launch, *, fixed_tile: bool = False) -> Iterator[Launch]:
    """The configuration itself, then those with fewer or more rows in some way."""
    yield launch
    tile_rows = (launch.rows // 2, launch.rows, launch.rows * 2)
    for rows in (launch.rows,) if fixed_tile else tile_rows:
        for unroll in (launch.unroll // 2, launch.unroll, launch.unroll * 2):
            for steps in (launch.steps // 2, launch.steps, launch.steps * 2):
                other = Launch(rows, launch.columns, unroll, steps)
                if min(rows, unroll, steps) >= 1 and other != launch:
                    yield other


def _arguments(sizes, degree, dtype):
    groups, _, width = sizes
    keys = jax.random.split(jax.random.key(0), 3)
    x, dy = (jax.random.normal(key, sizes, dtype) for key in keys[:2])
    coeffs = jax.random.normal(keys[2], (degree + 1, groups, 1, width))
    interval = jnp.array([-3.0, 3.0], jnp.float32).reshape(2, 1, 1, 1)
    return x, coeffs, interval, dy


def _forward(backend: Backend, launch: Launch) -> Callable:
    run = functools.partial(backend.evaluate, outside=CLAMP, launch=launch)
    return lambda x, coeffs, interval, dy: run(x, coeffs, interval)


def _gradient(backend: Backend, launch: Launch) -> Callable:
    return functools.partial(backend.vjp, outside=CLAMP, launch=launch)


def _time(step, args, repeats) -> float:
    jax.block_until_ready(step(*args))
    start = time.perf_counter()
    jax.block_until_ready([step(*args) for _ in range(repeats)])
    return (time.perf_counter() - start) / repeats
