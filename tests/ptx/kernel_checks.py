"""What executed GPU kernels gave, against de Casteljau in float64.

The cases and the limits are the same for every way the kernels are written.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels import algebra
from tests.oracles import casteljau, interval_oracle
from tests.quick import quickly

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).tiny)

SHAPES = {  # of x, of a coefficient, of the interval
    "ragged": ((45, 37), (1, 37), (1, 1)),
    "one row": ((1, 40), (1, 40), (1, 1)),
    "one column": ((300, 1), (1, 1), (1, 1)),
    "smaller than a block": ((3, 5), (1, 5), (1, 5)),
    "seeds": ((3, 20, 9), (3, 1, 9), (3, 1, 9)),
    "full blocks": ((64, 64), (1, 64), (1, 64)),
    "shared": ((21, 7), (1, 1), (1, 1)),
    "fewer than a warp": ((3, 2), (1, 2), (1, 2)),
}
# Plain kernels; those of a whole layer, with centre, addend and interval gradients.
PLAIN = [
    *(
        (dtype, degree, "ragged", False, outside)
        for dtype in ("float32", "bfloat16", "float16")
        for degree in (1, 3, 9, 25)
        for outside in ("clamp", "linear")
    ),
    *(("float32", 3, shape, False, "clamp") for shape in SHAPES if shape != "ragged"),
    ("bfloat16", 3, "one column", False, "linear"),
    ("bfloat16", 9, "one row", False, "clamp"),
    ("float16", 3, "seeds", False, "linear"),
]
FUSED = [
    *(("float32", degree, "ragged", True, "clamp") for degree in (9, 25)),
    *(("float32", 3, shape, True, "clamp") for shape in ("full blocks", "shared")),
    ("float32", 9, "ragged", True, "linear"),
    ("float32", 3, "seeds", True, "linear"),
    ("bfloat16", 3, "fewer than a warp", True, "clamp"),
]
# Each dtype, form of polynomial, shape and mode at least once; all others are slow.
QUICK = {
    ("float32", 3, "ragged", False, "linear"),
    ("float32", 25, "ragged", False, "clamp"),
    ("bfloat16", 9, "one row", False, "clamp"),
    ("float16", 3, "seeds", False, "linear"),
    ("float32", 3, "one column", False, "clamp"),
    ("float32", 3, "smaller than a block", False, "clamp"),
    ("float32", 3, "shared", True, "clamp"),
    ("bfloat16", 3, "fewer than a warp", True, "clamp"),
}
CASES = [
    pytest.param(*case, marks=[] if case in QUICK else [pytest.mark.slow])
    for case in (*PLAIN, *FUSED)
]


def arguments(dtype, degree, name, fused):
    """``x, coeffs, interval, dy`` with values outside, and with a centre if ``fused``."""
    shape, parameters, own = SHAPES[name]
    rng = np.random.default_rng(degree)
    x, dy = rng.normal(size=(2, *shape)).astype(np.float32)
    x.flat[:: max(x.size // 7, 1)] = 3  # outside
    x.flat[1 :: max(x.size // 7, 2)] = -2.5
    coeffs = rng.normal(size=(degree + 1, *parameters)).astype(np.float32)
    rows = [rng.uniform(-2.0, -1.0, own), rng.uniform(1.0, 2.0, own)]
    if fused:
        rows.append(rng.uniform(-40.0, 40.0, own))
        x = x + np.float32(rows[-1])
    return x.astype(dtype), coeffs, np.float32(rows), dy.astype(dtype)


def check(outside, x, coeffs, interval, dy, y, dx, sums, addend=None):
    """All results; ``sums`` as :func:`algebra.gradients` takes them.

    Returns the largest error in units of what is allowed.
    """
    worst = []
    degree, dtype = len(coeffs) - 1, x.dtype
    fused = len(interval) == 3
    given = coeffs if fused else None
    dc, *dinterval = quickly(
        lambda sums, interval: algebra.gradients(
            sums, coeffs.shape, interval, outside, given, summed_dx=outside == "clamp"
        )
    )(sums, interval)
    narrow = dtype != np.float32
    rounding = float(jnp.finfo(dtype).eps) if narrow else 0.0
    tiny = float(jnp.finfo(dtype).smallest_subnormal) if narrow else TINY
    allowed = 8 * (degree + 2) * EPS

    def within(got, want, bound, rounding=rounding, tiny=tiny):
        error = np.abs(np.float64(got) - want)
        limit = bound + rounding * np.abs(want) + tiny
        np.testing.assert_array_less(error, limit)
        worst.append(float(np.max(error / limit)))

    wide, dy = np.float64(x), np.float64(dy)
    lower, upper, *centre = np.float64(interval)
    # The kernel's difference is rounded once, and so is that of the oracle.
    wide = np.float64(np.float32(wide - centre[0])) if centre else wide
    args, options = (lower, upper), {"outside": outside}
    addend = np.zeros_like(dy) if addend is None else np.float64(addend)
    limit = casteljau.size(wide, coeffs, *args, outside) + np.abs(addend)
    within(y, casteljau.value(wide, coeffs, *args, outside) + addend, allowed * limit)
    limit = casteljau.slope(wide, coeffs, *args, absolute=True, **options)
    want = casteljau.slope(wide, coeffs, *args, **options) * dy
    within(dx, want, allowed * limit * np.abs(dy))
    limit = casteljau.moments(wide, dy, *args, coeffs.shape, outside, absolute=True)
    want = casteljau.moments(wide, dy, *args, coeffs.shape, outside)
    exact = {"rounding": 0.0, "tiny": TINY}
    summed = x.size * (degree + 1) / coeffs.size
    within(dc, want, (allowed + summed * EPS) * limit, **exact)
    if fused:
        wants = interval_oracle.gradients(wide, coeffs, *args, dy, outside)
        limits = interval_oracle.limits(wide, coeffs, *args, dy, outside)
        [(dlower, dupper, dcentre)] = dinterval
        for got, want, limit in zip((dlower, dupper), wants, limits, strict=True):
            bound = (allowed + x.size / got.size * EPS) * limit
            within(got, want, bound, **exact)
        bound = (allowed + x.size / dcentre.size * EPS) * sum(limits)
        within(dcentre, sum(wants), bound, **exact)
    return max(worst)
