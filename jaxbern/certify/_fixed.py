"""Control points and slopes of activations without parameters, on an interval.

Between neighbouring *knots* each function is convex or concave, so it lies between its
chord and its tangents at both ends, of which each is used for one half: the ends and, in
the middle, the heights of both tangents are control points. There are more knots than
changes of curvature, so that pieces are short where a function bends.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbern.certify._bernstein import Points
from jaxbern.certify._rounding import Bounds, gamma, largest
from jaxbern.nn import FIXED

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848
_ROOT = math.sqrt(2)  # gelu'' = (2 - x^2) exp(-x^2/2) / sqrt(2 pi)
# Where the second derivatives of silu and of gelu by tanh are zero.
_SILU_BEND, _TANH_GELU_BEND = 2.3993572805154675, 1.4185040087908283
_CUBIC, _INNER = 0.044715, math.sqrt(2 / math.pi)  # gelu by tanh
_FAR = 2.0**60  # stands for infinity, of which nothing is said in the end


class Function(NamedTuple):
    """Properties of a fixed activation."""

    value: Callable
    knots: tuple[float, ...]
    slope: Callable  # at x, seen from another place: functions have kinks
    steepest: float
    lowest: float | None = (
        None  # where it turns from falling to rising; None if it rises
    )


def _relu_slope(x, seen_from):
    return jnp.where(seen_from > 0, jnp.ones_like(x), 0)


def _leaky_slope(x, seen_from):
    return jnp.where(seen_from > 0, jnp.ones_like(x), 0.1)


def _selu_slope(x, seen_from):
    left = _SELU_SCALE * _SELU_ALPHA * jnp.exp(jnp.minimum(x, 0))
    return jnp.where(seen_from > 0, _SELU_SCALE, left)


def _elu_slope(x, seen_from):
    return jnp.where(seen_from > 0, jnp.ones_like(x), jnp.exp(jnp.minimum(x, 0)))


def _gelu_slope(x, seen_from):
    del seen_from
    density = jnp.exp(-0.5 * jnp.square(x)) / math.sqrt(2 * math.pi)
    return 0.5 * jax.lax.erfc(-x / _ROOT) + x * density


def _tanh_gelu_slope(x, seen_from):
    del seen_from
    x = jnp.clip(x, -12, 12)  # beyond, the slope is 0 or 1 and the cube may overflow
    twice = 2 * _INNER * (x + _CUBIC * x * x * x)
    inner = _INNER * (1 + 3 * _CUBIC * jnp.square(x))
    # 1 + tanh and 1 - tanh lose their digits where tanh is near one; these do not.
    share, rest = jax.nn.sigmoid(twice), jax.nn.sigmoid(-twice)
    return share + 2 * x * inner * share * rest


def _silu_slope(x, seen_from):
    del seen_from
    share = jax.nn.sigmoid(x)
    return share * (1 + x * jax.nn.sigmoid(-x))


def _tanh_slope(x, seen_from):
    del seen_from
    bend = jnp.tanh(x)
    return (1 - bend) * (1 + bend)


def _sigmoid_slope(x, seen_from):
    del seen_from
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


def _softplus_slope(x, seen_from):
    del seen_from
    return jax.nn.sigmoid(x)


def _mirrored(knots: tuple[float, ...]) -> tuple[float, ...]:
    return (*(-k for k in reversed(knots)), 0.0, *knots)


_GELU_KNOTS = (0.25, 0.5, 0.75, 1.0, _ROOT, 1.75, 2.25, 3.0, 4.0, 6.0, 8.0, 12.0)
_TANH_KNOTS = _mirrored((0.25, 0.5, 0.75, 1.0, 1.4, 1.8, 2.3, 3.0, 4.0, 5.5, 8.0, 12.0))
_SIGMOID_KNOTS = tuple(2 * knot for knot in _TANH_KNOTS)  # it is a tanh of x / 2
_SILU_KNOTS = (
    *(0.4, 0.8, 1.1, 1.25, 1.4, 1.6, 2.0, _SILU_BEND),
    *(3.0, 3.7, 4.6, 6.0, 8.0, 12.0, 20.0),
)
_ELU_KNOTS = (
    *(-100.0, -40.0, -17.0, -12.0, -8.0, -6.0, -4.0),
    *(-3.0, -2.0, -1.5, -1.0, -0.5, 0.0),
)
FUNCTIONS = {
    "relu": Function(FIXED["relu"], (0.0,), _relu_slope, 1.0),
    "leaky_relu": Function(FIXED["leaky_relu"], (0.0,), _leaky_slope, 1.0),
    "elu": Function(jax.nn.elu, _ELU_KNOTS, _elu_slope, 1.0),
    "selu": Function(FIXED["selu"], _ELU_KNOTS, _selu_slope, _SELU_SCALE * _SELU_ALPHA),
    "gelu": Function(
        FIXED["gelu"], _mirrored(_GELU_KNOTS), _gelu_slope, 1.13, -0.7517915246935645
    ),
    "gelu_tanh": Function(
        lambda x: jax.nn.gelu(x, approximate=True),
        _mirrored(tuple(_TANH_GELU_BEND if k == _ROOT else k for k in _GELU_KNOTS)),
        _tanh_gelu_slope,
        1.13,
        -0.7524614220710163,
    ),
    "silu": Function(
        jax.nn.silu,
        _mirrored(_SILU_KNOTS),
        _silu_slope,
        1.1,
        -1.278464542761074,
    ),
    "tanh": Function(jnp.tanh, _TANH_KNOTS, _tanh_slope, 1.0),
    # The slope is at most 1/4; errors of its values are relative to one.
    "sigmoid": Function(jax.nn.sigmoid, _SIGMOID_KNOTS, _sigmoid_slope, 1.0),
    "softplus": Function(jax.nn.softplus, _SIGMOID_KNOTS, _softplus_slope, 1.0),
}  # fmt: skip


def points(name: str, box: Bounds) -> Points:
    """Compute the points of the activation with this name for ``x`` in a box."""
    function = FUNCTIONS[name]
    value = function.value
    start, stop, middle = _pieces(function, box)
    half = middle - start, stop - middle
    tangents = (
        value(start) + function.slope(start, middle) * half[0],
        value(stop) - function.slope(stop, middle) * half[1],
    )
    x, y = [start, middle, middle, stop], [value(start), *tangents, value(stop)]
    # Values, slopes and tangents have a few roundings each, relative to these;
    # on an unbounded interval the heights become infinite.
    slack = gamma(0, start.dtype) * function.steepest * (1 + largest(box))
    steepest = jnp.full_like(slack, function.steepest)
    return Points(
        jnp.concatenate(x, axis=1), jnp.concatenate(y, axis=1), slack, steepest
    )


def slopes(name: str, box: Bounds) -> Bounds:
    """Bound the derivative, which is monotone on every piece."""
    function = FUNCTIONS[name]
    start, stop, middle = _pieces(function, box)
    ends = [function.slope(end, middle) for end in (start, stop)]
    both = jnp.concatenate(ends, axis=1)
    slack = gamma(0, both.dtype) * function.steepest
    return Bounds(jnp.min(both, axis=1) - slack, jnp.max(both, axis=1) + slack)


def ends(name: str, box: Bounds) -> Bounds:
    """Bound the range from the ends of the box, without rounding terms, for training."""
    function = FUNCTIONS[name]
    low, high = function.value(box.lower), function.value(box.upper)
    if function.lowest is None:
        return Bounds(low, high)
    turn = jnp.asarray(function.lowest, low.dtype)
    turns = (box.lower < turn) & (turn < box.upper)
    least = jnp.where(turns, function.value(turn), jnp.minimum(low, high))
    return Bounds(least, jnp.maximum(low, high))


def _pieces(function: Function, box: Bounds):
    """Compute starts, stops and middles ``[W, P]``; a piece outside the box has no width."""
    lower, upper = (jnp.nan_to_num(e, posinf=_FAR, neginf=-_FAR)[:, None] for e in box)
    knots = jnp.clip(jnp.asarray(function.knots, lower.dtype)[None], lower, upper)
    cuts = jnp.concatenate([lower, knots, upper], axis=1)
    start, stop = cuts[:, :-1], cuts[:, 1:]
    return start, stop, 0.5 * start + 0.5 * stop
