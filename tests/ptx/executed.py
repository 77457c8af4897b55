"""Kernels compiled for a card that is not there, and their PTX executed on the CPU."""

import jax
import numpy as np

from experiments.gpu.gpu_compile import compile_for
from experiments.gpu.mosaic_dump import environment
from jaxbern.kernels.packed import FORWARD, GRADIENT, SKIP, weighed
from tests.ptx import InOut, Kernel, OutputSpec
from tests.ptx.kernel_checks import arguments, check
from tests.quick import quickly


def compiled(
    backend,
    target,
    x,
    coeffs,
    interval,
    dy,
    launch=None,
    fused=False,
    outside="clamp",
):
    """One training step's calls, compiled for ``target``; arguments need only shapes.

    ``fused`` ones add ``dy`` to the value, and differentiate in the interval too.
    """
    options = {"outside": outside, "launch": launch}

    def step(x, coeffs, interval, dy):
        args, addend = (x, coeffs, interval), dy if fused else None
        y = backend.evaluate(*args, addend, **options)
        return y, *backend.vjp(*args, dy, with_interval=fused, **options)

    return compile_for(target, step, x, coeffs, interval, dy)


def named(program, name):
    """The kernel that a profile shows under ``name``; Mosaic adds its own to that."""
    [found] = [
        kernel
        for own, kernel in program.kernels.items()
        if own.removesuffix("_mosaic_gpu_kernel") == name
    ]
    return found


def execute(kernel, inputs, outputs):
    """Run the PTX; every element must be written, and nothing beside them touched."""
    # JAX 0.12 names the only kind of parameter that a kernel has.
    text = kernel.ptx.replace("ld.param::entry.", "ld.param.")
    arrays = [*inputs, *outputs]
    order = kernel.order or range(len(arrays))
    result = Kernel(text, kernel.name).launch(
        kernel.grid,
        kernel.threads,
        [arrays[i] for i in order],
        shared_bytes=kernel.shared,
    )
    assert not any(result.unwritten)
    written = [i for i in order if not isinstance(arrays[i], jax.Array | np.ndarray)]
    return [result.outputs[written.index(i)] for i in sorted(written)]


def check_case(
    backend,
    dtype,
    degree,
    name,
    fused,
    outside,
    launch=None,
    in_place=True,
    twice=False,
):
    """Compile a case of ``kernel_checks`` for an A30, execute it, compare the results.

    Returns the largest error in units of what is allowed.
    """
    packed = backend.packed
    x, coeffs, interval, dy = args = arguments(dtype, degree, name, fused)
    program = compiled(backend, "a30", *args, launch, fused, outside)
    layout = packed.plan(x.shape, coeffs.shape, interval.shape)

    @quickly
    def pack(x, coeffs, interval, dy):
        parameters = map(layout.pack_parameters, (coeffs, interval))
        return layout.pack(x), *parameters, layout.pack(dy)

    rows, numbers, ends, each = map(np.asarray, pack(*args))
    like_x = OutputSpec(layout.sizes, x.dtype)
    inputs = [rows, numbers, ends, *([each] if fused else [])]
    forward = named(program, SKIP if fused else FORWARD)
    (y,) = execute(forward, inputs, [like_x])
    if fused and in_place:  # XLA may have the sum written over the addend
        both = InOut(np.asarray(each))
        over, _ = execute(forward, [*inputs[:-1], both], [both])
        np.testing.assert_array_equal(over, y)
    args_of = layout, coeffs.shape, interval, outside, launch
    with environment(JAXBERN_CAPABILITY="8.0"):
        what = packed.task(GRADIENT, x, *args_of, with_interval=fused)
    sums = OutputSpec(
        (what.sums, layout.sizes[0], what.row_blocks, layout.sizes[2]), np.float32
    )
    gradient = named(program, GRADIENT), [rows, numbers, ends, each], [like_x, sums]
    dx, sums = execute(*gradient)
    if twice:
        for first, again in zip((dx, sums), execute(*gradient), strict=True):
            np.testing.assert_array_equal(first, again)

    @quickly
    def unpack(y, dx, sums):
        return *map(layout.unpack, (y, dx)), weighed(what, sums, layout)

    results = unpack(y, dx, sums)
    return check(outside, *args, *results, addend=dy if fused else None)
