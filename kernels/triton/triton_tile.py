"""The arithmetic of one tile, as Triton device functions.

The products ``t^k s^(n-k)`` are those of :mod:`jaxbern.kernels.factored`: ``OUTER`` blocks
of ``INNER`` terms, ``k = i INNER + j`` but for the last block, which ends at ``n``. Tuples
are unrolled by the compiler; a power that nobody uses is never computed.

Every multiply-add is a ``tl.fma``: what is fused is not up to the compiler, and the
interpreter, whose ``fma`` is a real one, gives the same bits.
"""

import triton
import triton.language as tl


@triton.jit
def clamp(x, lower, upper):
    """``x`` in ``[lower, upper]``; NaN stays NaN, and so reaches every result."""
    return tl.clamp(x, lower, upper, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def shifted(x, interval, CENTRED: tl.constexpr):
    """``x`` relative to the centre, if there is one."""
    if CENTRED:
        x = x - interval[2]
    return x


@triton.jit
def rise(below, above, stretch, WEIGHT: tl.constexpr):
    """The slope at an end, from the two coefficients there."""
    return (above - below) * (stretch * WEIGHT)


@triton.jit
def add(sums, factor, first, second):
    """``factor`` times each, to two sums."""
    return (tl.fma(factor, first, sums[0]), tl.fma(factor, second, sums[1]))


@triton.jit
def distances(z, lower, upper, stretch):
    """``t`` and ``s`` times a scale, each from its own end."""
    return (z - lower) * stretch, (upper - z) * stretch


@triton.jit
def slopes(coeffs, stretch, WEIGHTS: tl.constexpr, DEGREE: tl.constexpr):
    """Coefficients of the derivative, elevated to degree n, times ``C(n,k)``.

    ``C(n,k) e_k = C(n-1,k) d_k + C(n-1,k-1) d_(k-1)``, ``d_k = n (c_(k+1) - c_k) / (u-l)``.
    """
    below = (coeffs[1] - coeffs[0]) * WEIGHTS[0]
    scaled = (below * stretch,)
    for k in tl.static_range(1, DEGREE):
        above = (coeffs[k + 1] - coeffs[k]) * WEIGHTS[k]
        scaled = scaled + ((below + above) * stretch,)
        below = above
    return scaled + (below * stretch,)


@triton.jit
def value(coeffs, t, s, DEGREE: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr):
    """``sum_k coeffs_k t^k s^(n-k)``.

    All blocks but the last share a power of ``s``, which is multiplied in at the end.
    """
    t = _powers(t, INNER)
    s = _powers(s, INNER)
    inner = _inner(t, s, INNER)
    total = _block(coeffs, inner, 0, DEGREE, INNER)
    if OUTER > 1:
        shared = _shared(t[INNER], s[INNER], OUTER - 2)
        total = total * shared[0]
        for i in tl.static_range(1, OUTER - 1):
            block = _block(coeffs, inner, i * INNER, DEGREE, INNER)
            total = tl.fma(block, shared[i], total)
        last = _block(coeffs, inner, (OUTER - 1) * INNER, DEGREE, INNER)
        last = last * shared[OUTER - 2] * t[DEGREE + 1 - (OUTER - 1) * INNER]
        total = tl.fma(total, s[DEGREE + 1 - (OUTER - 1) * INNER], last)
    return total


@triton.jit
def factors(t, s, dy, DEGREE: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr):
    """Inner factors, and outer ones times ``dy``."""
    t = _powers(t, INNER)
    s = _powers(s, INNER)
    inner = _inner(t, s, INNER)
    if OUTER == 1:
        return inner, (dy,)
    shared = _shared(t[INNER], s[INNER], OUTER - 2)
    low = dy * s[DEGREE + 1 - (OUTER - 1) * INNER]
    outer = ()
    for i in tl.static_range(OUTER - 1):
        outer = outer + (shared[i] * low,)
    high = dy * t[DEGREE + 1 - (OUTER - 1) * INNER]
    return inner, outer + (shared[OUTER - 2] * high,)


@triton.jit
def contract(
    coeffs,
    inner,
    outer,
    DEGREE: tl.constexpr,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
):
    """``sum_i outer_i sum_j coeffs_k inner_j``."""
    total = _block(coeffs, inner, 0, DEGREE, INNER) * outer[0]
    for i in tl.static_range(1, OUTER):
        block = _block(coeffs, inner, i * INNER, DEGREE, INNER)
        total = tl.fma(block, outer[i], total)
    return total


@triton.jit
def accumulate(sums, inner, outer, DEGREE: tl.constexpr, INNER: tl.constexpr):
    """``sums_k + outer_i inner_j``."""
    added = ()
    for k in tl.static_range(DEGREE + 1):
        factor = inner[k - min(k // INNER * INNER, DEGREE + 1 - INNER)]
        added = added + (tl.fma(outer[k // INNER], factor, sums[k]),)
    return added


@triton.jit
def _powers(base, COUNT: tl.constexpr):
    """``base ** e`` for ``e <= COUNT``, each from two of half its exponent."""
    powers = (tl.full(base.shape, 1.0, tl.float32), base)
    for e in tl.static_range(2, COUNT + 1):
        powers = powers + (powers[e // 2] * powers[e - e // 2],)
    return powers


@triton.jit
def _inner(t, s, INNER: tl.constexpr):
    """``t^j s^(INNER-1-j)`` from the powers of ``t`` and of ``s``."""
    inner = (s[INNER - 1],)
    for j in tl.static_range(1, INNER):
        inner = inner + (t[j] * s[INNER - 1 - j],)
    return inner


@triton.jit
def _shared(t, s, LAST: tl.constexpr):
    """``t^i s^(LAST-i)``, as a power of ``t s`` times the rest of the larger exponent.

    Where ``t`` is small ``s`` is large. Together their product is no smaller than what it
    is needed for, while a high power of ``t`` alone may fall below the smallest float.
    """
    t_powers = _powers(t, LAST)
    s_powers = _powers(s, LAST)
    both = _powers(t * s, LAST // 2)
    shared = ()
    for i in tl.static_range(LAST + 1):
        rest = t_powers[max(2 * i - LAST, 0)] * s_powers[max(LAST - 2 * i, 0)]
        shared = shared + (both[min(i, LAST - i)] * rest,)
    return shared


@triton.jit
def _block(
    coeffs, inner, FIRST: tl.constexpr, DEGREE: tl.constexpr, INNER: tl.constexpr
):
    """``sum_j coeffs_k inner_j`` of the block whose own terms begin at ``k = FIRST``."""
    total = coeffs[FIRST] * inner[FIRST - min(FIRST, DEGREE + 1 - INNER)]
    for k in tl.static_range(FIRST + 1, min(FIRST + INNER, DEGREE + 1)):
        total = tl.fma(coeffs[k], inner[k - min(FIRST, DEGREE + 1 - INNER)], total)
    return total
