"""Search for counterexamples by projected gradients."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxbern.certify._ball import Ball
from jaxbern.certify._rounding import Bounds
from jaxbern.nn import NetworkConfig, forward


def logits_of(kind: Any, numbers: Any, x: jax.Array) -> jax.Array:
    """Compute the logits in evaluation mode, ``[batch, classes]``."""
    if isinstance(kind, NetworkConfig):
        return forward(kind, numbers[0], x, numbers[1]).logits
    return nnx.merge(kind, numbers)(x)


@functools.partial(jax.jit, static_argnames=("kind",))
def worst_margin(kind, numbers, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Compute the logit of the class minus the largest other one, ``[batch]``."""
    logits = logits_of(kind, numbers, x)
    own = jax.nn.one_hot(labels, logits.shape[1], dtype=bool)
    picked = jnp.sum(jnp.where(own, logits, 0), axis=1)
    return picked - jnp.max(jnp.where(own, -jnp.inf, logits), axis=1)


@functools.partial(jax.jit, static_argnames=("kind", "steps", "starts"))
def attacked(
    kind: Any,
    numbers: Any,
    box: Bounds,
    ball: Ball,
    labels: jax.Array,
    key: jax.Array,
    *,
    steps: int,
    starts: int,
) -> jax.Array:
    """Find for each row the input with the least margin, ``[batch, ...]``.

    Starts at the centre and at random points; takes steps of decreasing length along the
    gradient, and projects each back into the ball and the box.
    """
    centre, radius = ball.centre, _spread(ball.radius, ball.centre)

    def margins(x):
        return worst_margin(kind, numbers, x, labels)

    def inside(x):
        away = x - centre
        if ball.norm != math.inf:
            sizes = _norm(away, ball.norm)
            away = away * jnp.minimum(1, radius / jnp.maximum(sizes, 1e-30))
        return jnp.clip(centre + away, box.lower, box.upper)

    def keep(best, x):
        found = margins(x)
        better = (found < best[1]) | jnp.isnan(best[1])
        return jnp.where(_spread(better, x), x, best[0]), jnp.minimum(found, best[1])

    def step(carry, rate):
        x, best = carry
        slope = jax.grad(lambda x: jnp.sum(margins(x)))(x)
        x = inside(x - rate * radius * _direction(slope, ball.norm))
        return (x, keep(best, x)), None

    rates = jnp.asarray([0.5 * 0.9**k for k in range(steps)], centre.dtype)

    def start(best, key_and_first):
        key, first = key_and_first
        noise = jax.random.uniform(key, centre.shape, centre.dtype, -1, 1)
        x = inside(centre + jnp.where(first, 0, noise) * radius)
        (_, best), _ = jax.lax.scan(step, (x, keep(best, x)), rates)
        return best, None

    keys = jax.random.split(key, starts)
    firsts = jnp.arange(starts) == 0
    best, _ = jax.lax.scan(start, (centre, margins(centre)), (keys, firsts))
    return best[0]


def _spread(values: jax.Array, like: jax.Array) -> jax.Array:
    """Reshape one number per row to broadcast against the inputs."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _norm(x: jax.Array, norm: float) -> jax.Array:
    flat = x.reshape(len(x), -1)
    return _spread(jnp.linalg.norm(flat, ord=norm, axis=1), x)


def _direction(slope: jax.Array, norm: float) -> jax.Array:
    """Compute the direction of steepest ascent, of size one in the norm."""
    if norm == math.inf:
        return jnp.sign(slope)
    if norm == 2:
        return slope / jnp.maximum(_norm(slope, 2), 1e-30)
    largest = jnp.max(jnp.abs(slope).reshape(len(slope), -1), axis=1)
    steep = jnp.abs(slope) >= 0.9 * _spread(largest, slope)
    chosen = jnp.where(steep, jnp.sign(slope), 0)
    return chosen / jnp.maximum(_norm(chosen, 1), 1.0)
