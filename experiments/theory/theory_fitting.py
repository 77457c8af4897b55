"""Fit small deep networks on [-1, 1] in the maximum norm, in double precision.

The Levenberg-Marquardt method on a few dozen parameters comes much closer to the best
network than gradient descent. During the fit the norm goes from the mean square to a high
power, which approximates the maximum. Seeds and targets are axes of ``vmap``.

A deeper network can represent a shallower one, but rarely finds it: some fits therefore
start from the best networks with one layer less, with the identity as a new layer.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import jit
from jax.flatten_util import ravel_pytree

import jaxbern as jb


@dataclass(frozen=True)
class Target:
    """A function to fit, with name and formula."""

    name: str
    formula: str
    f: Callable[[np.ndarray], np.ndarray]


TARGETS = (
    # Analytic, with poles at +-i/4: polynomials converge, but not at once.
    Target("smooth", "1 / (1 + 16 x^2)", lambda x: 1 / (1 + 16 * np.square(x))),
    # Infinite slope at 0: omega(delta) = sqrt(delta), no derivative helps.
    Target("continuous", "sqrt(|x|)", lambda x: np.sqrt(np.abs(x))),
)


def grid(points: int) -> np.ndarray:
    """Return about ``points`` points, a third of them near 0, where the root is steep."""
    third = points // 3 | 1  # odd, so that 0 is one of them
    crowded = np.linspace(-1, 1, third) ** 3
    return np.unique(np.concatenate([np.linspace(-1, 1, points - third), crowded]))


LOWER, UPPER = -3.0, 3.0
POWER = 16.0  # power of the norm at the end
POINTS, JUDGED = 180, 3001  # fitted points, points of the error
SCALE = 1.7  # of the weights: most inputs start inside the interval
INSIDE = 0.8  # fraction of the interval that a new layer uses at first
NOISE = 0.5  # of the coefficients around those of the identity


class Fitted(NamedTuple):
    """The fits of all seeds and targets: arrays ``[targets, seeds, ...]``."""

    error: Any  # max |network - f| on points that were not fitted
    outside: Any  # fraction of inputs outside the interval, over all neurons
    parameters: Any


def fit(
    depth: int,
    width: int,
    degree: int | None,
    *,
    seeds: int,
    iterations: int,
    shallower: Fitted | None = None,
) -> Fitted:
    """Fit networks to all targets; ReLU if ``degree`` is None.

    ``shallower`` are fitted networks with one layer less, from which some fits start.
    """
    with jax.enable_x64(True):
        x, other = grid(POINTS), grid(JUDGED)
        y = np.stack([target.f(x) for target in TARGETS])
        other_y = np.stack([target.f(other) for target in TARGETS])
        starts = _starts(depth, width, degree, seeds, shallower, x)
        one = functools.partial(_fit_one, iterations)
        over_seeds = jax.vmap(one, (0, None, None, None, None))
        over_targets = jax.vmap(over_seeds, (0, None, 0, None, 0))
        found = jit(over_targets)(starts, x, y, other, other_y)
        return jax.tree.map(np.asarray, found)


def parameter_count(depth: int, width: int, degree: int | None) -> int:
    """Count weights, biases and coefficients of a network with one input and output."""
    count = 2 * width + (depth - 1) * (width + 1) * width + width + 1
    return count + (0 if degree is None else depth * width * (degree + 1))


def start(key: jax.Array, depth: int, width: int, degree: int | None) -> list[Any]:
    """Draw random weights; coefficients are the identity plus a smooth polynomial.

    Activations near the identity keep a deep network from being constant at first.
    """
    layers, inputs = [], 1
    for of_layer in jax.random.split(key, depth + 1):
        of_weights, of_coeffs = jax.random.split(of_layer)
        last = len(layers) == depth
        shape = (inputs + 1, 1 if last else width)  # the last row is the bias
        most = (1 if last else SCALE) / inputs**0.5
        layer = {"weights": jax.random.uniform(of_weights, shape, float, -most, most)}
        if degree is not None and not last:
            smooth = jb.initializers.smooth(std=NOISE)
            drawn = smooth(of_coeffs, (width, degree + 1), jnp.float64)
            layer["coeffs"] = drawn + jnp.linspace(LOWER, UPPER, degree + 1)[None]
        layers.append(layer)
        inputs = width
    return layers


def deepen(layers: list[Any], x: jax.Array) -> list[Any]:
    """Insert a hidden layer before the last that does not change the values at ``x``."""
    *hidden, last = layers
    h = _hidden(hidden, x)[0]
    width = h.shape[1]
    if "coeffs" not in layers[0]:
        new = {"weights": jnp.eye(width + 1, width)}  # h is not negative
        return [*hidden, new, last]
    # Scaled well into the interval, and back by the polynomial, a straight line.
    low, high = jnp.min(h, axis=0), jnp.max(h, axis=0)
    middle = (low + high) / 2
    scale = INSIDE * (UPPER - LOWER) / jnp.maximum(high - low, 1e-6)
    weights = jnp.concatenate([jnp.diag(scale), (-scale * middle)[None]])
    line = jnp.linspace(LOWER, UPPER, layers[0]["coeffs"].shape[1])
    coeffs = middle[:, None] + line[None] / scale[:, None]
    return [*hidden, {"weights": weights, "coeffs": coeffs}, last]


def forward(layers: list[Any], x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Evaluate the network at ``x [N]``; also return the fraction of inputs outside."""
    h, shares = _hidden(layers[:-1], x)
    share = jnp.mean(jnp.stack(shares)) if shares else jnp.zeros(())
    return _linear(h, layers[-1]["weights"])[:, 0], share


def _hidden(layers: list[Any], x: jax.Array) -> tuple[jax.Array, list[jax.Array]]:
    h, shares = x[:, None], []
    for layer in layers:
        z = _linear(h, layer["weights"])
        if "coeffs" in layer:
            h = jb.bernstein(z, layer["coeffs"], lower=LOWER, upper=UPPER)
            shares.append(jnp.mean((jnp.abs(z) > UPPER).astype(float)))
        else:
            h = jax.nn.relu(z)
    return h, shares


def _starts(depth, width, degree, seeds, shallower: Fitted | None, x) -> list[Any]:
    """Return initial networks ``[targets, starts, ...]``: random ones, then deepened ones."""
    draw = jax.vmap(lambda key: start(key, depth, width, degree))
    drawn = draw(jax.random.split(jax.random.key(0), seeds))

    def of_target(k):
        if not shallower:
            return drawn
        best = np.argsort(shallower.error[k])[: seeds // 2]
        chosen = jax.tree.map(lambda a: a[k, best], shallower.parameters)
        deepened = jax.vmap(deepen, (0, None))(chosen, x)
        return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), drawn, deepened)

    each = [of_target(k) for k in range(len(TARGETS))]
    return jax.tree.map(lambda *a: jnp.stack(a), *each)


def _linear(h: jax.Array, weights: jax.Array) -> jax.Array:
    return h @ weights[:-1] + weights[-1][None]


def _fit_one(iterations, layers, x, y, other, other_y) -> Fitted:
    flat, unravel = ravel_pytree(layers)

    def residual(parameters):
        return forward(unravel(parameters), x)[0] - y

    def step(state, k):
        # Squares for the first 40%, then towards the maximum, the last 20% at the top.
        power = 2 + (POWER - 2) * jnp.clip((k / iterations - 0.4) / 0.4, 0, 1)
        return _levenberg_marquardt(residual, state, power), None

    state = flat, jnp.asarray(0.1)
    (flat, _), _ = jax.lax.scan(step, state, jnp.arange(iterations, dtype=float))
    layers = unravel(flat)
    found, outside = forward(layers, other)
    return Fitted(jnp.max(jnp.abs(found - other_y)), outside, layers)


def _levenberg_marquardt(residual, state, power):
    """Take a damped Gauss-Newton step for the given norm; keep it if it helps."""
    parameters, damping = state
    r, slope = residual(parameters), jax.jacfwd(residual)(parameters)
    most = jnp.max(jnp.abs(r)) + 1e-300
    weight = (jnp.abs(r) / most + 1e-3) ** (power - 2)
    normal = slope.T @ (weight[:, None] * slope)
    diagonal = jnp.diag(normal)
    # A neuron without influence has a zero on the diagonal: add a part of the largest entry.
    ridge = damping * (diagonal + 1e-9 * jnp.max(diagonal) + 1e-12)
    moved = parameters - jnp.linalg.solve(
        normal + jnp.diag(ridge), slope.T @ (weight * r)
    )
    better = _norm(residual(moved), power) < _norm(r, power)  # False for NaN
    damping = jnp.clip(jnp.where(better, damping / 3, damping * 2.5), 1e-12, 1e8)
    return jnp.where(better, moved, parameters), damping


def _norm(r: jax.Array, power: jax.Array) -> jax.Array:
    """Compute the mean of ``|r|^power`` to the power ``1 / power`` without overflow."""
    most = jnp.max(jnp.abs(r)) + 1e-300
    return most * jnp.mean((jnp.abs(r) / most) ** power) ** (1 / power)
