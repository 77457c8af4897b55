"""Kernels for the compiler: what elementwise and reduction code looks like."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_scaled(x, y, out, n, alpha, BLOCK: tl.constexpr):
    """out = x + alpha * y with a ragged edge, in float32 whatever the storage."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside).to(tl.float32)
    b = tl.load(y + at, mask=inside).to(tl.float32)
    result = tl.fma(b, tl.full((BLOCK,), alpha, tl.float32), a)
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def column_sums(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sums each column over all rows, ROWS at a time."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        at = row[:, None] * columns + column[None, :]
        total += tl.sum(tl.load(x + at, mask=inside, other=0).to(tl.float32), axis=0)
    tl.store(out + column, total, mask=column < columns)


@triton.jit
def polynomial(x, c, out, n, DEGREE: tl.constexpr, BLOCK: tl.constexpr):
    """Horner by fused multiply-adds in a loop, after a clamp to [-1, 1]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    t = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    t = tl.where(t < -1.0, -1.0, tl.where(t > 1.0, 1.0, t))
    value = tl.zeros((BLOCK,), tl.float32)
    for k in tl.range(0, DEGREE + 1):
        value = tl.fma(value, t, tl.load(c + (DEGREE - k)).to(tl.float32) + 0 * t)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """One row per program: maximum, exponential, sum, division."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    at = row * columns + column
    v = tl.load(x + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    result = e / tl.sum(e, axis=0)
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def own_logarithm(x, out, n, BLOCK: tl.constexpr):
    """log and a per-thread loop: control flow that differs between threads."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=1.0)
    tl.store(out + at, tl.log(v) + tl.sqrt(v), mask=inside)
