"""The Triton kernels: forward pass, gradient, and coefficient gradient alone.

Arrays are those of :mod:`jaxbern.kernels.layout`: ``x [S, B, W]``, coefficients ``[n+1, S or
1, W or 1]``, bounds ``[S or 1, W or 1]``. A program takes ``COLS`` columns of one group and
``span`` of its rows. A tile of ``[ROWS, COLS]`` has one element per thread, neighbouring
columns in neighbouring threads, so a thread meets one column only: its coefficients,
and its ``n+1`` sums, stay in registers while the rows pass by.

This module needs Triton; :mod:`jaxbern.kernels.triton` imports it when it is asked to.
"""

import triton
import triton.language as tl

from jaxbern.kernels.triton_tile import (
    accumulate,
    clamp,
    contract,
    distances,
    factors,
    slopes,
    value,
)


@triton.jit
def jaxbern_bernstein(
    x_ptr,
    coeffs_ptr,
    lower_ptr,
    upper_ptr,
    rows,  # B
    span,  # rows of one program
    y_ptr,
    DEGREE: tl.constexpr,  # n
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    SCALE: tl.constexpr,  # of t and s
    UNSCALE: tl.constexpr,  # SCALE ** -n
    WEIGHTS: tl.constexpr,  # C(n, k)
    WIDTH: tl.constexpr,  # W
    COEFF_STRIDES: tl.constexpr,  # along k, groups, columns
    LOWER_STRIDES: tl.constexpr,  # along groups, columns
    UPPER_STRIDES: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    UNROLL: tl.constexpr,  # tiles whose loads are under way at once
    RAGGED: tl.constexpr,  # some program has rows beyond the last
):
    """``y = sum_k c_k b_{n,k}(x)``."""
    group, start, left, cols = _place(rows, span, WIDTH, COLS)
    tile, row, inside = _tile(cols, WIDTH, ROWS)
    lower, upper, stretch = _interval(
        lower_ptr, upper_ptr, group, cols, SCALE, WIDTH, LOWER_STRIDES, UPPER_STRIDES
    )
    raw = _coefficients(coeffs_ptr, group, cols, DEGREE, WIDTH, COEFF_STRIDES)
    coeffs = ()
    for k in tl.static_range(DEGREE + 1):
        coeffs = coeffs + (raw[k] * WEIGHTS[k],)
    x_ptr += start
    y_ptr += start
    for first in range(0, left, ROWS * UNROLL):
        masks = _masks(inside, row, left - first, ROWS, UNROLL, RAGGED)
        xs = _load(x_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        for u in tl.static_range(UNROLL):
            z = clamp(xs[u], lower, upper)
            t, s = distances(z, lower, upper, stretch)
            y = value(coeffs, t, s, DEGREE, INNER, OUTER) * UNSCALE
            y = y.to(y_ptr.dtype.element_ty)
            tl.store(y_ptr + (tile + u * ROWS * WIDTH), y, mask=masks[u])
        x_ptr += ROWS * UNROLL * WIDTH
        y_ptr += ROWS * UNROLL * WIDTH


@triton.jit
def jaxbern_bernstein_vjp(
    x_ptr,
    coeffs_ptr,
    lower_ptr,
    upper_ptr,
    dy_ptr,
    rows,
    span,
    dx_ptr,
    sums_ptr,
    DEGREE: tl.constexpr,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    SCALE: tl.constexpr,
    UNSCALE: tl.constexpr,
    WEIGHTS: tl.constexpr,  # n C(n-1, k) / SCALE
    WIDTH: tl.constexpr,
    COEFF_STRIDES: tl.constexpr,
    LOWER_STRIDES: tl.constexpr,
    UPPER_STRIDES: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    UNROLL: tl.constexpr,
    RAGGED: tl.constexpr,
):
    """``dx = B'(x) dy``, and the sums of :func:`jaxbern_bernstein_moments`."""
    group, start, left, cols = _place(rows, span, WIDTH, COLS)
    tile, row, inside = _tile(cols, WIDTH, ROWS)
    lower, upper, stretch = _interval(
        lower_ptr, upper_ptr, group, cols, SCALE, WIDTH, LOWER_STRIDES, UPPER_STRIDES
    )
    coeffs = _coefficients(coeffs_ptr, group, cols, DEGREE, WIDTH, COEFF_STRIDES)
    derivative = slopes(coeffs, stretch, WEIGHTS, DEGREE)
    sums = _zeros(DEGREE, ROWS, COLS)
    x_ptr += start
    dy_ptr += start
    dx_ptr += start
    for first in range(0, left, ROWS * UNROLL):
        masks = _masks(inside, row, left - first, ROWS, UNROLL, RAGGED)
        # All loads before the first store, which they could not pass.
        xs = _load(x_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        dys = _load(dy_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        for u in tl.static_range(UNROLL):
            z = clamp(xs[u], lower, upper)
            t, s = distances(z, lower, upper, stretch)
            inner, outer = factors(t, s, dys[u], DEGREE, INNER, OUTER)
            dx = contract(derivative, inner, outer, DEGREE, INNER, OUTER) * UNSCALE
            # Not `x != z`, which holds for NaN: that has to come through.
            dx = tl.where((xs[u] < z) | (xs[u] > z), 0.0, dx)
            dx = dx.to(dx_ptr.dtype.element_ty)
            tl.store(dx_ptr + (tile + u * ROWS * WIDTH), dx, mask=masks[u])
            sums = accumulate(sums, inner, outer, DEGREE, INNER)
        x_ptr += ROWS * UNROLL * WIDTH
        dy_ptr += ROWS * UNROLL * WIDTH
        dx_ptr += ROWS * UNROLL * WIDTH
    _store_sums(sums, sums_ptr, cols, DEGREE, WIDTH, COLS)


@triton.jit
def jaxbern_bernstein_moments(
    x_ptr,
    lower_ptr,
    upper_ptr,
    dy_ptr,
    rows,
    span,
    sums_ptr,
    DEGREE: tl.constexpr,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    SCALE: tl.constexpr,
    WIDTH: tl.constexpr,
    LOWER_STRIDES: tl.constexpr,
    UPPER_STRIDES: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    UNROLL: tl.constexpr,
    RAGGED: tl.constexpr,
):
    """``sum dy t^k s^(n-k)``, scaled, over the rows of each program.

    As ``[n+1, S * programs of a group, W]``: no atomics, the same bits every time.
    """
    group, start, left, cols = _place(rows, span, WIDTH, COLS)
    tile, row, inside = _tile(cols, WIDTH, ROWS)
    lower, upper, stretch = _interval(
        lower_ptr, upper_ptr, group, cols, SCALE, WIDTH, LOWER_STRIDES, UPPER_STRIDES
    )
    sums = _zeros(DEGREE, ROWS, COLS)
    x_ptr += start
    dy_ptr += start
    for first in range(0, left, ROWS * UNROLL):
        masks = _masks(inside, row, left - first, ROWS, UNROLL, RAGGED)
        xs = _load(x_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        dys = _load(dy_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        for u in tl.static_range(UNROLL):
            z = clamp(xs[u], lower, upper)
            t, s = distances(z, lower, upper, stretch)
            inner, outer = factors(t, s, dys[u], DEGREE, INNER, OUTER)
            sums = accumulate(sums, inner, outer, DEGREE, INNER)
        x_ptr += ROWS * UNROLL * WIDTH
        dy_ptr += ROWS * UNROLL * WIDTH
    _store_sums(sums, sums_ptr, cols, DEGREE, WIDTH, COLS)


# --- where a program works ---------------------------------------------------------------


@triton.jit
def _place(rows, span, WIDTH: tl.constexpr, COLS: tl.constexpr):
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
def _tile(cols, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Offsets of a tile, its rows, and which elements are in columns that exist."""
    row = tl.arange(0, ROWS)[:, None]
    return row * WIDTH + cols[None, :], row, (cols < WIDTH)[None, :] & (row < ROWS)


@triton.jit
def _masks(
    inside,
    row,
    left,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
    RAGGED: tl.constexpr,
):
    if not RAGGED:
        return (inside,) * UNROLL
    masks = ()
    for u in tl.static_range(UNROLL):
        masks = masks + (inside & (row < left - u * ROWS),)
    return masks


# --- what it reads and writes ------------------------------------------------------------


@triton.jit
def _load(ptrs, masks, STRIDE: tl.constexpr, UNROLL: tl.constexpr):
    values = ()
    for u in tl.static_range(UNROLL):
        x = tl.load(ptrs + u * STRIDE, mask=masks[u], other=0.0)
        values = values + (x.to(tl.float32),)
    return values


@triton.jit
def _interval(
    lower_ptr,
    upper_ptr,
    group,
    cols,
    SCALE: tl.constexpr,
    WIDTH: tl.constexpr,
    LOWER_STRIDES: tl.constexpr,
    UPPER_STRIDES: tl.constexpr,
):
    """``l``, ``u`` and ``SCALE / (u - l)``: the only division."""
    lower_ptr += group * LOWER_STRIDES[0] + cols * LOWER_STRIDES[1]
    upper_ptr += group * UPPER_STRIDES[0] + cols * UPPER_STRIDES[1]
    lower = tl.load(lower_ptr, mask=cols < WIDTH, other=0.0)[None, :]
    upper = tl.load(upper_ptr, mask=cols < WIDTH, other=1.0)[None, :]
    return (
        lower,
        upper,
        tl.div_rn(tl.full(upper.shape, SCALE, tl.float32), upper - lower),
    )


@triton.jit
def _coefficients(
    coeffs_ptr,
    group,
    cols,
    DEGREE: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
):
    coeffs_ptr += group * STRIDES[1] + cols * STRIDES[2]
    coeffs = ()
    for k in tl.static_range(DEGREE + 1):
        c = tl.load(coeffs_ptr + k * STRIDES[0], mask=cols < WIDTH, other=0.0)
        coeffs = coeffs + (c[None, :],)
    return coeffs


@triton.jit
def _zeros(DEGREE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    zeros = ()
    for _ in tl.static_range(DEGREE + 1):
        zeros = zeros + (tl.full((ROWS, COLS), 0.0, tl.float32),)
    return zeros


@triton.jit
def _store_sums(
    sums, sums_ptr, cols, DEGREE: tl.constexpr, WIDTH: tl.constexpr, COLS: tl.constexpr
):
    program = tl.program_id(0) // ((WIDTH + COLS - 1) // COLS)
    programs = tl.num_programs(0) // ((WIDTH + COLS - 1) // COLS)
    for k in tl.static_range(DEGREE + 1):
        at = (program + programs.to(tl.int64) * k) * WIDTH + cols
        tl.store(sums_ptr + at, tl.reduce(sums[k], 0, _add), mask=cols < WIDTH)


@triton.jit
def _add(a, b):
    return a + b
