"""The steps that a network is made of, and what each does to a box.

A step is linear in one value before it, a sum of two, an activation of every entry, or a
maximum over windows. Linear steps are JAX functions ``apply(x, *constants)`` that are linear
in ``x`` and in every constant, without subtractions of their own: with the constants'
absolute values they act on radii and on rounding errors, and transposed on lines.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.certify import _bernstein, _fixed, _hull
from jaxbern.certify._bernstein import Points
from jaxbern.certify._lines import heights
from jaxbern.certify._rounding import Bounds, add, centred, gamma, known, size


@dataclass(frozen=True, eq=False)
class Linear:
    """``apply(x, *constants) + shift``; ``terms`` roundings at most in one number.

    Without constants all factors are zero or one.
    """

    source: int
    source_shape: tuple[int, ...]
    shape: tuple[int, ...]
    apply: Callable
    constants: tuple[jax.Array, ...] = ()
    shift: jax.Array | None = None  # of the step's shape
    terms: int = 0
    mixes: bool = False  # whether an output depends on several inputs
    # What errors in the constants and in the shift are relative to, if not themselves.
    constant_sizes: tuple[jax.Array, ...] | None = None
    shift_size: jax.Array | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """The steps before it."""
        return (self.source,)

    @property
    def exact(self) -> bool:
        """Whether it only moves numbers, without any rounding."""
        return not (self.constants or self.terms) and self.shift is None

    def at(self, x: jax.Array) -> jax.Array:
        """Apply the linear part to ``x``."""
        return self.apply(x, *self.constants)

    def reach(self, radius: jax.Array) -> jax.Array:
        """Bound the change of the output when each input moves by its radius."""
        return self.apply(radius, *map(jnp.abs, self.constants))

    def larger(self) -> tuple[jax.Array, ...]:
        """Return the sizes that errors in the constants are relative to."""
        if self.constant_sizes is not None:
            return self.constant_sizes
        return tuple(map(size, self.constants))

    def sizes(self, x: jax.Array) -> jax.Array:
        """Sum the sizes of all products of ``x >= 0`` with the factors."""
        found = self.apply(x, *self.larger())
        if self.shift is None:
            return found
        return found + (
            size(self.shift) if self.shift_size is None else self.shift_size
        )

    def interval(self, box: Bounds, rigorous: bool) -> Bounds:
        """Bound the output for inputs in a box; exact except for rounding."""
        if self.exact:
            return Bounds(self.at(box.lower), self.at(box.upper))
        if not rigorous:
            centre = 0.5 * (box.lower + box.upper)
            radius = 0.5 * (box.upper - box.lower)
            middle, reach = self._shifted(self.at(centre)), self.reach(radius)
            return Bounds(middle - reach, middle + reach)
        centre, radius = centred(box)
        middle = self._shifted(self.at(centre))
        error = gamma(self.terms, middle.dtype) * self.sizes(size(centre) + radius)
        reach = self.reach(radius) + error
        return known(Bounds(middle - reach, middle + reach))

    def _shifted(self, y: jax.Array) -> jax.Array:
        return y if self.shift is None else y + self.shift

    def after(self, before: "Linear") -> "Linear":
        """This step and the one before it as one.

        Only if one of them does not mix: then each factor of the product is one product,
        and its size is that of the factors.
        """
        count = len(before.constants)

        def apply(x, *constants):
            return self.apply(before.apply(x, *constants[:count]), *constants[count:])

        shift, shift_size = self.shift, None
        if before.shift is not None:
            shift = self._shifted(self.at(before.shift))
            own = size(before.shift) if before.shift_size is None else before.shift_size
            shift_size = self.sizes(own)
        elif shift is not None:
            shift_size = self.shift_size
        return Linear(
            before.source,
            before.source_shape,
            self.shape,
            apply,
            (*before.constants, *self.constants),
            shift,
            self.terms + before.terms,
            self.mixes or before.mixes,
            (*before.larger(), *self.larger()),
            shift_size,
        )


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of two values of one shape."""

    sources: tuple[int, int]
    shape: tuple[int, ...]

    def interval(self, one: Bounds, other: Bounds, rigorous: bool) -> Bounds:
        """Ends added up."""
        if rigorous:
            return known(add(one, other))
        return Bounds(one.lower + other.lower, one.upper + other.upper)


@dataclass(frozen=True, eq=False)
class Fixed:
    """An activation without parameters."""

    source: int
    shape: tuple[int, ...]
    name: str

    @property
    def sources(self) -> tuple[int, ...]:
        """The steps before it."""
        return (self.source,)

    def points(self, box: Bounds) -> Points:
        """Control points of every entry, in one row each."""
        return _fixed.points(self.name, _flat(box))

    def interval(self, box: Bounds, rigorous: bool) -> Bounds:
        """Bound every entry."""
        if not rigorous:
            return _fixed.ends(self.name, box)
        return _shaped(heights(self.points(box)), self.shape)


@dataclass(frozen=True, eq=False)
class Bernstein:
    """A Bernstein activation; numbers broadcast against the values, as in the operator."""

    source: int
    shape: tuple[int, ...]
    coeffs: jax.Array  # [n+1, ...]
    lower: jax.Array  # [...]
    upper: jax.Array
    outside: str

    @property
    def sources(self) -> tuple[int, ...]:
        """The steps before it."""
        return (self.source,)

    def points(self, box: Bounds) -> Points:
        """Control points of every entry, in one row each."""
        count = math.prod(self.shape)
        lower, upper = (
            jnp.broadcast_to(end, self.shape).reshape(count)
            for end in (self.lower, self.upper)
        )
        whole = (len(self.coeffs), *self.shape)
        coeffs = jnp.broadcast_to(self.coeffs, whole).reshape(-1, count).T
        return _bernstein.points(coeffs, lower, upper, _flat(box), self.outside)

    def interval(self, box: Bounds, rigorous: bool) -> Bounds:
        """Bound every entry."""
        if rigorous:
            return _shaped(heights(self.points(box)), self.shape)
        return _hull.hull(self.coeffs, self.lower, self.upper, box, self.outside)


@dataclass(frozen=True, eq=False)
class Increasing:
    """A function that grows with each of its inputs and does not round: a maximum."""

    source: int
    shape: tuple[int, ...]
    apply: Callable

    @property
    def sources(self) -> tuple[int, ...]:
        """The steps before it."""
        return (self.source,)

    def interval(self, box: Bounds, rigorous: bool) -> Bounds:
        """Bounds from the values at both ends."""
        del rigorous
        return Bounds(self.apply(box.lower), self.apply(box.upper))


Step = Linear | Sum | Fixed | Bernstein | Increasing
ACTIVATIONS = (Fixed, Bernstein)


@dataclass(frozen=True, eq=False)
class Graph:
    """The steps of a network in the order of their computation; step 0 is its input."""

    shape: tuple[int, ...]  # of the input
    steps: list[Step | None] = field(default_factory=lambda: [None])

    def append(self, step: Step) -> int:
        """Add a step and return its number; linear steps are joined where that is exact."""
        if isinstance(step, Linear):
            before = self.steps[step.source]
            if isinstance(before, Linear) and not (step.mixes and before.mixes):
                step = step.after(before)
        self.steps.append(step)
        return len(self.steps) - 1

    def shape_of(self, index: int) -> tuple[int, ...]:
        """Return the shape of the output of a step."""
        step = self.steps[index]
        return self.shape if step is None else step.shape

    def needed(self, output: int) -> list[int]:
        """Return the steps that the output depends on, in order."""
        found, waiting = {0}, [output]
        while waiting:
            index = waiting.pop()
            step = self.steps[index]
            if index not in found and step is not None:
                found.add(index)
                waiting += step.sources
        return sorted(found)


def intervals(
    graph: Graph, output: int, box: Bounds, *, rigorous: bool
) -> dict[int, Bounds]:
    """Bound every step that the output depends on, for inputs in a box."""
    found: dict[int, Bounds] = {0: box}
    for index in graph.needed(output)[1:]:
        step: Any = graph.steps[index]
        found[index] = step.interval(*(found[k] for k in step.sources), rigorous)
    return found


def transposed(step: Linear, rows: jax.Array, *, sizes: bool = False) -> jax.Array:
    """Turn ``rows [k, *output]`` of a linear form in the output into one in the input.

    With ``sizes`` the sizes of all products are added up, for ``rows >= 0``.
    """
    constants = step.larger() if sizes else step.constants
    x = jax.ShapeDtypeStruct(step.source_shape, rows.dtype)
    back = jax.linear_transpose(lambda x: step.apply(x, *constants), x)
    return jax.vmap(lambda row: back(row)[0])(rows)


def _flat(box: Bounds) -> Bounds:
    return Bounds(box.lower.reshape(-1), box.upper.reshape(-1))


def _shaped(box: Bounds, shape: tuple[int, ...]) -> Bounds:
    return known(Bounds(box.lower.reshape(shape), box.upper.reshape(shape)))
