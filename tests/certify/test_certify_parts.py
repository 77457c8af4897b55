"""What bounds of networks are made of: enclosures of one activation, lines, norms."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

import jaxbern as jb
from jaxbern.certify import _bernstein, _fixed, _lines, _norms
from jaxbern.certify._rounding import Bounds
from tests.oracles import casteljau, network_oracle
from tests.oracles.poly_oracle import exact_derivative, exact_value, rational
from tests.quick import quickly

COUNT = 256  # intervals, each with a neuron of its own: one program for all
some = settings(max_examples=25, deadline=None, database=None)


@quickly
def of_bernstein(coeffs, box):
    points = _bernstein.points(coeffs, -3.0, 3.0, box)
    slopes = _bernstein.slopes(coeffs, -3.0, 3.0, box)
    return _lines.heights(points), _lines.lines(points, box), slopes


def intervals(seed, scale):
    """Narrow, wide, empty, around and beside the kinks and ends; at every size."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-scale, scale, COUNT)
    special = [0, -3, 3, -math.sqrt(2), math.sqrt(2), 1e-3, 8, -17]
    middle[: COUNT // 4] = np.resize(special, COUNT // 4)
    radius = scale * 10.0 ** rng.uniform(-7, 0, COUNT)
    radius[::16] = 0
    lower, upper = np.float32(middle - radius), np.float32(middle + radius)
    return Bounds(jnp.asarray(lower), jnp.asarray(upper))


def inside(box, count=33):
    """``[count, W]`` points, with both ends, in float64."""
    places = np.linspace(0, 1, count)[:, None]
    lower, upper = (np.float64(end)[None] for end in box)
    return np.clip(lower + places * (upper - lower), lower, upper)


def assert_encloses(found, x, y, slope):
    heights, lines, slopes = jax.tree.map(np.float64, found)
    assert (heights.lower <= y).all()
    assert (y <= heights.upper).all()
    assert (lines.below[0] * x + lines.below[1] <= y).all()
    assert (lines.above[0] * x + lines.above[1] >= y).all()
    assert (slopes.lower <= slope).all()
    assert (slope <= slopes.upper).all()


def _tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# Formulas that take complex numbers: a tiny imaginary step gives the slope.
MORE = {
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": _tanh_gelu,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "elu": lambda x: np.where(x.real > 0, x, np.expm1(np.where(x.real > 0, 0, x))),
}


def value_and_slope(name):
    if name in network_oracle.FIXED:
        return network_oracle.FIXED[name]
    return MORE[name], lambda x: MORE[name](x + 1e-30j).imag / 1e-30


def test_no_function_is_forgotten():
    assert {*network_oracle.FIXED, *MORE} == set(_fixed.FUNCTIONS)


@pytest.mark.parametrize("name", [*network_oracle.FIXED, *MORE])
def test_fixed_activations(name):
    @quickly
    def enclose(box):
        points = _fixed.points(name, box)
        slopes = _fixed.slopes(name, box)
        return _lines.heights(points), _lines.lines(points, box), slopes

    value, slope = value_and_slope(name)
    for seed, scale in enumerate([1, 4, 30]):
        box = intervals(seed, scale)
        found = enclose(box)
        x = inside(box)
        # At the kink the oracle takes one side, which is in the bounds or not.
        at = np.where((x == 0) & (x < np.float64(box.upper)), 1e-9, x)
        assert_encloses(found, x, value(x), slope(at))
        # Nor much wider than the values: by a part of their range, a tiny slope (selu
        # is followed along tangents to its limit) and rounding.
        y = value(x)
        high, low = y.max(axis=0), y.min(axis=0)
        more = 0.06 * (high - low) + 2e-3 * (x[-1] - x[0]) + 1e-5 * (1 + np.abs(x[0]))
        assert (found[0].upper <= high + more).all()
        assert (found[0].lower >= low - more).all()


@pytest.mark.slow
@some
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 50.0]))
def test_bernstein_at_many_intervals(seed, size):
    rng = np.random.default_rng(seed)
    coeffs = np.float32(size * rng.normal(size=(COUNT, 8)))
    box = intervals(seed, 4.0)
    found = of_bernstein(jnp.asarray(coeffs), box)
    x = inside(box)
    columns = np.float64(coeffs).T[:, None]
    ends = network_oracle.ENDS
    y, slope = (f(x, columns, *ends) for f in (casteljau.value, casteljau.slope))
    assert_encloses(found, x, y, slope)


@pytest.mark.slow
@some
@given(
    st.lists(st.floats(-8, 8, width=32), min_size=8, max_size=8),
    st.floats(-5, 5, width=32),
    st.floats(-5, 5, width=32),
)
def test_bernstein_in_exact_arithmetic(coeffs, one, other):
    start, stop = sorted((one, other))
    box = Bounds(jnp.full(COUNT, start), jnp.full(COUNT, stop))
    tiled = jnp.tile(jnp.asarray(coeffs, jnp.float32)[None], (COUNT, 1))
    heights, lines, slopes = jax.tree.map(
        lambda a: rational(a[0])[0], of_bernstein(tiled, box)
    )
    exact = rational(coeffs)
    steps = exact_derivative(exact, 6, 1)
    for place in range(9):
        x = Fraction(start) + Fraction(place, 8) * (Fraction(stop) - Fraction(start))
        t = (min(max(x, Fraction(-3)), Fraction(3)) + 3) / 6
        y = exact_value(exact, t)
        assert heights.lower <= y <= heights.upper
        assert lines.below[0] * x + lines.below[1] <= y
        assert y <= lines.above[0] * x + lines.above[1]
        if -3 <= x <= 3:
            assert slopes.lower <= exact_value(steps, t) <= slopes.upper
        else:
            assert slopes.lower <= 0 <= slopes.upper


def test_lines_get_tight_with_the_square_of_the_width():
    square = jb.poly.elevate(jnp.asarray([9.0, -9.0, 9.0]), 7)  # x^2
    coeffs = jnp.tile(square[None], (COUNT, 1))
    gaps = []
    for radius in (0.5, 0.05):
        box = Bounds(jnp.full(COUNT, 1 - radius), jnp.full(COUNT, 1 + radius))
        heights, lines, _ = of_bernstein(coeffs, box)
        assert heights.upper[0] - (1 + radius) ** 2 < 1e-3
        below, above = (slope * 1.0 + offset for slope, offset in lines)
        gaps.append(float((above - below)[0]))
    # A parabola leaves radius^2 between its chord and its tangent.
    assert gaps[0] == pytest.approx(0.25, rel=0.1)
    assert gaps[1] < gaps[0] / 80


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (40, 40), (5, 64)])
def test_spectral_norm(shape):
    norm = quickly(_norms.upper_norm, static_argnums=1)
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=shape)
    orthogonal = np.linalg.qr(rng.normal(size=(max(shape), max(shape))))[0]
    cases = {
        "random": drawn,
        "tiny": 1e-12 * drawn,
        "rank one": np.outer(drawn[:, 0], drawn[0]),
        "orthogonal": orthogonal[: shape[0], : shape[1]],  # all singular values equal
        "zero": np.zeros(shape),
    }
    for name, matrix in cases.items():
        matrix = np.float32(matrix)
        exact = np.linalg.svd(np.float64(matrix), compute_uv=False)[0]
        got = float(norm(matrix, 2))
        assert exact <= got <= 1.01 * exact + 1e-14, name
        exact = np.abs(np.float64(matrix)).sum(axis=1).max()
        assert exact <= float(norm(matrix, math.inf)) <= (1 + 1e-4) * exact + 1e-12
