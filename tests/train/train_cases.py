"""Small data and configurations that several tests of ``jb.train`` share.

Programs are compiled per shape and rules, so there are few of these.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import jax
import numpy as np

import jaxbern as jb
from jaxbern.train import NetworkConfig, TrainConfig

FEATURES, ROWS = 3, 400  # of which 320 are for training
COLUMNS = ("a", "b", "c")


def events(rows: int = ROWS, seed: int = 0) -> jb.data.Dataset:
    """Draw events: signal lies inside a noisy ellipse; the classes are balanced."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, FEATURES))
    inside = x[:, 0] ** 2 + 0.5 * x[:, 1] + 0.3 * random.normal(size=rows)
    y = (inside < np.median(inside)).astype(np.uint8)
    return jb.data.Dataset.from_arrays("events", x.astype(np.float32), y, COLUMNS)


# High rate and little patience: cuts and stops happen within a dozen epochs.
IMPATIENT = TrainConfig(
    NetworkConfig(FEATURES, depth=2, width=4, activation="relu"),
    seeds=(3, 1, 2),
    epochs=12,
    batch_size=63,  # 5 batches, and 5 rows remain
    learning_rate=0.02,
    weight_decay=0.1,
    plateau_patience=1,
    plateau_start=2,
    plateau_threshold=0.02,
    stop_patience=3,
    stop_improvement=0.01,
    eval_rows=48,  # of 80
)


def changed(config: TrainConfig = IMPATIENT, **options) -> TrainConfig:
    return dataclasses.replace(config, **options)


def assert_same_bits(one: jb.train.Result, other: jb.train.Result) -> None:
    """Assert equal histories (except for times), stops and networks."""
    assert one.stops == other.stops
    assert one.best_epoch == other.best_epoch
    for seed, columns in one.history.items():
        for name in columns.keys() - {"seconds"}:
            np.testing.assert_array_equal(
                columns[name], other.history[seed][name], err_msg=f"{seed} {name}"
            )
    jax.tree.map(np.testing.assert_array_equal, one.best, other.best)
    jax.tree.map(np.testing.assert_array_equal, one.final, other.final)


@contextlib.contextmanager
def compilations() -> Iterator[list[threading.Thread]]:
    """Collect the thread of each thing that JAX traces, lowers or compiles meanwhile."""
    found = []

    def listen(name, *_, **__):
        if name.startswith("/jax/core/compile"):
            found.append(threading.current_thread())

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
