"""What training and proofs cost: a step, rows per second, branch and bound by seconds."""

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import jaxbern as jb
from experiments.certified.certified_networks import Rows, digits, make
from experiments.certified.certified_study import Setting
from experiments.certified.certified_training import BATCH, train
from experiments.core.timing import best_in_turns, timed

EPS = 0.05


class Speed(NamedTuple):
    """Measured in one process."""

    steps: dict[str, tuple[float, float]]  # seconds of a plain and of a robust gradient
    rows: dict[str, float]  # rows bounded by the affine method per second
    decided: list[tuple[float, float, float]]  # seconds given, share proved, decided
    uniform: list[tuple[int, float, float]]  # splits, seconds, share proved
    compiling: dict[str, float]  # seconds of a first call less those of a second one


def measure(setting: Setting) -> Speed:
    """Measure everything."""
    rounds = 200 if setting.steps > 100 else 5
    steps = {act: step_times(act, rounds) for act in ("bernstein:5", "relu")}
    usual = {"steps": min(setting.steps, 300), "rate": 5e-3, "eps": 0.0, "mix": 0.0}
    data = digits()
    test = Rows(data.test.x[: setting.rows], data.test.labels[: setting.rows])
    models = {act: train("mlp", act, 0, data.train, **usual) for act in steps}
    rows = {act: rows_per_second(model, test) for act, model in models.items()}
    model = models["bernstein:5"]
    few = Rows(*(part[:200] for part in test))
    return Speed(
        steps,
        rows,
        branched(model, few, setting.seconds),
        split(model, few, (0, 2, 4)),
        dict([*compiling("mlp"), *compiling("cnn")]),
    )


def step_times(act: str, rounds: int) -> tuple[float, float]:
    """Seconds of the gradient of the plain and of the robust loss, taking turns."""
    graph, state = nnx.split(make("mlp", act, 0))
    x, labels = (jnp.asarray(part[:BATCH]) for part in digits().train)

    def plain(model):
        logits = model(x)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - picked)

    def robust(model):
        return jb.certify.robust_loss(model, x, labels, 0.1, lower=0.0, upper=1.0)

    def gradient(loss: Callable) -> Callable:
        compiled = jax.jit(
            lambda state: nnx.value_and_grad(loss)(nnx.merge(graph, state))
        )
        jax.block_until_ready(compiled(state))
        return timed(lambda: jax.block_until_ready(compiled(state)))

    best = best_in_turns({"plain": gradient(plain), "robust": gradient(robust)}, rounds)
    return best["plain"], best["robust"]


def rows_per_second(model: Any, rows: Rows) -> float:
    """Rows whose nine margins are bounded by the affine method, compiled before."""
    weights = jb.certify.margin_weights(rows.labels, 10)
    lower, upper = (np.clip(rows.x + sign * EPS, 0, 1) for sign in (-1, 1))

    def run():
        jax.block_until_ready(
            jb.certify.bounds(model, lower, upper, weights=weights, method="affine")
        )

    run()
    return len(rows.x) / min(timed(run)() for _ in range(3))


def compiling(kind: str) -> list[tuple[str, float]]:
    """Measure what compiling takes for degree 4, which nothing else here has."""
    model, data = make(kind, "bernstein:4", 0), digits().test
    model.eval()
    x, labels = data.x[:32], data.labels[:32]
    calls: dict[str, Callable] = {
        method: functools.partial(jb.certify.bounds, model, x, x, method=method)
        for method in ("interval", "affine")
    }
    calls["robustness"] = functools.partial(
        jb.certify.robustness, model, x, labels, 0.01
    )
    found = []
    for name, call in calls.items():
        first, second = (
            timed(lambda call=call: jax.block_until_ready(call()))() for _ in range(2)
        )
        found.append((f"{kind}, {name}", first - second))
    return found


def branched(
    model: Any, rows: Rows, seconds: tuple[float, ...]
) -> list[tuple[float, float, float]]:
    """Shares proved and decided, by the seconds given to branch and bound."""
    certify = functools.partial(
        jb.certify.robustness, model, *rows, EPS, lower=0.0, upper=1.0
    )
    certify()  # compiles
    found = []
    for given in seconds:
        result = certify(seconds=given)
        decided = np.mean(result.verdict != "unknown")
        found.append((given, result.certified_accuracy, float(decided)))
    return found


def split(
    model: Any, rows: Rows, splits: tuple[int, ...]
) -> list[tuple[int, float, float]]:
    """Cut every box into ``2 ** splits`` parts: measure seconds and the share proved."""
    weights = jb.certify.margin_weights(rows.labels, 10)
    lower, upper = (np.clip(rows.x + sign * EPS, 0, 1) for sign in (-1, 1))
    found = []
    for count in splits:
        run = functools.partial(
            jb.certify.bounds, model, lower, upper, weights=weights, splits=count
        )
        jax.block_until_ready(run())
        began = time.perf_counter()
        low = np.asarray(run().lower)
        spent = time.perf_counter() - began
        found.append((count, spent, float(np.mean((low > 0).all(axis=1)))))
    return found
