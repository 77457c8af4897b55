"""One training for robustness as one compiled program."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxbern as jb
from experiments.certified.certified_networks import Rows, make

BATCH = 128
# AdamW with clipped gradients; the rate follows a cosine and is given from outside.
_TX = optax.chain(
    optax.clip_by_global_norm(5.0),
    optax.scale_by_adam(),
    optax.add_decayed_weights(1e-3),
)


def train(
    kind: str, act: str, seed: int, rows: Rows, *, steps: int, rate: float, eps: float,
    mix: float,
) -> nnx.Module:  # fmt: skip
    """Train a network; return it in evaluation mode."""
    graph, params, rest = nnx.split(make(kind, act, seed), nnx.Param, ...)
    rng = np.random.default_rng(seed)
    per_epoch = len(rows.x) // BATCH
    epochs = -(-steps // per_epoch)
    order = [rng.permutation(len(rows.x))[: per_epoch * BATCH] for _ in range(epochs)]
    order = np.concatenate(order).reshape(-1, BATCH)[:steps]
    params, rest = _run(graph, params, rest, *rows, order, rate, eps, mix)
    model = nnx.merge(graph, params, rest)
    model.eval()
    return model


@functools.partial(jax.jit, static_argnums=0)
def _run(graph, params, rest, x, labels, order, rate, eps, mix):
    schedule = jb.certify.RobustSchedule(1.0, len(order), mix=1.0)

    def step(carry, given):
        params, rest, moments = carry
        rows, count = given
        share, _ = schedule(count)

        def loss(params):
            model = nnx.merge(graph, params, jax.tree.map(jnp.asarray, rest))
            value = jb.certify.robust_loss(
                model, x[rows], labels[rows], eps * share, mix=mix * share,
                lower=0.0, upper=1.0,
            )  # fmt: skip
            return value, nnx.state(model, nnx.Not(nnx.Param))

        gradients, rest = jax.grad(loss, has_aux=True)(params)
        updates, moments = _TX.update(gradients, moments, params)
        now = rate * 0.5 * (1 + jnp.cos(jnp.pi * count / len(order)))
        params = jax.tree.map(lambda p, u: p - now * u, params, updates)
        return (params, rest, moments), None

    carry: Any = params, rest, _TX.init(params)
    counts = jnp.arange(len(order), dtype=jnp.float32)
    (params, rest, _), _ = jax.lax.scan(step, carry, (order, counts))
    return params, rest


def fast_scores(model: nnx.Module, rows: Rows, radii: tuple[float, ...]) -> list[float]:
    """Clean accuracy, then accuracy by interval bounds without rounding, to choose by."""
    graph, state = nnx.split(model)
    return [float(score) for score in _scores(graph, state, *rows, radii)]


@functools.partial(jax.jit, static_argnums=(0, 4))
def _scores(graph, state, x, labels, radii):
    model = nnx.merge(graph, state)
    weights = jb.certify.margin_weights(labels, 10)
    found = [jnp.mean(jnp.argmax(model(x), axis=1) == labels)]
    for eps in radii:
        box = jnp.clip(x - eps, 0, 1), jnp.clip(x + eps, 0, 1)
        low, _ = jb.certify.bounds(
            model, *box, method="interval", weights=weights, rigorous=False
        )
        found.append(jnp.mean(jnp.all(low > 0, axis=1)))
    return found
