"""The Bernstein operator as JAX primitives, closed under every transform.

    evaluate(x, c)           y  = B(x; c)
    tangent(x, c, dx, dc)    dy = B'(x; c) dx + B(x; dc)        linear in dx, dc
    cotangent(x, c, dy)      dx = B'(x; c) dy,  dc = moments    linear in dy
    moments(x, dy)           dc_k = sum dy b_k(x)               linear in dy

``evaluate`` also takes what is to be added to its result; ``tangent`` and ``cotangent`` also
the tangents and cotangents of the interval. A kernel has them for next to nothing,
and separate operations would read all of ``x`` and ``dy`` again.

``tangent`` and ``cotangent`` are transposes of each other, and so are ``evaluate`` (in its
coefficients) and ``moments``. That is the whole of differentiation: forward mode
evaluates ``tangent``, reverse mode transposes it, so a backward pass is one ``cotangent``
that needs ``x`` and ``c`` and nothing else from the forward pass; a ``custom_vjp`` would
have given the second and refused the first. The derivative of a Bernstein polynomial
is one of lower degree, so each rule is made of the same four again, at every order.

Shapes are those of :mod:`jaxbern.kernels.xla`. ``implementation`` names the backend that
runs a primitive; its derivatives and its batches keep it.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching
from jax.sharding import PartitionSpec

from jaxbern.kernels import lowering
from jaxbern.kernels.algebra import derivative, relative_move
from jaxbern.kernels.batch import by_kinds

evaluate_p = Primitive("bernstein")
tangent_p = Primitive("bernstein_tangent")
cotangent_p = Primitive("bernstein_cotangent")
cotangent_p.multiple_results = True
moments_p = Primitive("bernstein_moments")


def evaluate(x, coeffs, lower, upper, *addend, implementation: str) -> jax.Array:
    """``sum_k c_k b_{n,k}(x)``, ``x`` clamped to ``[lower, upper]``, plus ``addend``.

    The addend, if there is one, has the shape and the dtype of ``x``.
    """
    args = _vary_alike(x, coeffs, lower, upper, *addend)
    return evaluate_p.bind(*args, implementation=implementation)


def _tangent(x, coeffs, lower, upper, dx, *moving, implementation):
    """``moving``: ``dlower, dupper`` if the interval moves, then ``dcoeffs`` if these do."""
    args = _vary_alike(x, coeffs, lower, upper, dx, *moving)
    return tangent_p.bind(*args, implementation=implementation)


def _cotangent(x, coeffs, lower, upper, dy, *, interval, implementation):
    """``dx, dcoeffs``; with ``interval`` also ``dlower, dupper``."""
    args = _vary_alike(x, coeffs, lower, upper, dy)
    return cotangent_p.bind(*args, interval=interval, implementation=implementation)


def _moments(x, lower, upper, dy, *, shape, implementation):
    args = _vary_alike(x, lower, upper, dy)
    return moments_p.bind(*args, shape=shape, implementation=implementation)


def _vary_alike(*args):
    """Inside ``shard_map``: mark all arguments as varying over the same mesh axes.

    The transpose of that mark is the sum over shards a coefficient's gradient needs.
    """
    axes = [jax.typeof(a).manual_axis_type.varying for a in args]
    union = frozenset().union(*axes)
    return [
        lax.pcast(a, tuple(union - have), to="varying") if union - have else a
        for a, have in zip(args, axes, strict=True)
    ]


# --- the same by parts: what the rules are made of ------------------------------------


def _slope_times(factor, x, coeffs, lower, upper, *, implementation):
    """``B'(x; c) * factor`` in the dtype of ``x``; the slope is zero outside."""
    wide = x.astype(coeffs.dtype)
    inner = derivative(coeffs, lower, upper)
    slope = evaluate(wide, inner, lower, upper, implementation=implementation)
    product = slope * factor.astype(slope.dtype)
    outside = (wide < lower) | (wide > upper)
    return jnp.where(outside, jnp.zeros_like(product), product).astype(x.dtype)


def _tangent_by_parts(x, coeffs, lower, upper, dx, *moving, implementation):
    """``tangent`` written with ``evaluate``: its lowering, and its own derivative."""
    dbounds, dcoeffs = _sorted(moving)
    if dbounds:
        dx = relative_move(x, lower, upper, dx, *dbounds)
    out = _slope_times(dx, x, coeffs, lower, upper, implementation=implementation)
    for moved in dcoeffs:
        out += evaluate(x, moved, lower, upper, implementation=implementation)
    return out


def _sorted(moving):
    """What moves besides ``x``: both ends of the interval or none, and coefficients."""
    return (moving[:2], moving[2:]) if len(moving) > 1 else ((), moving)


def _cotangent_by_parts(x, coeffs, lower, upper, dy, *, interval, implementation):
    """``cotangent`` written with ``evaluate`` and ``moments``."""
    dx = _slope_times(dy, x, coeffs, lower, upper, implementation=implementation)
    dcoeffs = _moments(
        x, lower, upper, dy, shape=coeffs.shape, implementation=implementation
    )
    if not interval:
        return dx, dcoeffs
    still = jnp.zeros_like(dx), jnp.zeros_like(lower), jnp.zeros_like(upper)
    relative = functools.partial(relative_move, x, lower, upper)
    _, *bounds = jax.linear_transpose(relative, *still)(dx)
    return dx, dcoeffs, *bounds


# --- forward mode ----------------------------------------------------------------------


def _evaluate_jvp(primals, tangents, **params):
    x, coeffs, lower, upper, *_ = primals
    dx, dcoeffs, dlower, dupper, *daddend = tangents
    out = evaluate(*primals, **params)
    interval = [] if _still(dlower, dupper) else [dlower, dupper]
    moving = [] if _still(dcoeffs) else [dcoeffs]
    parts = [dy for dy in daddend if not _still(dy)]
    if interval or not _still(dx):
        args = map(ad.instantiate_zeros, (dx, *interval))
        parts.append(_tangent(x, coeffs, lower, upper, *args, *moving, **params))
    elif moving:
        parts.append(evaluate(x, dcoeffs, lower, upper, **params))
    return out, functools.reduce(jnp.add, parts)  # JAX asks only if something moves


def _still(*tangents) -> bool:
    return all(isinstance(t, ad.Zero) for t in tangents)


def _by_parts_jvp(by_parts: Callable, bind: Callable):
    """JVP of a primitive through its definition by parts, keeping its primal whole."""

    def rule(primals, tangents, **params):
        tangents = map(ad.instantiate_zeros, tangents)
        parts = functools.partial(by_parts, **params)
        _, out_tangent = jax.jvp(parts, primals, tuple(tangents))
        return bind(*primals, **params), out_tangent

    return rule


def _moments_jvp(primals, tangents, *, shape, implementation):
    """``b_{n,k}' = n / (u-l) (b_{n-1,k-1} - b_{n-1,k})``, and linear in ``dy``."""
    x, lower, upper, dy = primals
    dx, dlower, dupper, ddy = tangents
    bind = functools.partial(_moments, implementation=implementation)
    out = bind(*primals, shape=shape)
    out_tangent = None
    if not _still(ddy):
        out_tangent = bind(x, lower, upper, ddy, shape=shape)
    degree = shape[0] - 1
    if degree and not _still(dx, dlower, dupper):
        moves = map(ad.instantiate_zeros, (dx, dlower, dupper))
        dx = relative_move(x, lower, upper, *moves)
        inside = (x >= lower.astype(x.dtype)) & (x <= upper.astype(x.dtype))
        flow = jnp.where(inside, dy * dx, jnp.zeros_like(dy))
        # The factor 1/(u-l) may vary along axes that are summed: it goes in first.
        flow = (flow.astype(lower.dtype) * (degree / (upper - lower))).astype(dy.dtype)
        inner = bind(x, lower, upper, flow, shape=(degree, *shape[1:]))
        none = jnp.zeros_like(inner[:1])
        moved = jnp.concatenate([none, inner]) - jnp.concatenate([inner, none])
        out_tangent = moved if out_tangent is None else out_tangent + moved
    return out, jnp.zeros_like(out) if out_tangent is None else out_tangent


ad.primitive_jvps[evaluate_p] = _evaluate_jvp
ad.primitive_jvps[moments_p] = _moments_jvp
ad.primitive_jvps[tangent_p] = _by_parts_jvp(_tangent_by_parts, _tangent)
ad.primitive_jvps[cotangent_p] = _by_parts_jvp(_cotangent_by_parts, _cotangent)


# --- reverse mode ----------------------------------------------------------------------


def _evaluate_transpose(dy, x, coeffs, lower, upper, *, implementation):
    shape = coeffs.aval.shape
    dcoeffs = _moments(x, lower, upper, dy, shape=shape, implementation=implementation)
    return None, dcoeffs, None, None


def _tangent_transpose(dy, x, coeffs, lower, upper, dx, *moving, **params):
    wants_dx, *wanted = map(ad.is_undefined_primal, (dx, *moving))
    wants_bounds, wants_dc = map(any, _sorted(wanted))
    out_dx, out_dc, out_bounds = None, None, []
    if wants_bounds or (wants_dx and wants_dc):
        interval = bool(_sorted(moving)[0])
        out_dx, out_dc, *out_bounds = _cotangent(
            x, coeffs, lower, upper, dy, interval=interval, **params
        )
    elif wants_dx:
        out_dx = _slope_times(dy, x, coeffs, lower, upper, **params)
    elif wants_dc:
        out_dc = _moments(x, lower, upper, dy, shape=coeffs.shape, **params)
    out = [out_dx, *(out_bounds or [None] * len(_sorted(moving)[0])), out_dc]
    return None, None, None, None, *out[: 1 + len(moving)]


def _cotangent_transpose(
    cotangents, x, coeffs, lower, upper, dy, *, interval, **params
):
    del interval  # `moving` tells
    dx, dcoeffs, *dbounds = map(ad.instantiate_zeros, cotangents)
    moving = (*dbounds, dcoeffs)
    return (
        None,
        None,
        None,
        None,
        _tangent(x, coeffs, lower, upper, dx, *moving, **params),
    )


def _moments_transpose(ddc, x, lower, upper, dy, *, shape, implementation):
    return (
        None,
        None,
        None,
        evaluate(x, ddc, lower, upper, implementation=implementation),
    )


ad.primitive_transposes[evaluate_p] = _evaluate_transpose
ad.primitive_transposes[tangent_p] = _tangent_transpose
ad.primitive_transposes[cotangent_p] = _cotangent_transpose
ad.primitive_transposes[moments_p] = _moments_transpose


# --- vmap ------------------------------------------------------------------------------


# How operands and results are shaped, for a primitive called with `count` operands.


def _evaluate_kinds(count: int) -> tuple[str, str]:
    return "xcbbx"[:count], "x"


def _tangent_kinds(count: int) -> tuple[str, str]:
    dbounds, dcoeffs = _sorted(range(5, count))
    return "xcbbx" + "b" * len(dbounds) + "c" * len(dcoeffs), "x"


def _cotangent_kinds(count: int, interval: bool) -> tuple[str, str]:
    return "xcbbx"[:count], "xcbb" if interval else "xc"


def _moments_kinds(count: int) -> tuple[str, str]:
    return "xbbx"[:count], "c"


batching.primitive_batchers[evaluate_p] = by_kinds(evaluate, _evaluate_kinds)
batching.primitive_batchers[tangent_p] = by_kinds(_tangent, _tangent_kinds)
batching.primitive_batchers[cotangent_p] = by_kinds(_cotangent, _cotangent_kinds)
batching.primitive_batchers[moments_p] = by_kinds(_moments, _moments_kinds)


# --- shapes, and what runs -------------------------------------------------------------


evaluate_p.def_abstract_eval(lambda x, *args, **params: x)
tangent_p.def_abstract_eval(lambda x, *args, **params: x)


@cotangent_p.def_abstract_eval
def _cotangent_aval(x, coeffs, lower, upper, dy, *, interval, **params):
    parameters = (coeffs, lower, upper) if interval else (coeffs,)
    return [x, *(p.strip_weak_type() for p in parameters)]


@moments_p.def_abstract_eval
def _moments_aval(x, lower, *args, shape, **params):
    """Sharded like ``x`` along the axes it keeps, whole along those it sums over."""
    spec = [
        entry if size == own else None
        for entry, size, own in zip(_entries(x), shape[1:], x.shape, strict=True)
    ]
    sharding = x.sharding.update(spec=PartitionSpec(None, *spec))
    return x.update(shape=shape, dtype=lower.dtype, weak_type=False, sharding=sharding)


def _entries(x):
    return tuple(x.sharding.spec) + (None,) * (x.ndim - len(x.sharding.spec))


def _run_tangent(*args, implementation, platform):
    del platform  # `evaluate` finds out for itself
    return _tangent_by_parts(*args, implementation=implementation)


lowering.register(evaluate_p, lowering.run_evaluate)
lowering.register(tangent_p, _run_tangent)
lowering.register(cotangent_p, lowering.run_cotangent)
lowering.register(moments_p, lowering.run_moments)
