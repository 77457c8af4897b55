"""What all GPU kernels share around their launch: arrays packed, sums made gradients.

A kernel is given ``x [S, B, W]``, then coefficients and interval ``[k, S or 1, W or 1]``, then
an addend or ``dy`` like ``x`` (:mod:`jaxbern.kernels.layout`). It returns ``y`` or ``dx`` like
``x``, and each program's sums over its rows, ``[n+1 or n+3, S, row blocks, W]``. To write the
kernels in another language is to write a function that runs a :class:`Task`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.kernels import algebra, config, factored, forms, ratio
from jaxbern.kernels.algebra import LINEAR
from jaxbern.kernels.array_types import Array, Float
from jaxbern.kernels.backend import Backend
from jaxbern.kernels.factored import Factors
from jaxbern.kernels.layout import Layout, plan

# The names that a profile shows.
FORWARD = "jaxbern_bernstein"
SKIP = "jaxbern_bernstein_skip"
GRADIENT = "jaxbern_bernstein_vjp"
MOMENTS = "jaxbern_bernstein_moments"


@dataclass(frozen=True)
class Task:
    """One launch of one kernel."""

    kernel: str
    degree: int
    sizes: tuple[int, int, int]  # S, B, W
    outside: str
    centred: bool  # the interval has a third row
    ends: bool  # two sums more: of what is beyond the ends, or of s dx and t dx
    launch: config.Launch
    form: str  # one of those in ``forms``
    factors: Factors  # of the gradient

    @property
    def linear(self) -> bool:
        """Whether the activation goes on as a straight line."""
        return self.outside == LINEAR

    @property
    def stretch(self) -> float:
        """What ``t`` and ``s`` are multiplied by in the gradient."""
        made = factored if self.form == forms.PRODUCTS else ratio
        return made.stretch(self.degree)

    @property
    def sums(self) -> int:
        """How many a gradient kernel makes in each column."""
        return self.degree + (3 if self.ends else 1)

    @property
    def row_blocks(self) -> int:
        """Programs one below the other in one group."""
        return -(-self.sizes[1] // self.launch.rows_per_program)

    @property
    def strips(self) -> int:
        """Programs side by side in one row of ``x``."""
        return -(-self.sizes[2] // self.launch.columns)

    @property
    def programs(self) -> int:
        """All of them. One axis of the grid, as only the first may exceed 65535."""
        return self.sizes[0] * self.row_blocks * self.strips


def task(
    kernel: str,
    layout: Layout,
    shape: tuple[int, ...],
    interval: jax.Array,
    outside: str,
    launch: config.Launch | None = None,
    *,
    with_interval: bool = False,
    tile: config.Tile = None,
    ratio_for: int | None = None,
) -> Task:
    """The task for coefficients of ``shape``, with the launch chosen for it or another.

    ``ratio_for`` are the bytes of an element, if the kernels can be written in the ratio.
    """
    sizes, degree, centred = layout.sizes, shape[0] - 1, len(interval) == 3
    form, factors = forms.PRODUCTS, factored.factor(degree)
    lanes = config.fma_lanes()
    if kernel in (FORWARD, SKIP):
        ends = False
        if ratio_for is not None:
            form = forms.of_value(degree, ratio_for, lanes)
        chosen = launch or config.forward(
            sizes, degree, addend=kernel == SKIP, tile=tile
        )
    else:
        ends = with_interval or outside == LINEAR
        if ratio_for is not None:
            form, factors = forms.of_gradient(degree, ratio_for, lanes)
        chosen = launch or config.gradient(sizes, degree, ends=ends, tile=tile)
    facts = outside, centred, ends, chosen, form, factors
    return Task(kernel, degree, sizes, *facts)


@dataclass(frozen=True)
class Packed:
    """The functions of a backend, from ``run(task, arrays)``.

    ``plan`` maps shapes to ``[S, B, W]``; ``tile`` is the only one that the kernels know, if
    they cannot take any.
    """

    run: Callable[[Task, Sequence[jax.Array]], Sequence[jax.Array]]
    plan: Callable[..., Any] = plan
    tile: config.Tile = None
    ratio: bool = False  # whether the kernels know that form

    def backend(self, name: str, obstacle: Callable) -> Backend:
        """These functions as a backend."""
        functions = self.evaluate, self.vjp, self.moments
        return Backend(name, *functions, obstacle=obstacle, packed=self)

    def task(self, kernel: str, x: jax.Array, *args, **options) -> Task:
        """:func:`task`, with what these kernels can do."""
        ratio_for = x.dtype.itemsize if self.ratio else None
        return task(kernel, *args, tile=self.tile, ratio_for=ratio_for, **options)

    def evaluate(
        self,
        x: Float[Array, "*batch"],
        coeffs: Float[Array, "terms *#batch"],
        interval: Float[Array, "ends *#batch"],
        addend: Float[Array, "*batch"] | None = None,
        *,
        outside: str,
        launch: config.Launch | None = None,
    ) -> Float[Array, "*batch"]:
        """Compute :func:`jaxbern.kernels.xla.xla_backend.evaluate` in one pass over ``x``."""
        layout = self.plan(x.shape, coeffs.shape, interval.shape)
        arrays = [layout.pack(x), *map(layout.pack_parameters, (coeffs, interval))]
        if addend is not None:
            arrays.append(layout.pack(addend))
        kernel = FORWARD if addend is None else SKIP
        args = layout, coeffs.shape, interval, outside, launch
        what = self.task(kernel, x, *args)
        [y] = self.run(what, arrays)
        return layout.unpack(y)

    def vjp(
        self,
        x: Float[Array, "*batch"],
        coeffs: Float[Array, "terms *#batch"],
        interval: Float[Array, "ends *#batch"],
        dy: Float[Array, "*batch"],
        *,
        outside: str,
        with_interval: bool = False,
        launch: config.Launch | None = None,
    ) -> tuple[Float[Array, "..."], ...]:
        """Compute :func:`jaxbern.kernels.xla.xla_backend.vjp` in one pass over both arrays."""
        layout = self.plan(x.shape, coeffs.shape, interval.shape)
        arrays = [layout.pack(x), *map(layout.pack_parameters, (coeffs, interval))]
        args = layout, coeffs.shape, interval, outside, launch
        what = self.task(GRADIENT, x, *args, with_interval=with_interval)
        dx, sums = self.run(what, [*arrays, layout.pack(dy)])
        given = coeffs if with_interval else None
        args = weighed(what, sums, layout), coeffs.shape, interval, outside, given
        # Clamped, the kernel has summed s dx and t dx; else what is beyond the ends.
        summed_dx = not what.linear
        return layout.unpack(dx), *algebra.gradients(*args, summed_dx=summed_dx)

    def moments(
        self,
        x: Float[Array, "*batch"],
        interval: Float[Array, "ends *#batch"],
        dy: Float[Array, "*batch"],
        *,
        outside: str,
        shape: tuple[int, ...],
        launch: config.Launch | None = None,
    ) -> Float[Array, "terms *#batch"]:
        """Compute :func:`jaxbern.kernels.xla.xla_backend.moments`: without ``dx``."""
        layout = self.plan(x.shape, shape, interval.shape)
        what = self.task(MOMENTS, x, layout, shape, interval, outside, launch)
        arrays = layout.pack(x), layout.pack_parameters(interval), layout.pack(dy)
        [sums] = self.run(what, arrays)
        sums = weighed(what, sums, layout)
        return algebra.gradients(sums, shape, interval, outside)[0]


def weighed(
    what: Task, sums: Float[Array, "sums groups blocks columns"], layout: Layout
) -> Float[Array, "sums ..."]:
    """All programs' sums of stretched products ``t^k s^(n-k)``, as those of ``b_{n,k}``.

    Weighed first, which XLA does in the loop that adds them up.
    """
    stretch = what.stretch
    weights = algebra.binomials(what.degree, np.float64) * stretch**-what.degree
    ends = np.full(2 * what.ends, 1 if what.linear else 1 / stretch)
    weights = np.concatenate([weights, ends]).astype(np.float32)
    sums = jnp.sum(sums * algebra.along_leading(weights, sums.ndim), axis=2)
    return layout.unpack_sums(sums)


def result(x: jax.Array, shape: tuple[int, ...], dtype) -> jax.ShapeDtypeStruct:
    """What a kernel returns: inside ``shard_map`` it varies over the mesh as ``x`` does."""
    kind = jax.typeof(x)
    # How JAX calls that, from the newest name to the oldest.
    name = next((n for n in ("manual_axis_type", "vma") if hasattr(kind, n)), None)
    varying = {} if name is None else {name: getattr(kind, name)}
    return jax.ShapeDtypeStruct(shape, dtype, **varying)


def outputs(what: Task, x: jax.Array) -> list[jax.ShapeDtypeStruct]:
    """What the task's kernel writes, in its order."""
    groups, _, columns = what.sizes
    like_x = result(x, what.sizes, x.dtype)
    sums = result(x, (what.sums, groups, what.row_blocks, columns), jnp.float32)
    return {GRADIENT: [like_x, sums], MOMENTS: [sums]}.get(what.kernel, [like_x])
