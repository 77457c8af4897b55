"""Simulating, splitting and scaling events.

Simulated events are split for three seeds, in memory and mapped from a file, each in a
process of its own. Extra memory is what the process has at most beyond what it had before
and, where they are mapped, the data themselves. Scaling goes through the training and
test rows of every seed in batches, as training does.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

import jaxbern as jb
from experiments.bench.bench_data import peak_memory

SEEDS = (0, 1, 2)
BATCH = 16_384


def report(rows: int, repeats: int) -> None:
    """Print how fast events are simulated, split and scaled, and the extra memory."""
    for make in (jb.data.collider.susy, jb.data.collider.higgs):
        start, used = time.perf_counter(), time.process_time()
        data = make(rows)
        seconds, used = time.perf_counter() - start, time.process_time() - used
        print(
            f"collider.{make.__name__}: {rows:,} events in {seconds:.1f} s "
            f"({used:.1f} s of one core), {rows / seconds:,.0f} events/s"
        )
    megabytes = data.x.nbytes / 1e6
    print(
        f"splitting {rows:,} x {data.x.shape[1]} ({megabytes:.0f} MB) for "
        f"{len(SEEDS)} seeds"
    )
    heads = ("split s", "scale s", "both s", "CPU s", "extra MB", "/ data")
    print(f"{'':8}" + "".join(f"{head:>9}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", data.x)
        np.save(Path(folder) / "y.npy", data.y)
        for where in ("memory", "mapped"):
            runs = [measure(folder, where) for _ in range(repeats)]
            split, scale, used, extra = min(runs, key=lambda run: run[0] + run[1])
            extra -= megabytes if where == "mapped" else 0
            values = (split, scale, split + scale, used, extra, extra / megabytes)
            print(f"{where:8}" + "".join(f"{value:9.2f}" for value in values))


def measure(folder: str, where: str) -> tuple[float, ...]:
    """Seconds to split and to scale, of CPU for both, and MB, in its own process."""
    command = [sys.executable, "-m", "experiments.bench.bench_split"]
    done = subprocess.run([*command, folder, where], check=True, capture_output=True)
    return tuple(json.loads(done.stdout))


def child(folder: Path, mapped: bool) -> None:
    """What ``measure`` runs."""
    x = np.load(folder / "x.npy", mmap_mode="r" if mapped else None)
    y = np.load(folder / "y.npy")
    scale = jax.jit(lambda split, rows: split.scale(rows))
    few = jb.data.split((np.array(x[:1000]), np.arange(1000) % 2))
    rest = (len(x) - round(len(x) / 5)) % BATCH, round(len(x) / 5) % BATCH
    for rows in (BATCH, *rest):  # what compiling takes is not what scaling takes
        scale(few[0], np.zeros((rows, x.shape[1]), np.float32))
    before = peak_memory()
    start, used = time.perf_counter(), time.process_time()
    found = jb.data.split((x, y), SEEDS)
    split = time.perf_counter()
    for k in range(len(SEEDS)):
        member = found[k]
        for part in (member.train, member.test):
            for row in range(0, len(part), BATCH):
                scaled = scale(member, x[part[row : row + BATCH]])
                scaled.block_until_ready()  # or batches pile up in memory
    end, used = time.perf_counter(), time.process_time() - used
    print(json.dumps([split - start, end - split, used, peak_memory() - before]))


if __name__ == "__main__":
    child(Path(sys.argv[1]), mapped=sys.argv[2] == "mapped")
