"""What the Pallas kernels do with an element, whichever compiler they are written for.

Per element: clamp, then ``t`` and ``s`` from the distances to both ends, then the factored
products of :mod:`jaxbern.kernels.factored`. Contracted with the coefficients they are the
value, to which the addend and the straight line beyond an end come with one multiply-add
each. With ``dy`` multiplied into the outer ones they serve twice: contracted with the
slope's coefficients they are ``dx``, added up over the rows the moments.

:class:`Value` and :class:`Slope` hold what belongs to a column, computed once from its
parameters; they are pytrees, so a kernel may spread them over the rows of its tile.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.kernels import factored


class Arithmetic:
    """The few instructions that compilers name differently, in plain ``jax.numpy``."""

    def fma(self, a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        """``a b + c``."""
        return a * b + c

    def scaled(self, x: jax.Array, factor: float, *addend: jax.Array) -> jax.Array:
        """``x factor``, plus the addend if there is one, in one instruction."""
        if not addend:
            return x * factor
        return self.fma(x, jnp.full_like(x, factor), *addend)

    def clamp(self, x: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
        """``x`` in ``[lower, upper]``, NaN where it was."""
        return jnp.minimum(jnp.maximum(x, lower), upper)

    def reciprocal(self, x: jax.Array) -> jax.Array:
        """``1 / x``, correctly rounded."""
        return 1 / x


def _pytree(cls):
    """A dataclass whose fields are arrays or lists of them, but for ``static`` ones."""
    cls = dataclass(frozen=True)(cls)
    static = cls.STATIC
    data = [name for name in cls.__dataclass_fields__ if name not in static]
    return jax.tree_util.register_dataclass(cls, data, list(static))


@_pytree
class Place:
    """Where an element lies in its interval."""

    STATIC = ("arithmetic", "stretch")

    arithmetic: Arithmetic
    stretch: float
    lower: jax.Array
    upper: jax.Array
    centre: list[jax.Array]  # one, or none
    inverse: jax.Array  # stretch / (u - l)

    @classmethod
    def of(cls, degree: int, interval: Sequence[jax.Array], arithmetic: Arithmetic):
        """For ``interval``, two or three rows."""
        lower, upper, *centre = interval
        stretch = factored.stretch(degree)
        inverse = arithmetic.reciprocal(upper - lower) * stretch
        return cls(arithmetic, stretch, lower, upper, centre, inverse)

    def __call__(self, x: jax.Array):
        """``x`` without the centre, the same clamped, and stretched ``t`` and ``s``."""
        v = x - self.centre[0] if self.centre else x
        z = self.arithmetic.clamp(v, self.lower, self.upper)
        t = factored.Powers((z - self.lower) * self.inverse)
        s = factored.Powers((self.upper - z) * self.inverse)
        return v, z, t, s


@_pytree
class Value:
    """``y = sum_k c_k b_{n,k}(x)``, plus an addend."""

    STATIC = ("degree", "linear")

    degree: int
    linear: bool
    place: Place
    coeffs: list[jax.Array]  # C(n,k) c_k
    tails: list[jax.Array]  # slopes at both ends, if the activation goes on as a line

    @classmethod
    def of(cls, place: Place, raw: Sequence[jax.Array], linear: bool):
        """For coefficients ``c_k``."""
        degree = len(raw) - 1
        coeffs = [c * float(math.comb(degree, k)) for k, c in enumerate(raw)]
        rate = place.inverse * (degree / place.stretch)
        ends = (raw[:2], raw[-2:]) if linear else ()
        return cls(degree, linear, place, coeffs, [(b - a) * rate for a, b in ends])

    def __call__(self, x: jax.Array, *addend: jax.Array) -> jax.Array:
        """``y``, in float32."""
        place, arithmetic = self.place, self.place.arithmetic
        v, z, t, s = place(x)
        factors = factored.factor(self.degree)
        y = factored.evaluate(factors, self.coeffs, t, s, arithmetic.fma)
        y = arithmetic.scaled(y, place.stretch**-self.degree, *addend)
        if self.linear:
            low, high = self.tails
            y = arithmetic.fma(v - z, jnp.where(v < place.lower, low, high), y)
        return y


@_pytree
class Slope:
    """``dx = dy B'(x)`` and what one element adds to its column's sums."""

    STATIC = ("degree", "linear", "ends")

    degree: int
    linear: bool
    ends: bool  # there are two sums more
    place: Place
    slopes: list[jax.Array]  # none if only the sums are wanted
    scale: jax.Array

    @classmethod
    def of(
        cls, degree: int, place: Place, raw: Sequence[jax.Array], linear: bool, ends
    ):
        """For coefficients ``raw``, or none of them: then there is no ``dx``."""
        slopes = factored.slopes(raw) if raw else []
        scale = place.inverse * (degree * place.stretch ** -(degree + 1))
        return cls(degree, linear, ends, place, slopes, scale)

    def __call__(
        self,
        x: jax.Array,
        dy: jax.Array,
        sums: Sequence[jax.Array],
        onto: Callable[[Any], Any] = lambda value: value,
        once: Callable[[Any], Any] = lambda value: value,
    ) -> tuple[jax.Array | None, tuple[jax.Array, ...]]:
        """``dx``, or None, and the sums with this element.

        Where sums have more rows than the element, ``onto`` spreads a factor over them
        and ``once`` does so too, but leaves zero in all rows but one.
        """
        arithmetic, factors = self.place.arithmetic, factored.factor(self.degree)
        add = functools.partial(_add_to_last, arithmetic.fma)
        v, z, t, s = self.place(x)
        inner = factored.inner_factors(factors, t, s)
        outer = factored.outer_factors(factors, t, s, scale=dy)
        each, weighed = list(map(onto, inner)), list(map(once, outer))
        sums = factored.accumulate(factors, sums, each, weighed, arithmetic.fma)
        if self.linear:
            over = jnp.minimum(v - z, 0.0), jnp.maximum(v - z, 0.0)
            sums = add(sums, once(dy), map(onto, over))
        if not self.slopes:
            return None, sums
        dx = factored.contract(factors, self.slopes, inner, outer, arithmetic.fma)
        dx = dx * self.scale
        if not self.linear:
            # Not `v != z`, which holds for NaN: that has to come through.
            dx = jnp.where((v < z) | (v > z), 0.0, dx)
            if self.ends:
                sums = add(sums, once(dx), map(onto, (s[1], t[1])))
        return dx, sums


def _add_to_last(fma, sums, factor, pair):
    *others, first, second = sums
    low, high = pair
    return *others, fma(factor, low, first), fma(factor, high, second)
