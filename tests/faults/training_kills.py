"""``python -m tests.faults training``: kill trainings at random, resume, compare bits."""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import jaxbern as jb
from jaxbern.train import NetworkConfig, Result, TrainConfig, fit

CONFIG = TrainConfig(
    NetworkConfig(28, depth=3, width=8, degree=3),
    seeds=(0, 1, 2),
    epochs=30,
    batch_size=500,
)


def events() -> jb.data.Dataset:
    """Simulate a few events."""
    return jb.data.load("collider:higgs", rows=5000)


class _Slow(jb.train.Callback):
    """Delays epochs, so that a training is long enough to be killed."""

    def epoch(self, records):
        time.sleep(0.05)


def child(directory: str) -> None:
    """Train in the process that is killed."""
    fit(
        CONFIG,
        events(),
        directory=directory,
        resume=True,
        callbacks=[_Slow()],
        checkpoint_seconds=0,
    )


def main(argv: list[str]) -> int:
    """Print the outcome of each kill."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults training", description=__doc__
    )
    parser.add_argument("--kills", type=int, default=20, help="number of kills (20)")
    parser.add_argument(
        "--seed", type=int, default=0, help="random seed of the moments (0)"
    )
    options = parser.parse_args(argv)
    return table(options.kills, options.seed)


def table(kills: int, seed: int) -> int:
    """Kill and resume; return 1 if any resumed training differs."""
    chance = random.Random(seed)
    whole = fit(CONFIG, events())
    same = 0
    with tempfile.TemporaryDirectory() as work:
        for number in range(1, kills + 1):
            directory = Path(work, str(number))
            saved = _killed(directory, Path(work, "cache"), chance)
            resumed = fit(CONFIG, events(), directory=directory, resume=True)
            equal = _equal(whole, resumed)
            same += equal
            verdict = "the same bits" if equal else "OTHER BITS"
            print(f"kill {number:2}: with epochs {saved} saved; {verdict}", flush=True)
    print(f"{same} of {kills} resumed trainings equal the uninterrupted one")
    return 0 if same == kills else 1


def _killed(directory: Path, cache: Path, chance: random.Random) -> list[int]:
    """Kill a training in a random epoch; return the epochs that are on disk."""
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-m", "tests.faults.training_kills", str(directory)]
    process = subprocess.Popen(command, env=environment)
    # Counted in epochs, not seconds, as machines differ. No seed has stopped by then.
    told, wanted = directory / "history.jsonl", chance.randrange(CONFIG.stop_patience)
    while not told.exists() or len(told.read_text().splitlines()) < 3 * wanted:
        if process.poll() is not None:
            raise RuntimeError("the training ended before it was killed")
        time.sleep(0.005)
    time.sleep(chance.uniform(0, 0.15))
    process.kill()
    if process.wait() != -signal.SIGKILL:
        print("(this one had finished)", end=" ")
    steps = (directory / "checkpoints").glob("[0-9]*")
    return sorted(int(step.name) for step in steps if step.name.isdigit())


def _equal(one: Result, other: Result) -> bool:
    import jax

    histories = all(
        np.array_equal(one.history[seed][name], other.history[seed][name])
        for seed in one.history
        for name in one.history[seed].keys() - {"seconds"}
    )
    networks = jax.tree.map(
        np.array_equal, (one.best, one.final), (other.best, other.final)
    )
    return histories and one.stops == other.stops and all(jax.tree.leaves(networks))


if __name__ == "__main__":
    child(sys.argv[1])
