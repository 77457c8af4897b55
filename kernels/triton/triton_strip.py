"""Where a program of the Triton kernels works, what it reads and what it writes.

Arrays are those of :mod:`jaxbern.kernels.layout`: ``x [S, B, W]``, coefficients ``[n+1, S or
1, W or 1]``, interval ``[2 or 3, S or 1, W or 1]``. A program takes ``COLS`` columns of one
group and ``span`` of its rows, in tiles of ``[ROWS, COLS]``.
"""

import triton
import triton.language as tl


@triton.jit
def locate(rows, span, WIDTH: tl.constexpr, COLS: tl.constexpr):
    """Group, offset of the first row, number of rows, and columns of this program.

    Columns vary fastest: neighbours read from the same rows. All programs are on one
    axis, because a grid's other axes end at 65535.
    """
    program = tl.program_id(0) // ((WIDTH + COLS - 1) // COLS)
    strip = tl.program_id(0) % ((WIDTH + COLS - 1) // COLS)
    blocks = (rows + span - 1) // span
    group = program // blocks
    first = (program % blocks).to(tl.int64) * span
    start = (group.to(tl.int64) * rows + first) * WIDTH
    left = tl.minimum(rows - first, span).to(tl.int32)
    return group, start, left, strip * COLS + tl.arange(0, COLS)


@triton.jit
def tile_offsets(cols, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Offsets of a tile, its rows, and which elements are in columns that exist."""
    row = tl.arange(0, ROWS)[:, None]
    return row * WIDTH + cols[None, :], row, (cols < WIDTH)[None, :] & (row < ROWS)


@triton.jit
def tile_masks(
    inside,
    row,
    left,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
    RAGGED: tl.constexpr,
):
    """Which elements of each tile exist; rows may end early if ``RAGGED``."""
    if not RAGGED:
        return (inside,) * UNROLL
    masks = ()
    for u in tl.static_range(UNROLL):
        masks = masks + (inside & (row < left - u * ROWS),)
    return masks


@triton.jit
def load_tiles(ptrs, masks, STRIDE: tl.constexpr, UNROLL: tl.constexpr):
    """Load several tiles at once, in float32; zero where there is nothing."""
    values = ()
    for u in tl.static_range(UNROLL):
        x = tl.load(ptrs + u * STRIDE, mask=masks[u], other=0.0)
        values = values + (x.to(tl.float32),)
    return values


@triton.jit
def load_interval(
    interval_ptr,
    group,
    cols,
    SCALE: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    CENTRED: tl.constexpr,
):
    """``l``, ``u`` and the centre if there is one; ``SCALE / (u - l)``, the only division."""
    rows = load_parameters(
        interval_ptr, group, cols, 3 if CENTRED else 2, WIDTH, STRIDES
    )
    # Columns that do not exist have l = u = 0: their quotients are never stored.
    width = rows[1] - rows[0]
    return rows, tl.div_rn(tl.full(width.shape, SCALE, tl.float32), width)


@triton.jit
def load_parameters(
    ptr, group, cols, COUNT: tl.constexpr, WIDTH: tl.constexpr, STRIDES: tl.constexpr
):
    """Each column's numbers: coefficients, or the rows of the interval."""
    ptr += group * STRIDES[1] + cols * STRIDES[2]
    values = ()
    for k in tl.static_range(COUNT):
        value = tl.load(ptr + k * STRIDES[0], mask=cols < WIDTH, other=0.0)
        values = values + (value[None, :],)
    return values


@triton.jit
def zeros(COUNT: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Sums to begin with."""
    values = ()
    for _ in tl.static_range(COUNT):
        values = values + (tl.full((ROWS, COLS), 0.0, tl.float32),)
    return values


@triton.jit
def store_sums(
    sums, sums_ptr, cols, COUNT: tl.constexpr, WIDTH: tl.constexpr, COLS: tl.constexpr
):
    """Add up the rows of each tile, to ``[COUNT, S * programs of a group, W]``."""
    program = tl.program_id(0) // ((WIDTH + COLS - 1) // COLS)
    programs = tl.num_programs(0) // ((WIDTH + COLS - 1) // COLS)
    for k in tl.static_range(COUNT):
        at = (program + programs.to(tl.int64) * k) * WIDTH + cols
        tl.store(sums_ptr + at, tl.reduce(sums[k], 0, _add), mask=cols < WIDTH)


@triton.jit
def _add(a, b):
    return a + b
