"""The algorithms of `jaxbern.poly`, on arrays whose shapes and dtypes are already checked.

Coefficients ``c`` are ``[..., n+1]``; ends ``low`` and ``up`` are ``[...]``.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

# Up to this degree de Casteljau's algorithm is written out: its gradient is then several
# times faster than that of a loop, and takes no longer to compile.
UNROLLED = 10


def basis(degree, x, low, up):
    """Evaluate the basis at clamped ``x [..., 1]``, as ``[..., n+1]``."""
    # Here and below, only products and sums are used: gradients of powers are NaN at
    # the ends, and binomials overflow.
    low, up = low[..., None], up[..., None]
    x = clamp(x, low, up)
    t, s = (x - low) / (up - low), (up - x) / (up - low)
    # Propagate NaN at degree 0 as well, where the loop takes no step.
    b = [jnp.where(jnp.isnan(t), t, 1.0), *[jnp.zeros_like(t)] * degree]

    def step(b, _):  # the last entry, which wraps around, is 0 up to the last step
        return s * b + t * jnp.roll(b, 1, -1), None

    return lax.scan(step, jnp.concatenate(b, -1), length=degree)[0]


def derivative(order, c, low, up):
    """Take differences of the coefficients ``order`` times."""
    if order >= c.shape[-1]:
        return jnp.zeros_like(c[..., :1])
    for _ in range(order):
        c = float(c.shape[-1] - 1) * jnp.diff(c, axis=-1) / (up - low)[..., None]
    return c


def elevate(m, c, *_):
    """Write the polynomial in degree ``m``."""
    if m < (n := c.shape[-1] - 1):
        raise ValueError(
            f"degree must be at least {n}, that of coeffs, got {m}; use from_function"
        )
    weights = np.zeros((n + 1, m + 1))
    for k, j in itertools.product(range(n + 1), range(m - n + 1)):
        # A quotient of Python integers is the rational number, correctly rounded.
        weights[k, j + k] = math.comb(n, k) * math.comb(m - n, j) / math.comb(m, j + k)
    return jnp.dot(c, jnp.asarray(weights, c.dtype), precision=lax.Precision.HIGHEST)


def restrict(c, low, up, start, stop):
    """Return the coefficients over ``[start, stop]``, both clamped."""
    a, b = clamp(start, low, up), clamp(stop, low, up)
    swap = a > b
    # where, not minimum and maximum: those halve the gradients of a zero width.
    a, b = jnp.where(swap, b, a), jnp.where(swap, a, b)
    # Cut at one end, then cut the remaining part at the other end. The length of that
    # part is a divisor, so mirror first: it is then at least half of the interval.
    mirror = b - low > up - a
    left = jnp.where(mirror, b - low, up - a)
    first = jnp.where(mirror, up - b, a - low)
    second = jnp.where(mirror, a - low, up - b)
    c = jnp.where(mirror[..., None], jnp.flip(c, -1), c)
    c = cut(c, left / (up - low), first / (up - low))
    c = cut(jnp.flip(c, -1), (b - a) / left, second / left)
    c = jnp.where((swap == mirror)[..., None], jnp.flip(c, -1), c)
    return jnp.where(jnp.isnan(a + b)[..., None], jnp.nan, c)


def cut(c, s, t):
    """Return the coefficients on the part to the right of ``t``, by de Casteljau."""
    if c.shape[-1] <= UNROLLED + 1:
        rows, done = [c[..., k] for k in range(c.shape[-1])], []
        while rows:
            done.append(rows[-1])
            rows = [s * p + t * q for p, q in itertools.pairwise(rows)]
        return jnp.stack(done[::-1], axis=-1)
    s, t, k = s[..., None], t[..., None], jnp.arange(c.shape[-1])

    def step(v, last):
        blend = s * v + t * jnp.roll(v, -1, -1)
        return jnp.where(jnp.broadcast_to(k < last, v.shape), blend, v), None

    return lax.scan(step, c, k[:0:-1])[0]


def power(c, low, up):
    """Return the power coefficients: row ``i`` of a table becomes that of ``x^i``."""
    n = c.shape[-1] - 1
    low, up, row = low[..., None, None], up[..., None, None], jnp.arange(n + 1)[:, None]
    ratios = jnp.asarray([(n - i) / (i + 1) for i in range(n)], c.dtype)

    def step(v, at):  # row i: i differences, which make C(n,i), then n-i blends
        i, ratio = at
        ahead = jnp.roll(v, -1, -1)  # the wrapped entry never reaches column 0
        blend = (up * v - low * ahead) / (up - low)
        first = jnp.broadcast_to(i < row, v.shape)
        return jnp.where(first, ratio * (ahead - v) / (up - low), blend), None

    rows = jnp.broadcast_to(c[..., None, :], (*c.shape, n + 1))
    return lax.scan(step, rows, (jnp.arange(n), ratios))[0][..., 0]


def clamp(x, low, up):
    """Clamp ``x`` with ``where``, because ``clip`` halves derivatives at the ends."""
    return jnp.where(x < low, low, jnp.where(x > up, up, x))
