"""``python -m experiments.data.split_bench``: simulating, splitting and scaling events.

Simulated events are split for three seeds, in memory and mapped from a file, each in a
process of its own. Extra memory is what the process has at most beyond what it had before
and, where they are mapped, the data themselves. Scaling goes through the training and
test rows of every seed in batches, as training does.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

import jaxbern as jb
from experiments.data.bench import peak_memory

SEEDS = (0, 1, 2)
BATCH = 16_384


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="experiments.data.split_bench", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        child(Path(args.child[0]), mapped=args.child[1] == "mapped")
        return 0
    for make in (jb.data.collider.susy, jb.data.collider.higgs):
        start, used = time.perf_counter(), time.process_time()
        data = make(args.rows)
        seconds, used = time.perf_counter() - start, time.process_time() - used
        print(
            f"collider.{make.__name__}: {args.rows:,} events in {seconds:.1f} s "
            f"({used:.1f} s of one core), {args.rows / seconds:,.0f} events/s"
        )
    megabytes = data.x.nbytes / 1e6
    print(
        f"splitting {args.rows:,} x {data.x.shape[1]} ({megabytes:.0f} MB) for "
        f"{len(SEEDS)} seeds"
    )
    heads = ("split s", "scale s", "both s", "CPU s", "extra MB", "/ data")
    print(f"{'':8}" + "".join(f"{head:>9}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", data.x)
        np.save(Path(folder) / "y.npy", data.y)
        for where in ("memory", "mapped"):
            runs = [measure(folder, where) for _ in range(args.repeats)]
            split, scale, used, extra = min(runs, key=lambda run: run[0] + run[1])
            extra -= megabytes if where == "mapped" else 0
            values = (split, scale, split + scale, used, extra, extra / megabytes)
            print(f"{where:8}" + "".join(f"{value:9.2f}" for value in values))
    return 0


def measure(folder: str, where: str) -> tuple[float, ...]:
    """Seconds to split and to scale, of CPU for both, and MB, in its own process."""
    command = [sys.executable, "-m", "experiments.data.split_bench", "--child"]
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
    sys.exit(main())
