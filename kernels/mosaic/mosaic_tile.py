"""What the Mosaic kernels share: where a program works, how it reads and writes.

A program is one warpgroup, 128 threads, on a strip of 32 columns. A tile is ``[4, 32]``: a
row for each warp, a column for each lane, so what belongs to a column stays in that lane's
registers for all rows. Mosaic has no masks. Where the width is no multiple of 32 the last
strip begins earlier and its first columns are computed twice, to the same bits. Rows that
are too few for a tile are taken one by one, by all four warps alike.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from jaxbern.kernels.mosaic.mosaic_fold import COLUMNS
from jaxbern.kernels.packed import Task

ROWS = 4  # warps of a warpgroup
TILE = (ROWS, COLUMNS)
_PROGRAM = "program"


@dataclass(frozen=True)
class Memory:
    """Loads and stores with a tile's layout in registers; plain ones interpreted."""

    interpret: bool

    def load(self, ref) -> jax.Array:
        """A tile ``[4, 32]`` or a row ``[32]``, in float32."""
        if self.interpret:
            return ref[...].astype(jnp.float32)
        from jax.experimental.pallas import mosaic_gpu as plgpu

        loaded = plgpu.load(ref, layout=_layout_of(ref.shape), optimized=False)
        return loaded.astype(jnp.float32)

    def store(self, ref, value: jax.Array) -> None:
        """Rounded once to the type of ``ref``."""
        value = value.astype(ref.dtype)
        if self.interpret:
            ref[...] = value
            return
        from jax.experimental.pallas import mosaic_gpu as plgpu

        plgpu.store(ref, value, optimized=False)

    def zeros(self) -> jax.Array:
        """A tile of sums to begin with."""
        return self._cast(jnp.zeros(TILE, jnp.float32))

    def first_row(self) -> jax.Array:
        """A tile that is true in its first row."""
        if self.interpret:
            return lax.broadcasted_iota(jnp.int32, TILE, 0) == 0
        from jax.experimental.pallas import mosaic_gpu as plgpu

        return plgpu.broadcasted_iota(jnp.int32, TILE, 0, layout=_layout()) == 0

    def _cast(self, value: jax.Array) -> jax.Array:
        if self.interpret:
            return value
        from jax.experimental.pallas import mosaic_gpu as plgpu

        return plgpu.layout_cast(value, _layout())


@functools.cache
def _layout():
    """Layout of a tile: rows along the warps, columns along the lanes."""
    from jax.experimental.pallas import mosaic_gpu as plgpu

    tiling = plgpu.Tiling(((ROWS, COLUMNS), (1,)))
    return plgpu.Layout.TILED(tiling, warp_dims=(-3,), lane_dims=(-2,), vector_dim=-1)


def _layout_of(shape: tuple[int, ...]):
    """Layout of a tile, or of one of its rows."""
    return _layout() if len(shape) == 2 else _layout().reduce(0)


def instruction(name: str, x: jax.Array) -> jax.Array:
    """A PTX instruction, of one float32 to another, that Mosaic has no name for."""
    from jax.experimental.pallas import mosaic_gpu as plgpu
    from jaxlib.mlir.dialects import llvm

    layout = _layout_of(x.shape)
    result = plgpu.ShapeDtypeStruct(x.shape, x.dtype, layout=layout)

    @plgpu.inline_mgpu(arg_types=(layout,), return_type=result)
    def run(_, array):
        def one(value, _):
            return llvm.inline_asm(value.type, [value], f"{name} $0, $1;", "=f,f")

        return array.foreach(one, create_array=True)

    return run(x)


def spread(row: jax.Array) -> jax.Array:
    """``[32]`` to a tile whose rows are all alike."""
    return lax.broadcast_in_dim(row, TILE, (1,))


@dataclass(frozen=True)
class Strip:
    """What one program works on. Programs are numbered with the column strip fastest."""

    task: Task
    memory: Memory
    group: jax.Array
    block: jax.Array  # which of the row blocks
    column: jax.Array  # the first

    @classmethod
    def here(cls, task: Task, interpret: bool) -> "Strip":
        """The strip of the running program; only inside a kernel."""
        program = pl.program_id(0) if interpret else lax.axis_index(_PROGRAM)
        above, strip = lax.div(program, task.strips), lax.rem(program, task.strips)
        group, block = lax.div(above, task.row_blocks), lax.rem(above, task.row_blocks)
        column = jnp.minimum(strip * COLUMNS, task.sizes[2] - COLUMNS)
        return cls(task, Memory(interpret), group, block, column)

    def parameters(self, ref) -> list[jax.Array]:
        """This program's columns of ``ref [k, S or 1, W or 1]``: a row ``[32]`` for each k."""
        count, groups, width = ref.shape
        group = self.group if groups > 1 else 0
        if width == 1:  # the same number in all columns
            numbers = [ref[k, group, 0] for k in range(count)]
            return [jnp.broadcast_to(number, (COLUMNS,)) for number in numbers]
        columns = pl.ds(self.column, COLUMNS)
        return [self.memory.load(ref.at[k, group, columns]) for k in range(count)]

    def row(self, ref, row: jax.Array):
        """One row ``[32]`` of ``ref``."""
        return ref.at[self.group, row, pl.ds(self.column, COLUMNS)]

    def tiles(self, ref, row: jax.Array, count: int) -> list:
        """``count`` tiles of ``ref``, one below the other, from ``row`` on.

        Cut from one slice, they are a constant away from its address.
        """
        rows = pl.ds(row, count * ROWS)
        together = ref.at[self.group, rows, pl.ds(self.column, COLUMNS)]
        return [together.at[pl.ds(i * ROWS, ROWS)] for i in range(count)]

    def walk(
        self,
        tiles: Callable[[jax.Array, int, Sequence], Sequence],
        single: Callable[[jax.Array, Sequence], Sequence],
        carry: Sequence = (),
    ) -> Sequence:
        """Run ``tiles(row, count, carry)``, then ``single(row, carry)`` for what is left.

        The count is how many tiles from that row on are to be in flight together.
        """
        launch, batch = self.task.launch, self.task.sizes[1]
        first = self.block * launch.rows_per_program
        together = ROWS * launch.unroll

        def several(i, carry):
            return tiles(first + i * together, launch.unroll, carry)

        if batch % launch.rows_per_program == 0:
            return _loop(launch.steps, several, carry)
        left = jnp.minimum(batch - first, launch.rows_per_program)
        if batch >= together:
            carry = lax.fori_loop(0, lax.div(left, together), several, carry)
        rest = lax.rem(left, together)
        row = first + left - rest
        if batch % together >= ROWS:
            carry = lax.fori_loop(
                0,
                lax.div(rest, ROWS),
                lambda i, carry: tiles(row + i * ROWS, 1, carry),
                carry,
            )
        if batch % ROWS:
            over = lax.rem(left, ROWS)
            row = first + left - over
            carry = lax.fori_loop(0, over, lambda i, c: single(row + i, c), carry)
        return carry

    def store_sums(self, ref, sums: Sequence[jax.Array]) -> None:
        """Add up the rows of each tile, into ``ref [sums, S, row_blocks, W]``."""
        columns = pl.ds(self.column, COLUMNS)
        for k, tile in enumerate(sums):
            target = ref.at[k, self.group, self.block, columns]
            self.memory.store(target, jnp.sum(tile, axis=0))


def _loop(steps: int, body: Callable, carry: Sequence) -> Sequence:
    return body(0, carry) if steps == 1 else lax.fori_loop(0, steps, body, carry)


def call(
    kernel: Callable,
    task: Task,
    results: Sequence[jax.ShapeDtypeStruct],
    arrays: Sequence[jax.Array],
    interpret: bool,
) -> Sequence[jax.Array]:
    """Run ``kernel`` for all programs of ``task``."""
    if interpret:
        run = pl.pallas_call(
            kernel,
            out_shape=tuple(results),
            grid=(task.programs,),
            name=task.kernel,
            interpret=True,
        )
        return run(*arrays)
    from jax.experimental.pallas import mosaic_gpu as plgpu

    run = plgpu.kernel(
        kernel,
        out_type=tuple(results),
        grid=(task.programs,),
        grid_names=(_PROGRAM,),
        kernel_name=task.kernel,
        # Nothing is read that the same program writes, so no store needs a barrier.
        compiler_params=plgpu.CompilerParams(unsafe_no_auto_barriers=True),
    )
    return run(*arrays)
