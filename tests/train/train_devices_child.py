"""``python -m tests.train.train_devices_child OUT [PROCESS PORT]``: train, write histories.

Trains on two devices, which ``XLA_FLAGS`` makes of one CPU, and on one of them. Given a
process number, it trains on one device of each of two processes, with checkpoints next to
``OUT``.
"""

import json
import sys

import jax

import jaxbern as jb
from tests.train.train_cases import changed, events

# 321 training rows: five batches that two devices can share, and 11 rows that they cannot.
ODD = events(401)
BERNSTEIN = changed(
    network=jb.train.NetworkConfig(3, depth=1, width=4, degree=2),
    batch_size=62,
    epochs=4,
)
EVEN = events()
RELU = changed(
    network=jb.train.NetworkConfig(3, depth=1, width=4, activation="relu"),
    batch_size=64,
    epochs=4,
    eval_rows=80,
)


def histories(*results: jb.train.Result) -> list:
    return [
        {seed: {n: list(c) for n, c in h.items()} for seed, h in result.history.items()}
        for result in results
    ]


def main(out: str, process: str = "", port: str = "") -> None:
    if process:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(process))
        directory = f"{out}.run"
        jb.train.fit(changed(RELU, epochs=2), EVEN, directory=directory)
        results = [jb.train.fit(RELU, EVEN, directory=directory, resume=True)]
    else:
        one = jax.devices()[:1]
        results = [jb.train.fit(BERNSTEIN, ODD, devices=d) for d in (None, one)]
    with open(f"{out}{process}", "w") as file:
        json.dump([len(jax.devices()), *histories(*results)], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
