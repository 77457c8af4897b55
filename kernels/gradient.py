r"""The operator and its gradient: start reading here.

For each neuron, with ``t = (x - l) / (u - l)`` and ``s = 1 - t``,

    y = sum_k c_k b_{n,k}(x),        b_{n,k}(x) = C(n,k) t^k s^(n-k),

continued beyond ``[l, u]`` as a constant or as the tangent at the end. Its gradient, for
a cotangent ``dy``, is a Bernstein polynomial again:

    dx   = dy * n / (u - l) * sum_k (c_{k+1} - c_k) b_{n-1,k}(x)
    dc_k = sum over rows of dy * b_{n,k}(x)
    dl   = - sum over rows of s dx,     du = - sum over rows of t dx

The last line holds because ``y`` depends on ``x``, ``l`` and ``u`` only through ``t``: moving
an end of the interval is moving ``x`` the other way, in proportion.

:data:`operator` is that, as a ``jax.custom_vjp``: its forward pass runs the evaluation
kernel and keeps ``x`` and what is per neuron; its backward pass runs one gradient kernel
for exactly what is asked for. Forward mode is not said again: the JVP rule of
``evaluate_p``, the primitive that callers bind, is the transpose of this backward pass.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.interpreters import ad

from jaxbern.kernels import primitives
from jaxbern.kernels.array_types import Array, Float
from jaxbern.kernels.primitives import evaluate as evaluate


@jax.tree_util.register_static
@dataclass(frozen=True)
class Options:
    """What a call is, apart from its arrays."""

    outside: str
    implementation: str


@jax.tree_util.register_static
@dataclass(frozen=True)
class Wanted:
    """What a backward pass is asked for, part of its residuals' tree structure."""

    letters: str  # of the arguments that move: x, coeffs, interval
    addends: int  # none or one


@jax.custom_vjp
def operator(
    options: Options,
    x: Float[Array, "*batch"],
    coeffs: Float[Array, "terms *#batch"],
    interval: Float[Array, "ends *#batch"],
    *addend: Float[Array, "*batch"],
) -> Float[Array, "*batch"]:
    """``sum_k c_k b_{n,k}(x)``, plus the addend if there is one."""
    return evaluate(x, coeffs, interval, *addend, **vars(options))


def _forward(options, x, coeffs, interval, *addend):
    arguments = x, coeffs, interval, *addend
    # Not `operator` again: its derivative would be asked for its derivative.
    y = evaluate(*(a.value for a in arguments), **vars(options))
    asked = zip("xci", arguments, strict=False)
    wanted = "".join(letter for letter, a in asked if a.perturbed)
    kept = x.value, coeffs.value, interval.value
    return y, (options, Wanted(wanted, len(addend)), kept)


def _backward(residuals, dy):
    options, wanted, (x, coeffs, interval) = residuals
    if isinstance(dy, SymbolicZero):
        dy = jnp.zeros_like(x)
    gradients = dict.fromkeys("xci")
    if wanted.letters == "c":
        gradients["c"] = primitives.moments(
            x, interval, dy, shape=coeffs.shape, **vars(options)
        )
    elif wanted.letters:
        # The kernel has x with the rest for nothing, and the rest one after the other.
        letters = next(w for w in primitives.WANTED if set(wanted.letters) <= set(w))
        found = primitives.cotangent(
            x, coeffs, interval, dy, wanted=letters, **vars(options)
        )
        asked = zip(letters, found, strict=True)
        gradients |= {letter: g for letter, g in asked if letter in wanted.letters}
    return options, *gradients.values(), *[dy] * wanted.addends


operator.defvjp(_forward, _backward, symbolic_zeros=True)


def _jvp(primals, tangents, **options):
    """The transpose of the pullback of :data:`operator`, in the arguments that move."""
    moving = [not isinstance(t, ad.Zero) for t in tangents]

    def of_moving(*moved):
        values = iter(moved)
        pairs = zip(primals, moving, strict=True)
        return operator(
            Options(**options), *(next(values) if m else p for p, m in pairs)
        )

    moved = [p for p, m in zip(primals, moving, strict=True) if m]
    y, pullback = jax.vjp(of_moving, *moved)
    pushed = tuple(t for t, m in zip(tangents, moving, strict=True) if m)
    [dy] = jax.linear_transpose(pullback, y)(pushed)
    return y, dy


ad.primitive_jvps[primitives.evaluate_p] = _jvp
