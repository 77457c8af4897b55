"""Hypothesis strategies for the tests of `jaxbern.poly`, and their tolerances.

Tolerances are first-order rounding bounds of the algorithm under test. In units of
``eps`` a rounding is 1/2; a ratio of differences such as ``t`` has 3 of them and a
blend ``s*v + t*w`` adds 2, so that a blending step costs 5/2.
"""

import math

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

# Few, and shared by the tests, because each one is compiled. The docstring examples in
# float64 have degree 2 as well.
DEGREES = {jnp.float32: (0, 1, 7), jnp.float64: (2, 7)}
odd = settings(max_examples=30, deadline=None, database=None)

both = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64], ids=["x32", "x64"])
wide = pytest.mark.parametrize("dtype", [jnp.float64], ids=["x64"])


@pytest.fixture(autouse=True)
def as_wide_as_the_dtype(request):
    """Enable double precision for tests whose ``dtype`` is float64."""
    # Autouse, because Hypothesis runs a test many times within one fixture.
    callspec = getattr(request.node, "callspec", None)
    x64 = callspec is not None and callspec.params.get("dtype") == jnp.float64
    with jax.enable_x64(x64):
        yield


def draw_coeffs(degree, seed=0, shape=(), scale=1.0):
    rng = np.random.default_rng(seed)
    return (scale * rng.normal(size=(*shape, degree + 1))).astype(np.float32)


def top(coeffs):
    return float(np.max(np.abs(coeffs)))


def eps_of(dtype):
    return float(jnp.finfo(dtype).eps), float(jnp.finfo(dtype).tiny)


def restrict_bound(coeffs, dtype):
    eps, tiny = eps_of(dtype)
    # Two cuts of n blending steps each; weights are positive and sum to one.
    return 5 * (len(coeffs) - 1) * eps * top(coeffs) + 4 * len(coeffs) * tiny


numbers = st.floats(-8, 8, width=32, allow_subnormal=False)


@st.composite
def intervals(draw):
    lower = np.float32(draw(numbers))
    upper = lower + np.float32(draw(st.floats(0.125, 8, width=32)))
    return float(lower), float(upper)


@st.composite
def points(draw, interval):
    """Draw points; ends, their neighbours and infinities are frequent."""
    ends = [np.float32(end) for end in interval]
    near = [np.nextafter(ends[0], ends[1]), np.nextafter(ends[1], ends[0])]
    special = st.sampled_from([*map(float, ends + near), -math.inf, math.inf])
    return draw(st.one_of(special, numbers))


@st.composite
def polynomials(draw, dtype):
    size = draw(st.sampled_from(DEGREES[dtype])) + 1
    return np.array(draw(st.lists(numbers, min_size=size, max_size=size)), np.float32)
