"""The Bernstein operator as JAX primitives, closed under every transform.

    evaluate(x, c)           y  = B(x; c)
    tangent(x, c, dx, dc)    dy = B'(x; c) dx + B(x; dc)        linear in dx, dc
    cotangent(x, c, dy)      dx = B'(x; c) dy,  dc = moments    linear in dy
    moments(x, dy)           dc_k = sum dy b_k(x)               linear in dy

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
from jaxbern.kernels.algebra import derivative

evaluate_p = Primitive("bernstein")
tangent_p = Primitive("bernstein_tangent")
cotangent_p = Primitive("bernstein_cotangent")
cotangent_p.multiple_results = True
moments_p = Primitive("bernstein_moments")


def evaluate(x, coeffs, lower, upper, *, implementation: str) -> jax.Array:
    """``sum_k c_k b_{n,k}(x)``, ``x`` clamped to ``[lower, upper]``."""
    x, coeffs, lower, upper = _vary_alike(x, coeffs, lower, upper)
    return evaluate_p.bind(x, coeffs, lower, upper, implementation=implementation)


def _tangent(x, coeffs, lower, upper, dx, *dcoeffs, implementation):
    """``dcoeffs`` is left out when the coefficients do not move."""
    args = _vary_alike(x, coeffs, lower, upper, dx, *dcoeffs)
    return tangent_p.bind(*args, implementation=implementation)


def _cotangent(x, coeffs, lower, upper, dy, *, implementation):
    args = _vary_alike(x, coeffs, lower, upper, dy)
    return cotangent_p.bind(*args, implementation=implementation)


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


def _tangent_by_parts(x, coeffs, lower, upper, dx, *dcoeffs, implementation):
    """``tangent`` written with ``evaluate``: its lowering, and its own derivative."""
    out = _slope_times(dx, x, coeffs, lower, upper, implementation=implementation)
    for moved in dcoeffs:
        out += evaluate(x, moved, lower, upper, implementation=implementation)
    return out


def _cotangent_by_parts(x, coeffs, lower, upper, dy, *, implementation):
    """``cotangent`` written with ``evaluate`` and ``moments``."""
    dx = _slope_times(dy, x, coeffs, lower, upper, implementation=implementation)
    dcoeffs = _moments(
        x, lower, upper, dy, shape=coeffs.shape, implementation=implementation
    )
    return dx, dcoeffs


# --- forward mode ----------------------------------------------------------------------


def _moved_with_interval(x, lower, upper, tangents, dtype):
    """The tangent of ``x`` relative to its interval: ``dx - s dl - t du``.

    ``B`` depends on ``x``, ``l`` and ``u`` only through ``t``, so moving an end of the interval
    is moving ``x`` the other way, in proportion.
    """
    dx, dlower, dupper = tangents
    if isinstance(dlower, ad.Zero) and isinstance(dupper, ad.Zero):
        return ad.instantiate_zeros(dx)
    dx, dlower, dupper = map(ad.instantiate_zeros, (dx, dlower, dupper))
    z = jnp.clip(x.astype(dtype), lower, upper)
    t, s = (z - lower) / (upper - lower), (upper - z) / (upper - lower)
    return (dx.astype(dtype) - s * dlower - t * dupper).astype(x.dtype)


def _evaluate_jvp(primals, tangents, **params):
    x, coeffs, lower, upper = primals
    dx, dcoeffs, *dbounds = tangents
    out = evaluate(*primals, **params)
    if all(isinstance(t, ad.Zero) for t in (dx, *dbounds)):
        return out, evaluate(x, dcoeffs, lower, upper, **params)
    dx = _moved_with_interval(x, lower, upper, (dx, *dbounds), coeffs.dtype)
    moving = [] if isinstance(dcoeffs, ad.Zero) else [dcoeffs]
    return out, _tangent(*primals, dx, *moving, **params)


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
    if not isinstance(ddy, ad.Zero):
        out_tangent = bind(x, lower, upper, ddy, shape=shape)
    degree = shape[0] - 1
    moves = (dx, dlower, dupper)
    if degree and not all(isinstance(t, ad.Zero) for t in moves):
        dx = _moved_with_interval(x, lower, upper, moves, lower.dtype)
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


def _tangent_transpose(dy, x, coeffs, lower, upper, dx, *dcoeffs, **params):
    wants_dx = ad.is_undefined_primal(dx)
    wants_dc = any(map(ad.is_undefined_primal, dcoeffs))
    out_dx = out_dc = None
    if wants_dx and wants_dc:
        out_dx, out_dc = _cotangent(x, coeffs, lower, upper, dy, **params)
    elif wants_dx:
        out_dx = _slope_times(dy, x, coeffs, lower, upper, **params)
    elif wants_dc:
        out_dc = _moments(x, lower, upper, dy, shape=coeffs.shape, **params)
    return None, None, None, None, out_dx, *[out_dc for _ in dcoeffs]


def _cotangent_transpose(cotangents, x, coeffs, lower, upper, dy, **params):
    ddx, ddc = map(ad.instantiate_zeros, cotangents)
    return None, None, None, None, _tangent(x, coeffs, lower, upper, ddx, ddc, **params)


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


def _batch(bind: Callable, coefficients: tuple[int, ...], like_x: tuple[int, ...]):
    """Batching rule: one more axis everywhere, in front (behind k for coefficients).

    ``x`` and what has its shape get the whole batch. Coefficients get it when one of
    them has it, or when the result has a gradient for each member of the batch; else
    size 1, which broadcasts, like an interval that is not batched.
    """

    def rule(args, dims, **params):
        size = next(
            a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None
        )
        own_coefficients = bind is _cotangent or any(
            dims[i] is not None for i in coefficients if i < len(dims)
        )
        moved = []
        for i, (a, d) in enumerate(zip(args, dims, strict=True)):
            axis = int(i in coefficients)
            a = jnp.expand_dims(a, axis) if d is None else jnp.moveaxis(a, d, axis)
            if i in like_x or (i in coefficients and own_coefficients):
                a = jnp.broadcast_to(a, (*a.shape[:axis], size, *a.shape[axis + 1 :]))
            moved.append(a)
        if "shape" in params:
            degree, *rest = params["shape"]
            params["shape"] = (degree, size, *rest)
        out = bind(*moved, **params)
        if bind is _cotangent:
            return out, (0, 1)
        return out, 1 if bind is _moments else 0

    return rule


batching.primitive_batchers[evaluate_p] = _batch(evaluate, (1,), like_x=(0,))
batching.primitive_batchers[tangent_p] = _batch(_tangent, (1, 5), like_x=(0, 4))
batching.primitive_batchers[cotangent_p] = _batch(_cotangent, (1,), like_x=(0, 4))
batching.primitive_batchers[moments_p] = _batch(_moments, (), like_x=(0, 3))


# --- shapes, and what runs -------------------------------------------------------------


evaluate_p.def_abstract_eval(lambda x, *args, **params: x)
tangent_p.def_abstract_eval(lambda x, *args, **params: x)
cotangent_p.def_abstract_eval(
    lambda x, coeffs, *args, **params: [x, coeffs.strip_weak_type()]
)


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
