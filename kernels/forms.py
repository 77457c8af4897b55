"""Which formula a kernel is written in, by counting what it costs.

A streaming multiprocessor of a GPU has a pipe for multiply-adds, of 64 lanes on an A30 or an
A100 and of 128 on others, one of 64 lanes for comparisons and selects, one of 16 for
reciprocals, and issues 128 instructions in a cycle. A kernel takes as long as its busiest
pipe, or as its bytes, which take about 0.08 cycles each on cards with HBM. Loads, stores
and conversions are the same in all of them and are left out.
"""

import functools
from dataclasses import dataclass

from jaxbern.kernels import factored, ratio
from jaxbern.kernels.factored import Factors, Powers

# Products of powers of t and s; those of the ratio; the latter, summed by Horner's rule.
PRODUCTS, RATIO, HORNER = "products", "ratio", "horner"

CYCLES_PER_BYTE = 0.08
ALU_LANES, SPECIAL_LANES, ISSUE_LANES = 64, 16, 128


@dataclass
class Counts:
    """Instructions for one element, by the pipe that runs them."""

    fma: int = 0
    alu: int = 0
    special: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.fma + self.alu + self.special

    def cycles(self, fma_lanes: int, nbytes: int) -> float:
        """Least cycles of one multiprocessor for one element."""
        return max(
            nbytes * CYCLES_PER_BYTE,
            self.fma / fma_lanes,
            self.alu / ALU_LANES,
            self.special / SPECIAL_LANES,
            self.total / ISSUE_LANES,
        )


class Counted:
    """A number, and the arithmetic of kernels, that only counts."""

    def __init__(self, counts: Counts):
        """Count into ``counts``."""
        self.counts = counts

    def _fma(self, *_) -> "Counted":
        self.counts.fma += 1
        return Counted(self.counts)

    def _alu(self, *_) -> "Counted":
        self.counts.alu += 1
        return Counted(self.counts)

    __mul__ = __add__ = __sub__ = fma = _fma
    __lt__ = minimum = maximum = select = _alu

    def quick_reciprocal(self, _) -> "Counted":
        """One instruction of the special-function unit."""
        self.counts.special += 1
        return Counted(self.counts)


def value(degree: int, form: str) -> Counts:
    """Instructions of the value: clamp, distances, polynomial, scale.

    >>> value(25, PRODUCTS), value(25, HORNER)
    (Counts(fma=56, alu=2, special=0), Counts(fma=36, alu=31, special=1))
    """
    one, counts = _clamped()
    coeffs = [Counted(counts) for _ in range(degree + 1)]
    if form == HORNER:
        ratio.evaluate(coeffs, one, one, one, one)
        counts.fma += 1  # the two factors
        return counts
    t, s = Powers(one * one), Powers(one * one)
    factored.evaluate(factored.factor(degree), coeffs, t, s, one.fma)
    counts.fma += 1  # the scale
    return counts


def gradient(factors: Factors, form: str) -> Counts:
    """Instructions of ``dx`` and of the sums."""
    one, counts = _clamped()
    numbers = [Counted(counts) for _ in range(factors.degree + 1)]
    if form == PRODUCTS:
        t, s = Powers(one * one), Powers(one * one)
        inner = factored.inner_factors(factors, t, s)
        outer = factored.outer_factors(factors, t, s, scale=one)
        factored.contract(factors, numbers, inner, outer, one.fma)
        counts.fma += 1  # the scale
    else:
        made = ratio.Products.of(factors, one, one, one, one, one)
        inner, outer = made.inner, made.outer
        if form == HORNER:
            made.contract(numbers)
        else:
            factored.contract(factors, numbers, inner, outer, one.fma)
    factored.accumulate(factors, numbers, inner, outer, one.fma)
    counts.alu += 3  # zero outside
    return counts


def _clamped() -> tuple[Counted, Counts]:
    """A clamp and two differences, with which every formula begins."""
    counts = Counts(fma=2, alu=2)
    return Counted(counts), counts


@functools.cache
def of_value(degree: int, itemsize: int, fma_lanes: int) -> str:
    """The form of the value; that with fewer instructions if they take as long."""

    def cost(form: str):
        return _cost(value(degree, form), fma_lanes, 2 * itemsize)

    return min((PRODUCTS, HORNER), key=cost)


@functools.cache
def of_gradient(degree: int, itemsize: int, fma_lanes: int) -> tuple[str, Factors]:
    """The form of the gradient, and the factorisation in it."""
    choices = [(PRODUCTS, factored.factor(degree))]
    choices += [(f, each) for each in ratio.blocks(degree) for f in (RATIO, HORNER)]

    def cost(choice: tuple[str, Factors]):
        form, factors = choice
        return _cost(gradient(factors, form), fma_lanes, 3 * itemsize)

    return min(choices, key=cost)


def _cost(counts: Counts, fma_lanes: int, nbytes: int) -> tuple[float, int]:
    return counts.cycles(fma_lanes, nbytes), counts.total
