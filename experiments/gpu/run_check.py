"""Kernels on the device at hand against de Casteljau's algorithm in float64."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import jaxbern as jb
from experiments.gpu.run_plan import Plan

ENDS = (-3.0, 3.0)


@dataclass(frozen=True)
class Check:
    """One kernel's results; errors in units of what is allowed."""

    implementation: str
    degree: int
    dtype: str
    outside: str
    worst: float
    same_bits: bool  # in a second run
    problem: str = ""

    @property
    def good(self) -> bool:
        """Right, and the same twice."""
        return not self.problem and self.worst <= 1 and self.same_bits


def checks(plan: Plan) -> Iterator[Check]:
    """Check every case of the plan in turn."""
    for name in plan.implementations:
        for degree in plan.degrees:
            for dtype in plan.dtypes:
                for outside in ("clamp", "linear"):
                    case = name, degree, dtype, outside
                    try:
                        yield check(*case, *plan.checked)
                    except (jax.errors.JaxRuntimeError, NotImplementedError) as error:
                        problem = str(error).strip().splitlines()[0]
                        yield Check(*case, math.inf, False, problem)


def check(
    name: str, degree: int, dtype: str, outside: str, rows: int, width: int
) -> Check:
    """Value, gradient in ``x`` and in the coefficients of one case."""
    rng = np.random.default_rng(degree)
    x, dy = 2 * rng.normal(size=(2, rows, width))
    x[0], x[1] = ENDS  # both, exactly
    coeffs = np.float32(rng.normal(size=(width, degree + 1)))
    x, dy = jnp.asarray(x, dtype), jnp.asarray(dy, dtype)

    @jax.jit
    def run(x, coeffs, dy):
        def call(x, coeffs):
            return jb.bernstein(x, coeffs, outside=outside, implementation=name)

        y, pull = jax.vjp(call, x, coeffs)
        return y, *pull(dy)

    got, again = ([np.asarray(a) for a in run(x, coeffs, dy)] for _ in range(2))
    same = all(a.tobytes() == b.tobytes() for a, b in zip(got, again, strict=True))
    wanted = oracle(np.float64(x), np.float64(coeffs), np.float64(dy), outside)
    rounding = 0.0 if dtype == "float32" else float(jnp.finfo(dtype).eps)
    tiny = float(jnp.finfo(dtype).smallest_subnormal)
    eps = float(np.finfo(np.float32).eps)
    factors = (8 * (degree + 2) * eps,) * 2 + ((8 * (degree + 2) + rows) * eps,)
    worst = 0.0
    for i, (want, limit) in enumerate(wanted):
        # Sums over rows are kept in float32, whatever x is.
        own = rounding * np.abs(want) + tiny if i < 2 else np.finfo(np.float32).tiny
        error = np.abs(np.float64(got[i]) - want) / (factors[i] * limit + own)
        # NaN must not pass for a small error.
        worst = max(worst, float(np.max(np.where(np.isnan(error), np.inf, error))))
    return Check(name, degree, dtype, outside, worst, same)


def oracle(x, coeffs, dy, outside: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Compute ``y``, ``dx``, ``dcoeffs``, and the sums of sizes that errors are relative to.

    ``x`` and ``dy`` are ``[B, W]``, ``coeffs`` is ``[W, n+1]``; all in float64.
    """
    (lower, upper), degree = ENDS, coeffs.shape[-1] - 1
    z = np.clip(x, lower, upper)
    t = (z - lower) / (upper - lower)
    over, steps = x - z, np.diff(coeffs, axis=-1) * degree / (upper - lower)
    y, size = _casteljau(t, coeffs), _casteljau(t, np.abs(coeffs))
    sizes = np.abs(coeffs[..., 1:]) + np.abs(coeffs[..., :-1])
    slope = _casteljau(t, steps)
    steep = _casteljau(t, sizes * degree / (upper - lower))
    basis = np.stack(
        [
            math.comb(degree, k) * t**k * (1 - t) ** (degree - k)
            for k in range(degree + 1)
        ],
        axis=-1,
    )
    parts = basis * dy[..., None]
    if outside == "linear":
        y, size = y + over * slope, size + np.abs(over) * steep
        rise = over * dy * degree / (upper - lower)
        for k, sign in ((0, -1), (1, 1)):
            parts[..., k] += sign * np.where(over < 0, rise, 0)
            parts[..., degree - 1 + k] += sign * np.where(over > 0, rise, 0)
    else:
        slope = np.where(over != 0, 0, slope)
    dcoeffs = parts.sum(axis=0), np.abs(parts).sum(axis=0)
    return [(y, size), (slope * dy, steep * np.abs(dy)), dcoeffs]


def _casteljau(t, coeffs):
    row = np.broadcast_to(coeffs, (*t.shape, coeffs.shape[-1]))
    while row.shape[-1] > 1:
        row = (1 - t)[..., None] * row[..., :-1] + t[..., None] * row[..., 1:]
    return row[..., 0]
