"""The lemma and the bounds in exact arithmetic, against polynomials multiplied out."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from experiments.theory import (
    exact_networks,
    rate_bounds,
    theory_degree,
    theory_rate,
    theory_stability,
)
from experiments.theory.theory_fitting import TARGETS, grid
from tests.oracles import poly_oracle


@pytest.mark.parametrize("depth, n", [(1, 4), (2, 3), (3, 2)])
def test_a_network_is_the_polynomial_it_multiplies_out_to(depth, n):
    net = exact_networks.random_network(random.Random(depth), 2, depth, 2, n)
    start = [Fraction(-1, 2), Fraction(3, 4)]
    end = [Fraction(1), Fraction(-5, 8)]
    line = [[a, b - a] for a, b in zip(start, end, strict=True)]  # a + t (b - a)
    written_out = poly_oracle.network(net.layers, line)
    for t in (Fraction(0), Fraction(1, 3), Fraction(1)):
        x = [a + t * (b - a) for a, b in zip(start, end, strict=True)]
        assert net(x) == poly_oracle.value(written_out, t)
    measured, vanishes = exact_networks.degree_on_line(net, start, end, n**depth)
    assert vanishes
    assert measured == poly_oracle.degree(written_out) == n**depth


def test_neurons_stay_inside_for_inputs_in_the_unit_box():
    rng = random.Random(5)
    for _ in range(20):
        net = exact_networks.random_network(rng, 3, 1, 4, 3)
        [layer] = net.layers
        for row, bias in zip(layer.weights, layer.biases, strict=True):
            assert sum(map(abs, row)) + abs(bias) <= layer.upper == -layer.lower


def test_a_degree_that_is_claimed_too_low_is_found_out():
    net = exact_networks.chebyshev_network(2, 3)
    assert exact_networks.degree_on_line(net, [Fraction(-1)], [Fraction(1)], 9) == (
        9,
        True,
    )
    measured, vanishes = exact_networks.degree_on_line(
        net, [Fraction(-1)], [Fraction(1)], 8
    )
    assert not vanishes
    assert measured == 9


def test_a_clamped_network_is_no_polynomial():
    row = theory_degree.outside(2, 3)
    assert not row.vanishes
    assert not row.holds


def test_chebyshev_networks_are_chebyshev_polynomials():
    net = exact_networks.chebyshev_network(2, 3)
    for x in (Fraction(k, 7) for k in range(-7, 8)):
        before, now = Fraction(1), x  # T_0, T_1, then T_{k+1} = 2 x T_k - T_{k-1}
        for _ in range(8):
            before, now = now, 2 * x * now - before
        assert net([x]) == now


def test_every_pair_holds():
    rows = theory_degree.check([(1, 2), (3, 2), (2, 4)])
    assert len(rows) == 6
    assert all(row.holds and row.bound == row.degree**row.depth for row in rows)


def test_rates_are_the_papers_formulas():
    width, depth, n, dimension = 16, 4, 3, 2
    found = {
        rate.method: rate.delta
        for rate in rate_bounds.rates(width, depth, n, dimension)
    }
    expected = {
        "ReLU_std": (16**2 * 4**2) ** -0.5,
        "ReLU_opt": (16**2 * 4**2 * math.log(16)) ** -0.5,
        "ReLU_flr": 16**-2.0,
        "FLES": 2.0**-16,
        "DBN": 3.0**-4,
    }
    assert found == pytest.approx(expected)
    deep = rate_bounds.rates(256, 150, 25, 28)[-1]
    assert deep.log10_delta == pytest.approx(-150 * math.log10(25))
    with pytest.raises(ValueError, match="width must be at least 2, got 1"):
        rate_bounds.rates(1, 5, 3, 1)


@pytest.mark.parametrize("delta", [1 / 3, 0.04, 0.001])
def test_moduli_of_continuity(delta):
    step = 2 / 4000
    rounded = math.ceil(delta / step - 1e-9) * step
    smooth, root = TARGETS
    assert rate_bounds.modulus(root.f, delta) == pytest.approx(
        math.sqrt(rounded), rel=1e-9
    )
    assert rate_bounds.modulus(lambda x: 3 * x, delta) == pytest.approx(3 * rounded)
    steepest = 3 * math.sqrt(3) / 8 * 4  # of 1 / (1 + (4x)^2)
    found = rate_bounds.modulus(smooth.f, delta)
    assert found <= steepest * rounded
    if delta < 0.01:
        assert found == pytest.approx(steepest * rounded, rel=1e-3)


@pytest.mark.parametrize(
    "f, n, error",
    [
        (np.abs, 2, 1 / 8),  # x^2 + 1/8
        (lambda x: x**5, 4, 2.0**-4),  # x^5 - T_5 / 16
        (lambda x: x**3 - x, 3, theory_rate.SMALLEST),
    ],
)
def test_best_polynomials_that_are_known(f, n, error):
    assert theory_rate.best_error(f, n) == pytest.approx(error, rel=1e-3)


def test_the_grid_has_zero_and_crowds_around_it():
    x = grid(180)
    assert 0 in x
    assert (x[0], x[-1]) == (-1, 1)
    near, far = np.diff(x[np.abs(x) < 0.02]), np.diff(x[np.abs(x) > 0.5])
    assert near.mean() < far[far < 0.1].mean() / 3


def test_the_printed_bound_needs_an_interval_of_length_one():
    slope, printed = theory_stability.counterexample()
    assert (slope, printed) == (8, 2)
