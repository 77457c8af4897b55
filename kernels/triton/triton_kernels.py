"""The Triton kernels: the value, the gradient, and what each can do beside.

A program takes some columns of one group and walks down some of its rows
(:mod:`jaxbern.kernels.triton_strip`). A tile has one element per thread, neighbouring
columns in neighbouring threads, so a thread meets one column only: its coefficients,
and its sums, stay in registers while the rows pass by.

Two functions do all the work. The kernels around them differ in what they are given,
and in the name under which a profile shows them.

This module needs Triton; :mod:`jaxbern.kernels.triton` imports it when it is asked to.
"""

import triton
import triton.language as tl

from jaxbern.kernels.triton.triton_strip import (
    load_interval,
    load_parameters,
    load_tiles,
    locate,
    store_sums,
    tile_masks,
    tile_offsets,
    zeros,
)
from jaxbern.kernels.triton.triton_tile import (
    accumulate,
    add,
    clamp,
    contract,
    distances,
    factors,
    rise,
    shifted,
    slopes,
    value,
)


@triton.jit
def jaxbern_bernstein(
    x_ptr,
    coeffs_ptr,
    interval_ptr,
    rows,  # B
    span,  # rows of one program
    y_ptr,
    FACTORS: tl.constexpr,  # n, J, I, scale of t and s
    WEIGHTS: tl.constexpr,  # C(n, k)
    WIDTH: tl.constexpr,  # W
    STRIDES: tl.constexpr,  # (k, groups, columns) of the interval, of coefficients
    TILE: tl.constexpr,  # rows, columns, tiles under way at once, are rows missing
    MODE: tl.constexpr,  # is there a centre, are tails straight, are ends summed
):
    """``y = sum_k c_k b_{n,k}(x)``."""
    refs = x_ptr, coeffs_ptr, interval_ptr, None, y_ptr
    _evaluate(refs, rows, span, FACTORS, WEIGHTS, WIDTH, STRIDES, TILE, MODE)


@triton.jit
def jaxbern_bernstein_skip(
    x_ptr,
    coeffs_ptr,
    interval_ptr,
    addend_ptr,
    rows,
    span,
    y_ptr,
    FACTORS: tl.constexpr,
    WEIGHTS: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    TILE: tl.constexpr,
    MODE: tl.constexpr,
):
    """``y = addend + sum_k c_k b_{n,k}(x)``."""
    refs = x_ptr, coeffs_ptr, interval_ptr, addend_ptr, y_ptr
    _evaluate(refs, rows, span, FACTORS, WEIGHTS, WIDTH, STRIDES, TILE, MODE)


@triton.jit
def jaxbern_bernstein_vjp(
    x_ptr,
    coeffs_ptr,
    interval_ptr,
    dy_ptr,
    rows,
    span,
    dx_ptr,
    sums_ptr,
    FACTORS: tl.constexpr,
    WEIGHTS: tl.constexpr,  # n C(n-1, k) / scale
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    TILE: tl.constexpr,
    MODE: tl.constexpr,
):
    """``dx = B'(x) dy``, and the sums of :func:`jaxbern_bernstein_moments`."""
    refs = x_ptr, coeffs_ptr, interval_ptr, dy_ptr, dx_ptr, sums_ptr
    _differentiate(refs, rows, span, FACTORS, WEIGHTS, WIDTH, STRIDES, TILE, MODE)


@triton.jit
def jaxbern_bernstein_moments(
    x_ptr,
    interval_ptr,
    dy_ptr,
    rows,
    span,
    sums_ptr,
    FACTORS: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    TILE: tl.constexpr,
    MODE: tl.constexpr,
):
    """``sum dy t^k s^(n-k)``, scaled, over the rows of each program; then the ends' sums.

    As ``[n+1 or n+3, S * programs of a group, W]``: no atomics, the same bits every time.
    """
    refs = x_ptr, None, interval_ptr, dy_ptr, None, sums_ptr
    _differentiate(refs, rows, span, FACTORS, None, WIDTH, STRIDES, TILE, MODE)


@triton.jit
def _evaluate(
    refs,
    rows,
    span,
    FACTORS: tl.constexpr,
    WEIGHTS: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    TILE: tl.constexpr,
    MODE: tl.constexpr,
):
    """The value, plus the addend if there is one."""
    x_ptr, coeffs_ptr, interval_ptr, addend_ptr, y_ptr = refs
    DEGREE: tl.constexpr = FACTORS[0]
    SCALE: tl.constexpr = FACTORS[3]
    ROWS: tl.constexpr = TILE[0]
    UNROLL: tl.constexpr = TILE[2]
    UNSCALE: tl.constexpr = SCALE**-DEGREE
    group, start, left, cols = locate(rows, span, WIDTH, TILE[1])
    tile, row, inside = tile_offsets(cols, WIDTH, ROWS)
    interval, stretch = load_interval(
        interval_ptr, group, cols, SCALE, WIDTH, STRIDES[0], MODE[0]
    )
    lower, upper = interval[0], interval[1]
    raw = load_parameters(coeffs_ptr, group, cols, DEGREE + 1, WIDTH, STRIDES[1])
    low = rise(raw[0], raw[1], stretch, DEGREE / SCALE)
    high = rise(raw[DEGREE - 1], raw[DEGREE], stretch, DEGREE / SCALE)
    coeffs = ()
    for k in tl.static_range(DEGREE + 1):
        coeffs = coeffs + (raw[k] * WEIGHTS[k],)
    x_ptr += start
    y_ptr += start
    if addend_ptr is not None:
        addend_ptr += start
    for first in range(0, left, ROWS * UNROLL):
        masks = tile_masks(inside, row, left - first, ROWS, UNROLL, TILE[3])
        # All loads before the first store, which they could not pass.
        xs = load_tiles(x_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        addends = ()
        if addend_ptr is not None:
            addends = load_tiles(addend_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        for u in tl.static_range(UNROLL):
            v = shifted(xs[u], interval, MODE[0])
            z = clamp(v, lower, upper)
            t, s = distances(z, lower, upper, stretch)
            y = value(coeffs, t, s, DEGREE, FACTORS[1], FACTORS[2])
            if addend_ptr is not None:
                y = tl.fma(y, tl.full(y.shape, UNSCALE, tl.float32), addends[u])
            else:
                y = y * UNSCALE
            if MODE[1]:
                y = tl.fma(v - z, tl.where(v < lower, low, high), y)
            y = y.to(y_ptr.dtype.element_ty)
            tl.store(y_ptr + (tile + u * ROWS * WIDTH), y, mask=masks[u])
        x_ptr += ROWS * UNROLL * WIDTH
        y_ptr += ROWS * UNROLL * WIDTH
        if addend_ptr is not None:
            addend_ptr += ROWS * UNROLL * WIDTH


@triton.jit
def _differentiate(
    refs,
    rows,
    span,
    FACTORS: tl.constexpr,
    WEIGHTS: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDES: tl.constexpr,
    TILE: tl.constexpr,
    MODE: tl.constexpr,
):
    """The sums, and ``dx`` if there are coefficients."""
    x_ptr, coeffs_ptr, interval_ptr, dy_ptr, dx_ptr, sums_ptr = refs
    DEGREE: tl.constexpr = FACTORS[0]
    INNER: tl.constexpr = FACTORS[1]
    OUTER: tl.constexpr = FACTORS[2]
    SCALE: tl.constexpr = FACTORS[3]
    ROWS: tl.constexpr = TILE[0]
    COLS: tl.constexpr = TILE[1]
    UNROLL: tl.constexpr = TILE[2]
    UNSCALE: tl.constexpr = SCALE**-DEGREE
    group, start, left, cols = locate(rows, span, WIDTH, COLS)
    tile, row, inside = tile_offsets(cols, WIDTH, ROWS)
    interval, stretch = load_interval(
        interval_ptr, group, cols, SCALE, WIDTH, STRIDES[0], MODE[0]
    )
    lower, upper = interval[0], interval[1]
    x_ptr += start
    dy_ptr += start
    derivative = ()
    if coeffs_ptr is not None:
        coeffs = load_parameters(coeffs_ptr, group, cols, DEGREE + 1, WIDTH, STRIDES[1])
        derivative = slopes(coeffs, stretch, WEIGHTS, DEGREE)
        dx_ptr += start
    sums = zeros(DEGREE + 1, ROWS, COLS)
    ends = zeros(2 if MODE[2] else 0, ROWS, COLS)
    for first in range(0, left, ROWS * UNROLL):
        masks = tile_masks(inside, row, left - first, ROWS, UNROLL, TILE[3])
        xs = load_tiles(x_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        dys = load_tiles(dy_ptr + tile, masks, ROWS * WIDTH, UNROLL)
        for u in tl.static_range(UNROLL):
            v = shifted(xs[u], interval, MODE[0])
            z = clamp(v, lower, upper)
            t, s = distances(z, lower, upper, stretch)
            inner, outer = factors(t, s, dys[u], DEGREE, INNER, OUTER)
            if coeffs_ptr is not None:
                dx = contract(derivative, inner, outer, DEGREE, INNER, OUTER) * UNSCALE
                if not MODE[1]:
                    # Not `v != z`, which holds for NaN: that has to come through.
                    dx = tl.where((v < z) | (v > z), 0.0, dx)
                    if MODE[2]:
                        ends = add(ends, dx, s, t)
                dx = dx.to(dx_ptr.dtype.element_ty)
                tl.store(dx_ptr + (tile + u * ROWS * WIDTH), dx, mask=masks[u])
            sums = accumulate(sums, inner, outer, DEGREE, INNER)
            if MODE[1]:
                over = v - z
                ends = add(ends, dys[u], tl.minimum(over, 0.0), tl.maximum(over, 0.0))
        x_ptr += ROWS * UNROLL * WIDTH
        dy_ptr += ROWS * UNROLL * WIDTH
        if coeffs_ptr is not None:
            dx_ptr += ROWS * UNROLL * WIDTH
    COUNT: tl.constexpr = DEGREE + (3 if MODE[2] else 1)
    store_sums(sums + ends, sums_ptr, cols, COUNT, WIDTH, COLS)
