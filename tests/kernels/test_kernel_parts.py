"""What the GPU kernels are made of: shapes, factors, launch configurations."""

import functools
import itertools
from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.kernels import config, factored
from jaxbern.kernels.algebra import sum_to
from jaxbern.kernels.factored import Factors, Powers
from jaxbern.kernels.layout import plan

# --- every shape as [S, B, W] ----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [(), (5,), (3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (2, 3, 4), (2, 3, 2, 4)],
)
def test_packing_keeps_what_belongs_together(shape):
    """Whatever broadcasts against ``x`` does so when packed, with the same result."""
    rng = np.random.default_rng(len(shape))
    x = jnp.asarray(rng.normal(size=shape))
    own = list(itertools.product(*((1, size) for size in shape)))
    pairs = list(itertools.product(own, repeat=2))
    for i in rng.permutation(len(pairs))[:3]:  # all of them take a minute
        c_shape, b_shape = pairs[i]
        coeffs = jnp.asarray(rng.normal(size=(2, *c_shape)))
        bound = jnp.asarray(rng.normal(size=(2, *b_shape)))
        layout = plan(shape, coeffs.shape, bound.shape)
        groups, rows, columns = layout.sizes
        packed = layout.pack(x)
        assert packed.shape == (groups, rows, columns)
        np.testing.assert_array_equal(layout.unpack(packed), x)
        c, b = map(layout.pack_parameters, (coeffs, bound))
        assert all(p.shape[1] in (1, groups) for p in (c, b))
        assert all(p.shape[2] in (1, columns) for p in (c, b))
        y = np.asarray(packed) * c[1][:, None] + b[0][:, None]
        np.testing.assert_array_equal(
            layout.unpack(jnp.asarray(y)), np.asarray(x) * coeffs[1] + bound[0]
        )
        sums = layout.unpack_sums(jnp.stack([jnp.sum(packed, axis=1)] * 3))
        assert sums.shape[0] == 3
        for own in (c_shape, b_shape):  # kept apart along all on which anything varies
            axes = tuple(i for i, size in enumerate(own) if size != shape[i])
            want = np.sum(x, axis=axes, keepdims=True) if axes else x
            got = sum_to(sums[1], own)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "x, coeffs, sizes",
    [
        ((64, 16), (1, 16), (1, 64, 16)),
        ((8, 64, 16), (1, 1, 16), (1, 512, 16)),  # a longer batch
        ((3, 64, 16), (3, 1, 16), (3, 64, 16)),  # seeds
        ((64, 3, 1, 16), (1, 3, 1, 16), (1, 64, 48)),  # seeds behind the batch
        ((8, 64, 16), (1, 1, 1), (1, 8192, 1)),  # all share one polynomial
        ((3, 64), (3, 1), (3, 64, 1)),
    ],
)
def test_sizes(x, coeffs, sizes):
    assert plan(x, (4, *coeffs), (2, *[1] * len(x))).sizes == sizes


# --- factors ---------------------------------------------------------------------------


def every_factorisation(degree):
    for inner in range(1, degree + 2):
        yield Factors(degree, inner, -(-(degree + 1) // inner))


class Monomial(NamedTuple):
    """``t^i s^j``: a product adds exponents."""

    i: int
    j: int

    def __mul__(self, other):
        return Monomial(self.i + other.i, self.j + other.j)


def fma(a, b, c):
    return a * b + c


@pytest.mark.parametrize("degree", [*range(1, 14), 25, 40, 63, 64])
def test_every_term_is_one_inner_times_one_outer_factor(degree):
    for factors in every_factorisation(degree):
        powers = Powers(Monomial(1, 0)), Powers(Monomial(0, 1))
        inner = factored.inner_factors(factors, *powers) or [Monomial(0, 0)]
        outer = factored.outer_factors(factors, *powers, scale=Monomial(0, 0))
        found = {}
        for block, each in zip(factors.blocks, outer, strict=True):
            for k, j in block:
                assert k not in found
                found[k] = tuple(each * inner[j])
        assert found == {k: (k, degree - k) for k in range(degree + 1)}


@pytest.mark.parametrize("degree", [*range(1, 14), 25, 40])
def test_sums_are_exact_in_rational_arithmetic(degree):
    t, s, scale = Fraction(3, 7), Fraction(2, 5), Fraction(5, 3)
    coeffs = [Fraction((7 * k) % 11 - 4, k + 1) for k in range(degree + 1)]
    terms = [t**k * s ** (degree - k) for k in range(degree + 1)]
    value = sum(c * term for c, term in zip(coeffs, terms, strict=True))
    for factors in every_factorisation(degree):
        powers = Powers(t), Powers(s)
        assert factored.evaluate(factors, coeffs, *powers, fma) == value
        inner = factored.inner_factors(factors, *powers)
        outer = factored.outer_factors(factors, *powers, scale)
        assert factored.contract(factors, coeffs, inner, outer, fma) == scale * value
        sums = factored.accumulate(factors, coeffs, inner, outer, fma)
        pairs = zip(coeffs, terms, strict=True)
        assert list(sums) == [c + scale * term for c, term in pairs]


@pytest.mark.parametrize("degree", [1, 2, 3, 9])
def test_slopes_are_the_derivative(degree):
    coeffs = [(7 * k) % 11 - 4 for k in range(degree + 1)]
    scaled = [Fraction(c) for c in factored.slopes(coeffs)]
    steps = [b - a for a, b in itertools.pairwise(coeffs)]
    for t in (Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)):
        got = sum(c * t**k * (1 - t) ** (degree - k) for k, c in enumerate(scaled))
        row = steps  # de Casteljau
        while len(row) > 1:
            row = [(1 - t) * a + t * b for a, b in itertools.pairwise(row)]
        assert got == row[0]


@pytest.mark.parametrize("degree", range(1, 65))
def test_no_form_of_horners_rule_is_cheaper(degree):
    """``2n + 12`` with clamping, distances and the last product, which are seven."""
    assert factored.operations(factored.factor(degree)) + 7 <= 2 * degree + 12


# --- launch configurations -------------------------------------------------------------

SIZES = [1, 2, 3, 16, 31, 33, 100, 256, 1000, 16384]


CHOICES = {
    "forward": config.forward,
    "forward, addend": functools.partial(config.forward, addend=True),
    "gradient": config.gradient,
    "gradient, ends": functools.partial(config.gradient, ends=True),
}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES.keys())
@pytest.mark.parametrize("degree", [1, 9, 64])
def test_launches_are_possible(choose, degree):
    for groups, batch, width in itertools.product((1, 3), SIZES, SIZES):
        launch = choose((groups, batch, width), degree)
        for number in (launch.rows, launch.columns, launch.unroll, launch.steps):
            assert number >= 1
            assert number & (number - 1) == 0
        assert launch.warps <= 8
        # No tile that could only be empty.
        assert launch.rows_per_program < 2 * max(batch, 1)
        assert launch.columns < 2 * width


@pytest.mark.parametrize("capability", ["8.0", "9.0"])
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("degree", [1, 3, 9, 15, 25])
def test_partial_sums_are_two_percent_at_most(degree, ends, capability, monkeypatch):
    monkeypatch.setenv("JAXBERN_CAPABILITY", capability)
    launch = config.gradient((1, 16384, 256), degree, ends=ends)
    sums = degree + (3 if ends else 1)
    assert 4 * sums <= 0.02 * 12 * launch.rows_per_program


def test_half_the_lanes_get_half_the_warps(monkeypatch):
    launches = {}
    for capability in ("8.0", "9.0"):
        monkeypatch.setenv("JAXBERN_CAPABILITY", capability)
        launches[capability] = config.gradient((1, 16384, 256), 25)
    few, many = launches["8.0"], launches["9.0"]
    assert (few.warps, many.warps) == (4, 8)
    # As many programs: the same rows share a partial sum.
    assert few.rows_per_program == many.rows_per_program


def test_seeds_count_as_parallel_work():
    alone = config.gradient((1, 1024, 256), 25)
    many = config.gradient((8, 1024, 256), 25)
    assert many.rows_per_program > alone.rows_per_program
