"""What the Pallas kernels share: where a program works, and exact instructions.

A program owns a strip of one group: ``columns`` columns, and as many rows as
``launch.rows * launch.unroll * launch.steps``. Every value in it is a tile
``[rows, columns]`` with one element per thread, columns along the lanes: a warp reads
whole cache lines, and what belongs to a column (coefficients, interval, sums) is read
once and stays in that thread's registers for all of its rows.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from jaxbern.kernels.element import Arithmetic
from jaxbern.kernels.exclusive import exclusively
from jaxbern.kernels.packed import Task


@dataclass(frozen=True)
class Strip:
    """What one program works on. Programs are numbered with the column strip fastest."""

    task: Task
    interpret: bool
    group: jax.Array
    block: jax.Array  # which of the row blocks
    column: jax.Array  # the first

    @classmethod
    def here(cls, task: Task, interpret: bool) -> "Strip":
        """The strip of the running program; only inside a kernel."""
        program = pl.program_id(0)
        above, strip = lax.div(program, task.strips), lax.rem(program, task.strips)
        group, block = lax.div(above, task.row_blocks), lax.rem(above, task.row_blocks)
        return cls(task, interpret, group, block, strip * task.launch.columns)

    def parameters(self, ref) -> list[jax.Array]:
        """This program's columns of ``ref [k, S or 1, W or 1]``, alike in all rows.

        A tile for each k, already as the elements of ``x`` lie in threads.
        """
        tile = (self.task.launch.rows, self.task.launch.columns)
        if self.interpret:  # One access is compiled much faster than many.
            shape = (ref.shape[0], *tile)
            return list(self._load(ref, shape, _iota(shape, 0)))
        return [self._load(ref, tile, k) for k in range(ref.shape[0])]

    def _load(self, ref, shape: tuple[int, ...], k) -> jax.Array:
        groups, width = ref.shape[1:]
        columns = self.column + _iota(shape, len(shape) - 1)
        inside = columns < width if width % self.task.launch.columns else None
        if width == 1:
            columns, inside = jnp.zeros_like(columns), None
        group = self.group if groups > 1 else 0
        return load(ref.at[k, group, columns], inside)

    def store_sums(self, ref, sums: Sequence[jax.Array]) -> None:
        """Add up the rows of each tile, into ``ref [sums, S, row_blocks, W]``.

        Warps meet in shared memory for that and wait for each other four times, so four
        sums go together, unless there are no rows to add or nothing but rows.
        """
        launch = self.task.launch
        together = 4 if launch.rows > 1 and launch.columns > 1 else 1
        if self.interpret:  # One access is compiled much faster than many.
            together = len(sums)
        for first in range(0, len(sums), together):
            total = jnp.sum(self._join(sums[first : first + together]), axis=0)
            k = first + _iota(total.shape, 1)
            columns = self.column + _iota(total.shape, 0)
            plgpu.store(
                ref.at[k, self.group, self.block, columns],
                total,
                mask=(k < ref.shape[0]) & (columns < ref.shape[-1]),
            )

    def _join(self, values: Sequence[jax.Array]) -> jax.Array:
        """Stack along a new last axis; compiled, up to a power of two with zeros."""
        if self.interpret:
            return jnp.stack(values, axis=-1)
        values = list(values)
        while len(values) & (len(values) - 1):
            values.append(jnp.zeros_like(values[0]))
        shape = (*values[0].shape, len(values))
        # Triton can stack two. The axes of pairs come out in order, first to last, if
        # the halves of the list are paired.
        while len(values) > 1:
            half = len(values) // 2
            pairs = zip(values[:half], values[half:], strict=True)
            values = [jnp.stack(pair, axis=-1) for pair in pairs]
        return values[0].reshape(shape)

    def tiles(self, step: int | jax.Array) -> Iterator["Tile"]:
        """The tiles that are in flight together in one step of the loop over rows."""
        launch = self.task.launch
        first = (
            self.block * launch.rows_per_program + step * launch.unroll * launch.rows
        )
        for i in range(launch.unroll):
            yield Tile(self, first + i * launch.rows)

    def loop(self, body: Callable, carry: Sequence[jax.Array] = ()) -> Sequence:
        """Run ``body(step, carry)`` for every step."""
        steps = self.task.launch.steps
        if steps == 1:
            return body(0, carry)
        return lax.fori_loop(0, steps, body, carry)


@dataclass(frozen=True)
class Tile:
    """``[rows, columns]`` elements of ``x`` and of all that has its shape."""

    strip: Strip
    row: jax.Array  # the first

    @property
    def _index(self):
        launch = self.strip.task.launch
        rows, columns = pl.ds(self.row, launch.rows), self.strip.column
        return self.strip.group, rows, pl.ds(columns, launch.columns)

    @property
    def _inside(self) -> jax.Array | None:
        """Where the tile lies in ``x``; None if that is everywhere in every tile."""
        launch, (_, batch, width) = self.strip.task.launch, self.strip.task.sizes
        shape, conditions = (launch.rows, launch.columns), []
        if batch % launch.rows_per_program:
            conditions.append(self.row + _iota(shape, 0) < batch)
        if width % launch.columns:
            conditions.append(self.strip.column + _iota(shape, 1) < width)
        return functools.reduce(jnp.logical_and, conditions) if conditions else None

    def load(self, ref) -> jax.Array:
        """Load in float32; zero beyond the edges, where as ``dy`` it adds nothing."""
        return load(ref.at[self._index], self._inside).astype(jnp.float32)

    def store(self, ref, value: jax.Array) -> None:
        """Rounded once to the type of ``ref``."""
        plgpu.store(ref.at[self._index], value.astype(ref.dtype), mask=self._inside)


def _iota(shape: tuple[int, ...], axis: int) -> jax.Array:
    return lax.broadcasted_iota(jnp.int32, shape, axis)


def load(ref, mask: jax.Array | None) -> jax.Array:
    """Values where ``mask``, else zero."""
    return plgpu.load(ref, mask=mask, other=None if mask is None else 0.0)


class Assembly(Arithmetic):
    """Instructions that Pallas has no name for."""

    def fma(self, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        """``a b + c``. Written as such it becomes a product and a sum."""
        return _assembly("fma.rn.f32 $0, $1, $2, $3;", a, b, c)

    def clamp(self, x: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
        """``x`` in ``[lower, upper]``, NaN where it was: the plain ``min`` drops that."""
        return self.minimum(self.maximum(x, lower), upper)

    def reciprocal(self, x: jax.Array) -> jax.Array:
        """``1 / x``, correctly rounded: a division would be off by two units."""
        return _assembly("rcp.rn.f32 $0, $1;", x)

    def quick_reciprocal(self, x: jax.Array) -> jax.Array:
        """``1 / x``, one unit off at most."""
        return _assembly("rcp.approx.ftz.f32 $0, $1;", x)

    def minimum(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The smaller, NaN if one is."""
        return _assembly("min.NaN.f32 $0, $1, $2;", a, b)

    def maximum(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The larger, NaN if one is."""
        return _assembly("max.NaN.f32 $0, $1, $2;", a, b)


def _assembly(instruction: str, *args: jax.Array) -> jax.Array:
    [result] = plgpu.elementwise_inline_asm(
        instruction,
        args=args,
        constraints=",".join(["=f", *["f"] * len(args)]),
        pack=1,
        result_shape_dtypes=[jax.ShapeDtypeStruct(args[0].shape, args[0].dtype)],
    )
    return result


def call(
    kernel: Callable,
    task: Task,
    results: Sequence[jax.ShapeDtypeStruct],
    arrays: Sequence[jax.Array],
    in_place: dict[int, int],
    interpret: bool,
) -> Sequence[jax.Array]:
    """Run ``kernel`` for all programs of ``task``.

    ``in_place`` maps arguments to results that may be written over them.
    """
    warps = task.launch.warps
    run = pl.pallas_call(
        kernel,
        out_shape=tuple(results),
        grid=(task.programs,),
        # One stage: the loads of a step are in flight together already, and staging
        # them through shared memory would cost instructions and occupancy.
        compiler_params=plgpu.CompilerParams(num_warps=warps, num_stages=1),
        name=task.kernel,
        input_output_aliases=in_place,
        interpret=interpret,
    )
    return run(*arrays) if interpret else _quietly(run, results, *arrays)


@contextlib.contextmanager
def _no_deprecation_warning() -> Iterator[None]:
    """JAX announces while lowering that Pallas' Triton backend will go.

    That is for the authors of this file to know, not for those who use it.
    """
    with warnings.catch_warnings():
        message = "The Pallas Triton backend is deprecated"
        warnings.filterwarnings("ignore", message, DeprecationWarning)
        yield


_quietly = exclusively("jaxbern_pallas", _no_deprecation_warning)
