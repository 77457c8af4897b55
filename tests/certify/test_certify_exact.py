"""Certificates against exact rational arithmetic, where float32 is at its limits."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.attack import attack, times
from tests.oracles.poly_oracle import exact_derivative, exact_value, rational

# Ends that are not float32 numbers, some far from zero for their width.
AWKWARD = [(0.1, 0.10001), (10.1, 10.2), (1000.1, 1000.7), (-0.3, 0.7), (-1e6, -999999)]
TOO_EXTREME = [(-1e38, 1e38), (1e-38, 3e-38), (0.0, 1e-37), (-3e38, 3e38)]


def activation(lower, upper, coeffs):
    return jb.BernsteinAct(
        1,
        coeffs.shape[-1] - 1,
        lower=lower,
        upper=upper,
        init=lambda *_: jnp.asarray(coeffs, jnp.float32),
        rngs=nnx.Rngs(0),
    )


def stored(act):
    """What the layer promises: its coefficients and the ends it says it has."""
    return (
        rational(act.coeffs[...]),
        Fraction(act.config.lower),
        Fraction(act.config.upper),
    )


def outside(act, start, stop, places=9):
    """How many points of a box are outside the bounds, in exact arithmetic."""
    box = jnp.asarray([start], jnp.float32), jnp.asarray([stop], jnp.float32)
    found = [Fraction(*float(end[0]).as_integer_ratio()) if np.isfinite(end[0]) else end
             for end in jb.certify.bounds(act, *box)]  # fmt: skip
    steepest = float(jb.certify.lipschitz(act, *box))
    coeffs, lower, upper = stored(act)
    steps = exact_derivative(coeffs, upper - lower, 1)
    bad = 0
    for place in range(places):
        left, right = (Fraction(float(end[0])) for end in box)
        x = left + Fraction(place, places - 1) * (right - left)
        t = (min(max(x, lower), upper) - lower) / (upper - lower)
        bad += not (found[0] <= exact_value(coeffs, t) <= found[1])
        slope = abs(exact_value(steps, t)) if lower <= x <= upper else 0
        bad += bool(slope > steepest)
    return bad


@pytest.mark.parametrize("lower, upper", AWKWARD)
def test_ends_that_are_not_float32_numbers(lower, upper):
    rng = np.random.default_rng(0)
    for degree in (1, 3, 9):
        act = activation(lower, upper, rng.normal(size=(1, degree + 1)))
        inner = np.sort(rng.uniform(lower, upper, (4, 2)))
        for start, stop in [(lower, upper), (lower, lower), (upper, upper), *inner]:
            assert not outside(act, start, stop)


@pytest.mark.parametrize("lower, upper", TOO_EXTREME)
def test_an_interval_that_float32_cannot_carry_is_refused(lower, upper):
    message = "upper - lower must be from"
    with pytest.raises(ValueError, match=message):
        activation(lower, upper, np.ones((1, 3)))
    with pytest.raises(ValueError, match=message):
        jb.train.NetworkConfig(2, 2, 2, lower=lower, upper=upper)
    with pytest.raises(ValueError, match=message):
        jb.poly.derivative(jnp.ones(3), lower=lower, upper=upper)


@attack
def test_layers_on_intervals_of_every_size():
    rng = np.random.default_rng(0)
    made = refused = 0
    while made < times(80):
        width, away = 10 ** rng.uniform(-37, 37), 10 ** rng.uniform(-6, 6)
        middle = rng.choice([-away, 0, away])
        lower, upper = middle - width / 2, middle + width / 2
        degree = rng.choice([0, 1, 2, 3, 5, 9, 25])
        coeffs = rng.normal(size=(1, degree + 1)) * 10 ** rng.uniform(-6, 6)
        try:
            act = activation(lower, upper, coeffs)
        except ValueError:
            refused += 1
            continue
        made += 1
        for _ in range(3):
            ends = middle + width * rng.uniform(-0.7, 0.7, 2)
            assert not outside(act, *np.sort(np.float32(ends)), places=5)
    print(f"{made} layers on intervals of every size, {refused} refused")
    assert refused < 4 * made
