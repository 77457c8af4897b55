"""The forms in which kernels are written: exact products, honest counts, the same results."""

import math
from fractions import Fraction

import numpy as np
import pytest

from jaxbern.kernels import config, factored, forms, ratio
from jaxbern.kernels.config import Launch
from jaxbern.kernels.forms import HORNER, PRODUCTS, RATIO
from tests.kernels import calls
from tests.kernels.test_pallas_kernels import EPS, TINY, coefficients, points
from tests.oracles import casteljau

pytestmark = pytest.mark.slow


class Exact:
    """Arithmetic without rounding."""

    def fma(self, a, b, c):
        return a * b + c

    def minimum(self, a, b):
        return min(a, b)

    def maximum(self, a, b):
        return max(a, b)

    def select(self, condition, a, b):
        return Fraction(a if condition else b)

    def quick_reciprocal(self, x):
        return 1 / Fraction(x)


T = [Fraction(k, 7) for k in range(8)]


@pytest.mark.parametrize("degree", [1, 2, 5, 9, 25])
def test_horner_in_the_ratio_is_the_polynomial(degree):
    coeffs = [Fraction(3 * k * k - 7 * k + 1, k + 2) for k in range(degree + 1)]
    for t in T:
        s = 1 - t
        # An interval of width 6: distances of 6t and 6s.
        total, m = ratio.evaluate(coeffs, 6 * t, 6 * s, Fraction(1, 6), Exact())
        want = sum(c * t**k * s ** (degree - k) for k, c in enumerate(coeffs))
        assert total * m == want


@pytest.mark.parametrize("degree", [2, 3, 9, 15, 20, 25])
def test_products_in_the_ratio_are_those_of_both_distances(degree):
    slopes = [Fraction(k * k - 5, k + 1) for k in range(degree + 1)]
    dy, stretch = Fraction(-3, 7), Fraction(ratio.stretch(degree))
    for factors in ratio.blocks(degree):
        for t in T:
            args = 6 * t, 6 * (1 - t), stretch / 6, dy, Exact()
            made = ratio.Products.of(factors, *args)
            sums = factored.accumulate(
                factors, [0] * (degree + 1), made.inner, made.outer, Exact().fma
            )
            scale = dy * stretch**degree
            want = [scale * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)]
            assert list(sums) == want
            total = sum(a * b for a, b in zip(slopes, want, strict=True))
            assert made.contract(slopes) == total
            both = slopes, made.inner, made.outer, Exact().fma
            assert factored.contract(factors, *both) == total


def test_counts_are_those_of_the_machine_code():
    """Of the loops that XLA and ptxas made for an A30, as ``experiments gpu`` prints."""
    assert forms.value(9, PRODUCTS) == forms.Counts(fma=27, alu=2)
    assert forms.value(9, HORNER) == forms.Counts(fma=18, alu=15, special=1)
    [blocks] = ratio.blocks(25)
    assert forms.gradient(factored.factor(25), PRODUCTS).fma == 85
    assert forms.gradient(blocks, RATIO).fma == 76
    assert forms.gradient(blocks, HORNER).fma == 73


def test_the_form_depends_on_degree_bytes_and_lanes():
    # Bound by memory, the one with the fewest instructions.
    assert forms.of_value(9, 4, 64) == PRODUCTS
    assert forms.of_value(9, 2, 64) == HORNER
    assert forms.of_value(25, 4, 64) == HORNER
    for itemsize in (2, 4):
        assert forms.of_value(25, itemsize, 128) == PRODUCTS
        assert forms.of_gradient(25, itemsize, 128)[0] == PRODUCTS
        assert forms.of_gradient(25, itemsize, 64)[0] == HORNER
    # Where a factor could underflow the ratio is no choice.
    assert not ratio.blocks(40)
    assert forms.of_gradient(40, 2, 64)[0] == PRODUCTS


@pytest.mark.parametrize("capability, lanes", [("8.0", 64), ("8.9", 128), ("9.0", 128)])
def test_lanes_by_capability(monkeypatch, capability, lanes):
    monkeypatch.setenv("JAXBERN_CAPABILITY", capability)
    assert config.fma_lanes() == lanes


@pytest.mark.parametrize("name", ["pallas:interpret", "mosaic:interpret"])
@pytest.mark.parametrize("dtype, degree", [("float32", 25), ("bfloat16", 9)])
def test_error_of_the_ratio_is_within_the_bound(monkeypatch, name, dtype, degree):
    monkeypatch.setenv("JAXBERN_CAPABILITY", "8.0")
    itemsize = np.dtype(np.float32).itemsize // (1 if dtype == "float32" else 2)
    assert forms.of_value(degree, itemsize, 64) == HORNER
    assert forms.of_gradient(degree, itemsize, 64)[0] == HORNER
    rng = np.random.default_rng(degree)
    columns = 33
    lower = rng.uniform(-4, -2, (1, 1, columns)).astype(np.float32)
    upper = rng.uniform(2, 4, (1, 1, columns)).astype(np.float32)
    coeffs = coefficients(rng, degree, columns)
    x = points(rng, (3, 31, columns), lower, upper).astype(dtype)
    dy = rng.normal(size=x.shape).astype(dtype)
    launch = Launch(4, 32, 1, 4)
    y = calls.evaluate(name, x, coeffs, lower, upper, launch=launch)
    dx, dc = calls.vjp(name, x, coeffs, lower, upper, dy, launch=launch)
    allowed = 8 * (degree + 2) * EPS
    rounding = 0.0 if dtype == "float32" else 2.0**-8
    x, dy = np.float64(x), np.float64(dy)
    ends = lower, upper
    # A CPU flushes products below the smallest normal float; they meet a binomial.
    inner = forms.of_gradient(degree, itemsize, 64)[1].inner - 1
    lost = math.comb(degree, inner) * TINY
    for got, want, limit, floor in (
        (
            y,
            casteljau.value(x, coeffs, *ends),
            casteljau.value(x, np.abs(coeffs), *ends),
            np.abs(coeffs).max(),
        ),
        (
            dx,
            casteljau.slope(x, coeffs, *ends) * dy,
            casteljau.slope(x, coeffs, *ends, absolute=True) * np.abs(dy),
            2 * degree * np.abs(coeffs).max(),
        ),
    ):
        bound = allowed * limit + rounding * np.abs(want) + floor * lost
        np.testing.assert_array_less(np.abs(np.float64(got) - want), bound + TINY)
    want = casteljau.moments(x, dy, *ends, coeffs.shape)
    limit = casteljau.moments(x, np.abs(dy), *ends, coeffs.shape)
    bound = (allowed + 31 * EPS) * limit + np.abs(dy).sum() * lost + TINY
    np.testing.assert_array_less(np.abs(np.float64(dc) - want), bound)
