"""Four JAX primitives that are closed under transposition, batching and differentiation.

    evaluate(x, c, i)              y  = B(x; c)
    cotangent(x, c, i, dy)         dx = B'(x; c) dy,  dc, di        linear in dy
    tangent(x, c, i, dx, dc, di)   dy = B'(x; c) dx + B(x; dc)      linear in dx, dc, di
    moments(x, i, dy)              dc_k = sum dy b_k(x)             linear in dy

``tangent`` and ``cotangent`` are transposes of each other, and so are ``evaluate`` (in its
coefficients) and ``moments``. The derivative of ``evaluate`` is in
:mod:`jaxbern.kernels.gradient`. Those of the others are made of the same four again, as
the derivative of a Bernstein polynomial is one of lower degree: so every order works.

Shapes are those of :mod:`jaxbern.kernels.xla.xla_backend`. ``wanted`` has the letters of
what ``cotangent`` returns and ``tangent`` takes: ``x``, ``c`` (coeffs), ``i`` (interval).
``implementation`` names the backend; derivatives and batches keep it, and ``outside``.
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
from jaxbern.kernels.algebra import CLAMP, derivative, relative_move, where_moving
from jaxbern.kernels.array_types import Array, Float
from jaxbern.kernels.batch import by_kinds

# What a gradient kernel can be asked for; each contains the one before.
WANTED = ("x", "xc", "xci")

evaluate_p = Primitive("bernstein")
tangent_p = Primitive("bernstein_tangent")
cotangent_p = Primitive("bernstein_cotangent")
cotangent_p.multiple_results = True
moments_p = Primitive("bernstein_moments")


def evaluate(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    *addend: Float[Array, "*batch"],
    **options,
) -> Float[Array, "*batch"]:
    """``sum_k c_k b_{n,k}(x)``, plus ``addend`` of the shape and dtype of ``x``."""
    return evaluate_p.bind(*_vary_alike(x, coeffs, interval, *addend), **options)


def tangent(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    *moves: Float[Array, "..."],
    wanted: str,
    **options,
) -> Float[Array, "*batch"]:
    """What ``evaluate`` does when the ``wanted`` arguments make the ``moves``."""
    args = _vary_alike(x, coeffs, interval, *moves)
    return tangent_p.bind(*args, wanted=wanted, **options)


def cotangent(
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    wanted: str,
    **options,
) -> list[Float[Array, "..."]]:
    """Gradients in the ``wanted`` arguments."""
    args = _vary_alike(x, coeffs, interval, dy)
    return cotangent_p.bind(*args, wanted=wanted, **options)


def moments(
    x: Float[Array, "*batch"],
    interval: Float[Array, "ends *#batch"],
    dy: Float[Array, "*batch"],
    *,
    shape: tuple[int, ...],
    **options,
) -> Float[Array, "terms *#batch"]:
    """The gradient in coefficients of ``shape``."""
    return moments_p.bind(*_vary_alike(x, interval, dy), shape=shape, **options)


def _vary_alike(*args):
    """Mark all arguments, inside ``shard_map``, as varying over the same mesh axes.

    The transpose of that mark is the sum over shards a coefficient's gradient needs.
    """
    axes = [jax.typeof(a).manual_axis_type.varying for a in args]
    union = frozenset().union(*axes)
    return [
        lax.pcast(a, tuple(union - have), to="varying") if union - have else a
        for a, have in zip(args, axes, strict=True)
    ]


# --- the same by parts: what derivatives of derivatives are made of ---------------------


def _slope_times(factor, x, coeffs, interval, *, outside, implementation):
    """``B'(x; c) * factor`` in the dtype of ``x``.

    Beyond the ends the derivative is constant: that of the end, or zero if clamped.
    """
    options = {"outside": CLAMP, "implementation": implementation}
    inner = derivative(coeffs, interval)
    slope = evaluate(x.astype(coeffs.dtype), inner, interval, **options)
    product = slope * factor.astype(slope.dtype)
    return where_moving(x, interval, product, outside).astype(x.dtype)


def _tangent_by_parts(x, coeffs, interval, dx, *others, wanted, **options):
    if "i" in wanted:
        dx = relative_move(x, interval, dx, others[-1], options["outside"])
    out = _slope_times(dx, x, coeffs, interval, **options)
    if "c" in wanted:
        out += evaluate(x, others[0], interval, **options)
    return out


def _cotangent_by_parts(x, coeffs, interval, dy, *, wanted, **options):
    dx = _slope_times(dy, x, coeffs, interval, **options)
    if wanted == "x":
        return [dx]
    dcoeffs = moments(x, interval, dy, shape=coeffs.shape, **options)
    if wanted == "xc":
        return [dx, dcoeffs]
    move = functools.partial(relative_move, x, interval, outside=options["outside"])
    _, dinterval = jax.linear_transpose(move, dx, interval)(dx)
    return [dx, dcoeffs, dinterval]


# --- forward mode of the other three -----------------------------------------------------


def _by_parts_jvp(by_parts: Callable, bind: Callable):
    """JVP of a primitive through its definition by parts, keeping its primal whole.

    Gradients in ``x`` alone have no kernel of their own: there the primal is by parts too,
    and shares the slope with the tangent, so that its derivative is computed once.
    """

    def rule(primals, tangents, **params):
        tangents = map(ad.instantiate_zeros, tangents)
        parts = functools.partial(by_parts, **params)
        out, out_tangent = jax.jvp(parts, primals, tuple(tangents))
        if params["wanted"] != "x":
            out = bind(*primals, **params)
        return out, out_tangent

    return rule


def _moments_jvp(primals, tangents, *, shape, outside, implementation):
    """``b_{n,k}' = n / (u-l) (b_{n-1,k-1} - b_{n-1,k})``, and linear in ``dy``."""
    x, interval, dy = primals
    dx, dinterval, ddy = tangents
    bind = functools.partial(moments, implementation=implementation)
    out = bind(*primals, shape=shape, outside=outside)
    moved = []
    if not _still(ddy):
        moved.append(bind(x, interval, ddy, shape=shape, outside=outside))
    degree = shape[0] - 1
    if degree and not _still(dx, dinterval):
        dx, dinterval = map(ad.instantiate_zeros, (dx, dinterval))
        dx = relative_move(x, interval, dx, dinterval, outside)
        # The factor 1/(u-l) may vary along axes that are summed: it goes in first.
        flow = where_moving(x, interval, dy * dx, outside).astype(interval.dtype)
        flow = (flow * (degree / (interval[1] - interval[0]))).astype(dy.dtype)
        inner = bind(x, interval, flow, shape=(degree, *shape[1:]), outside=CLAMP)
        none = jnp.zeros_like(inner[:1])
        moved.append(jnp.concatenate([none, inner]) - jnp.concatenate([inner, none]))
    return out, functools.reduce(jnp.add, moved, jnp.zeros_like(out))


def _still(*tangents) -> bool:
    return all(isinstance(t, ad.Zero) for t in tangents)


ad.primitive_jvps[moments_p] = _moments_jvp
ad.primitive_jvps[tangent_p] = _by_parts_jvp(_tangent_by_parts, tangent)
ad.primitive_jvps[cotangent_p] = _by_parts_jvp(_cotangent_by_parts, cotangent)


# --- reverse mode ----------------------------------------------------------------------


def _evaluate_transpose(dy, x, coeffs, interval, **options):
    dcoeffs = moments(x, interval, dy, shape=coeffs.aval.shape, **options)
    return None, dcoeffs, None


def _tangent_transpose(dy, x, coeffs, interval, *moves, wanted, **options):
    asked = [w for w, m in zip(wanted, moves, strict=True) if ad.is_undefined_primal(m)]
    if asked == ["c"]:
        found = {"c": moments(x, interval, dy, shape=coeffs.shape, **options)}
    else:
        letters = next(w for w in WANTED if set(asked) <= set(w))
        out = cotangent(x, coeffs, interval, dy, wanted=letters, **options)
        found = dict(zip(letters, out, strict=True))
    return None, None, None, *(found.get(w) if w in asked else None for w in wanted)


def _cotangent_transpose(cotangents, x, coeffs, interval, dy, **params):
    moves = map(ad.instantiate_zeros, cotangents)
    return None, None, None, tangent(x, coeffs, interval, *moves, **params)


def _moments_transpose(ddc, x, interval, dy, *, shape, **options):
    return None, None, evaluate(x, ddc, interval, **options)


ad.primitive_transposes[evaluate_p] = _evaluate_transpose
ad.primitive_transposes[tangent_p] = _tangent_transpose
ad.primitive_transposes[cotangent_p] = _cotangent_transpose
ad.primitive_transposes[moments_p] = _moments_transpose


# --- vmap ------------------------------------------------------------------------------


batching.primitive_batchers[evaluate_p] = by_kinds(evaluate, "xcix", "x")
batching.primitive_batchers[tangent_p] = by_kinds(tangent, "xcixci", "x")
batching.primitive_batchers[cotangent_p] = by_kinds(cotangent, "xcix")
batching.primitive_batchers[moments_p] = by_kinds(moments, "xix", "c")


# --- shapes, and what runs -------------------------------------------------------------


evaluate_p.def_abstract_eval(lambda x, *args, **params: x)
tangent_p.def_abstract_eval(lambda x, *args, **params: x)


@cotangent_p.def_abstract_eval
def _cotangent_aval(x, coeffs, interval, dy, *, wanted, **params):
    like = (x, coeffs.strip_weak_type(), interval.strip_weak_type())
    return list(like[: len(wanted)])


@moments_p.def_abstract_eval
def _moments_aval(x, interval, dy, *, shape, **params):
    """Sharded like ``x`` along the axes it keeps, whole along those it sums over."""
    entries = (*x.sharding.spec, *[None] * (x.ndim - len(x.sharding.spec)))
    spec = [
        entry if size == own else None
        for entry, size, own in zip(entries, shape[1:], x.shape, strict=True)
    ]
    sharding = x.sharding.update(spec=PartitionSpec(None, *spec))
    dtype = interval.dtype
    return x.update(shape=shape, dtype=dtype, weak_type=False, sharding=sharding)


def _run_tangent(*args, platform, **params):
    del platform  # `evaluate` finds out for itself
    return _tangent_by_parts(*args, **params)


def _run_cotangent(*args, wanted, platform, **options):
    if wanted == "x":  # one evaluation of the slope: no sums, hence no gradient kernel
        return _cotangent_by_parts(*args, wanted=wanted, **options)
    return lowering.run_cotangent(*args, wanted=wanted, platform=platform, **options)


lowering.register(evaluate_p, lowering.run_evaluate)
lowering.register(tangent_p, _run_tangent)
lowering.register(cotangent_p, _run_cotangent)
lowering.register(moments_p, lowering.run_moments)
