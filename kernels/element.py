"""What the Pallas kernels do with an element, whichever compiler they are written for.

Per element: clamp, then the distances to both ends, then few products from which all
``t^k s^(n-k)`` are made, in one of two forms (:mod:`jaxbern.kernels.factored`,
:mod:`jaxbern.kernels.ratio`). Contracted with the coefficients they are the value, to which
the addend and the straight line beyond an end come with one multiply-add each. With ``dy``
multiplied into them they serve twice: contracted with the slope's coefficients they are
``dx``, added up over the rows the moments.

:class:`Value` and :class:`Slope` hold what belongs to a column, computed once from its
parameters; they are pytrees, so a kernel may spread them over the rows of its tile.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.kernels import factored, ratio
from jaxbern.kernels.forms import HORNER, PRODUCTS
from jaxbern.kernels.packed import Task


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

    def quick_reciprocal(self, x: jax.Array) -> jax.Array:
        """``1 / x`` to a few units in the last place, in one instruction."""
        return 1 / x

    def minimum(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The smaller, NaN if one is."""
        return jnp.minimum(a, b)

    def maximum(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The larger, NaN if one is."""
        return jnp.maximum(a, b)

    def select(self, condition: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        """``a`` where the condition holds, else ``b``."""
        return jnp.where(condition, a, b)


_STATIC = {"static": True}  # known while a kernel is traced: no part of the pytree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Place:
    """Where an element lies in its interval."""

    arithmetic: Arithmetic = dataclasses.field(metadata=_STATIC)
    stretch: float = dataclasses.field(metadata=_STATIC)
    lower: jax.Array
    upper: jax.Array
    centre: list[jax.Array]  # one, or none
    inverse: jax.Array  # stretch / (u - l)

    @classmethod
    def of(
        cls, interval: Sequence[jax.Array], stretch: float, arithmetic: Arithmetic
    ) -> "Place":
        """Prepare for ``interval``, two or three rows."""
        lower, upper, *centre = interval
        inverse = arithmetic.reciprocal(upper - lower) * stretch
        return cls(arithmetic, stretch, lower, upper, centre, inverse)

    def __call__(self, x: jax.Array):
        """``x`` without the centre, the same clamped, its distances to both ends."""
        v = x - self.centre[0] if self.centre else x
        z = self.arithmetic.clamp(v, self.lower, self.upper)
        return v, z, z - self.lower, self.upper - z


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Value:
    """``y = sum_k c_k b_{n,k}(x)``, plus an addend."""

    in_ratio: bool = dataclasses.field(metadata=_STATIC)
    linear: bool = dataclasses.field(metadata=_STATIC)
    place: Place
    coeffs: list[jax.Array]  # C(n,k) c_k
    tails: list[jax.Array]  # slopes at both ends, if the activation goes on as a line

    @classmethod
    def of(cls, task: Task, interval, raw: Sequence[jax.Array], arithmetic) -> "Value":
        """Prepare for rows of the interval and coefficients ``c_k``."""
        degree = task.degree
        # The ratio is never so small that it needs to be stretched.
        in_ratio = task.form != PRODUCTS
        stretch = 1.0 if in_ratio else factored.stretch(degree)
        place = Place.of(interval, stretch, arithmetic)
        coeffs = [c * float(math.comb(degree, k)) for k, c in enumerate(raw)]
        rate = place.inverse * (degree / stretch)
        ends = (raw[:2], raw[-2:]) if task.linear else ()
        tails = [(b - a) * rate for a, b in ends]
        return cls(in_ratio, task.linear, place, coeffs, tails)

    def __call__(self, x: jax.Array, *addend: jax.Array) -> jax.Array:
        """``y``, in float32."""
        place, arithmetic = self.place, self.place.arithmetic
        v, z, a, b = place(x)
        if self.in_ratio:
            y, m = ratio.evaluate(self.coeffs, a, b, place.inverse, arithmetic)
            y = arithmetic.fma(y, m, *addend) if addend else y * m
        else:
            degree = len(self.coeffs) - 1
            t, s = (factored.Powers(d * place.inverse) for d in (a, b))
            factors = factored.factor(degree)
            y = factored.evaluate(factors, self.coeffs, t, s, arithmetic.fma)
            y = arithmetic.scaled(y, place.stretch**-degree, *addend)
        if self.linear:
            low, high = self.tails
            y = arithmetic.fma(v - z, jnp.where(v < place.lower, low, high), y)
        return y


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Slope:
    """``dx = dy B'(x)`` and what one element adds to its column's sums."""

    task: Task = dataclasses.field(metadata=_STATIC)
    place: Place
    slopes: list[jax.Array]  # none if only the sums are wanted
    scale: list[jax.Array]  # what is left to multiply their sum by; none in the ratio

    @classmethod
    def of(cls, task: Task, interval, raw: Sequence[jax.Array], arithmetic) -> "Slope":
        """Prepare for coefficients ``raw``; without them there is no ``dx``."""
        degree = task.degree
        place = Place.of(interval, task.stretch, arithmetic)
        slopes = factored.slopes(raw) if raw else []
        scale = [place.inverse * (degree * place.stretch ** -(degree + 1))]
        if task.form != PRODUCTS:  # so little is stretched that no slope underflows
            slopes, scale = [slope * scale[0] for slope in slopes], []
        return cls(task, place, slopes, scale)

    def __call__(
        self,
        x: jax.Array,
        dy: jax.Array,
        sums: Sequence[jax.Array],
        onto: Callable[[Any], Any] = lambda value: value,
        once: Callable[[Any], Any] = lambda value: value,
    ) -> tuple[Any, tuple[jax.Array, ...]]:
        """``dx``, or None, and the sums with this element.

        Where sums have more rows than the element, ``onto`` spreads a factor over them
        and ``once`` does so too, but leaves zero in all rows but one.
        """
        task, place, arithmetic = self.task, self.place, self.place.arithmetic
        factors, inverse = task.factors, place.inverse
        add = functools.partial(_add_to_last, arithmetic.fma)
        v, z, a, b = place(x)
        made = None
        if task.form != PRODUCTS:
            made = ratio.Products.of(factors, a, b, inverse, dy, arithmetic)
            inner, outer = made.inner, made.outer
        else:
            t, s = factored.Powers(a * inverse), factored.Powers(b * inverse)
            inner = factored.inner_factors(factors, t, s)
            outer = factored.outer_factors(factors, t, s, scale=dy)
        each, weighed = list(map(onto, inner)), list(map(once, outer))
        sums = factored.accumulate(factors, sums, each, weighed, arithmetic.fma)
        if task.linear:
            over = jnp.minimum(v - z, 0.0), jnp.maximum(v - z, 0.0)
            sums = add(sums, once(dy), map(onto, over))
        if not self.slopes:
            return None, sums
        if made is not None and task.form == HORNER:
            dx = made.contract(self.slopes)
        else:
            args = self.slopes, inner, outer, arithmetic.fma
            dx = factored.contract(factors, *args)
        dx = dx * self.scale[0] if self.scale else dx
        if not task.linear:
            # Not `v != z`, which holds for NaN: that has to come through.
            dx = jnp.where((v < z) | (v > z), 0.0, dx)
            if task.ends:
                sums = add(sums, once(dx), map(onto, (b * inverse, a * inverse)))
        return dx, sums


def _add_to_last(fma, sums, factor, pair):
    *others, first, second = sums
    low, high = pair
    return *others, fma(factor, low, first), fma(factor, high, second)
