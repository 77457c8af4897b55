"""Compare the conversion of HIGGS text with pandas and NumPy.

A file in UCI's format is made from simulated events, compressed and as plain text, then
read by all readers in turn, each time in a new process; the best of several runs is kept.
Throughput is in MB (10^6 bytes) of uncompressed text per second. Two parts of
``jb.data.load`` are also measured alone: unpacking, which one thread at a time does while
others parse, and the SHA-256 of the file, which comes first. On a busy machine, compare
CPU seconds.
"""

import functools
import hashlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import jaxbern as jb
from experiments.core.timing import best_in_turns
from experiments.data import uci_text
from jaxbern.io import CACHE_VARIABLE

DISTINCT = 50_000  # distinct rows; the file repeats them
LOADTXT_ROWS = 20_000
# Imported before the clock starts.
MODULES = ("pyarrow.csv", "isal.igzip")
PANDAS_MODULES = ("pandas", "pyarrow.csv")


def convert(path: str) -> None:
    """Convert to float32 arrays in a new cache and map them into memory."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ[CACHE_VARIABLE] = cache
        jb.data.load(path)


def unpack(path: str) -> None:
    """Read the text to its end and discard it."""
    from isal import igzip

    buffer = bytearray(1 << 20)
    with igzip.open(path) if path.endswith(".gz") else open(path, "rb") as text:
        while text.readinto(buffer):
            pass


def sha256(path: str) -> None:
    """Compute the hash that identifies the converted copy."""
    with open(path, "rb") as file:
        hashlib.file_digest(file, "sha256")


def pandas(path: str) -> None:
    """Read into a table in memory, float64 as by default."""
    import pandas

    pandas.read_csv(path, header=None)


def pandas_float32(path: str) -> None:
    """Read into a float32 table in memory."""
    import pandas

    pandas.read_csv(path, header=None, dtype=np.float32)


def pandas_pyarrow(path: str) -> None:
    """Read into a float64 table in memory with Arrow's parser."""
    import pandas

    pandas.read_csv(path, header=None, engine="pyarrow")


def loadtxt(path: str) -> None:
    """Read the first rows into a float32 array in memory."""
    np.loadtxt(path, np.float32, delimiter=",", max_rows=LOADTXT_ROWS)


def open_again(path: str) -> None:
    """Map the converted copy, which is all that a second run does."""
    jb.data.load(path)


READERS: dict[str, Callable[[str], None]] = {
    "jb.data.load": convert,
    "  unpacking alone": unpack,
    "  SHA-256 alone": sha256,
    "pandas.read_csv": pandas,
    "  as float32": pandas_float32,
    "  engine='pyarrow'": pandas_pyarrow,
    "numpy.loadtxt": loadtxt,
    "open": open_again,
}


class Run(NamedTuple):
    """Seconds, CPU seconds, and resident MB: peak, and before reading."""

    seconds: float
    cpu: float
    peak: float
    before: float


def measure(reader: str, path: Path) -> Run:
    """Run a reader in a new process and measure it."""
    command = [sys.executable, "-m", "experiments.bench.bench_data", "read", reader]
    done = subprocess.run([*command, str(path)], check=True, capture_output=True)
    return Run(*json.loads(done.stdout))


def child(reader: str, path: str) -> None:
    """Run in the process that ``measure`` starts."""
    for module in PANDAS_MODULES if needs_pandas(reader) else MODULES:
        importlib.import_module(module)
    before, cpu, start = peak_memory(), time.process_time(), time.perf_counter()
    READERS[reader](path)
    seconds = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps([*seconds, peak_memory(), before]))


def needs_pandas(reader: str) -> bool:
    return "pandas" in READERS[reader].__name__


def peak_memory() -> float:
    """Return the peak resident memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    return math.nan


def report(rows: int, repeats: int) -> None:
    """Write the files and print a table for each."""
    with tempfile.TemporaryDirectory() as name:
        tables(Path(name), rows, repeats)


def tables(folder: Path, rows: int, repeats: int) -> None:
    packed, plain = folder / "HIGGS.csv.gz", folder / "HIGGS.csv"
    distinct = min(rows, DISTINCT)
    times = rows // distinct
    lines = uci_text.lines(distinct)
    uci_text.write_repeated(packed, lines, times)
    with plain.open("wb") as file:
        for _ in range(times):
            file.write(lines)
    megabytes = plain.stat().st_size / 1e6
    print(
        f"{distinct * times:,} rows ({distinct:,} distinct), {megabytes:,.0f} MB of text, "
        f"{packed.stat().st_size / 1e6:,.0f} MB compressed; {os.cpu_count()} cores"
    )
    part = min(1.0, LOADTXT_ROWS / (distinct * times))
    if part < 1:
        print(f"numpy.loadtxt is extrapolated from {part:.1%} of the rows")
    for path in (packed, plain):
        table(path, measure_all(path, repeats, part), megabytes)
    os.environ[CACHE_VARIABLE] = str(folder / "cache")
    jb.data.load(packed)
    opened = min(measure("open", packed).seconds for _ in range(repeats))
    print(f"\nopening the converted rows: {opened * 1e3:.1f} ms in a new process")


def measure_all(path: Path, repeats: int, part: float) -> dict[str, Run]:
    """Return the best run of each reader; loadtxt's is extrapolated to all rows."""
    installed = importlib.util.find_spec("pandas")
    readers = [name for name in READERS if name != "open"]
    readers = [name for name in readers if installed or not needs_pandas(name)]
    runs = {reader: functools.partial(measure, reader, path) for reader in readers}
    best = best_in_turns(runs, repeats)
    seconds, cpu, peak, before = best["numpy.loadtxt"]
    best["numpy.loadtxt"] = Run(seconds / part, cpu / part, peak, before)
    return best


def table(path: Path, best: dict[str, Run], megabytes: float) -> None:
    ours = best["jb.data.load"]
    print(
        f"\n{path.name:20}{'s':>7}{'MB/s':>7}{'ratio':>7}{'CPU s':>8}{'ratio':>7}"
        f"{'peak MB':>9}"
    )
    for reader, run in best.items():
        print(
            f"{reader:20}{run.seconds:7.2f}{megabytes / run.seconds:7.0f}"
            f"{run.seconds / ours.seconds:7.2f}{run.cpu:8.2f}{run.cpu / ours.cpu:7.2f}"
            f"{run.peak:9.0f}, of it {run.before:.0f} before"
        )


SEEDS = (0, 1, 2)
BATCH = 16_384


def split_report(rows: int, repeats: int) -> None:
    """Print how fast events are simulated, split and scaled, and the extra memory.

    Simulated events are split for three seeds, in memory and mapped from a file, each in a
    new process. Extra memory is the peak minus the memory before and, for mapped data, the
    data themselves. Scaling goes through the training and test rows of every seed in
    batches, as training does.
    """
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
            runs = [measure_split(folder, where) for _ in range(repeats)]
            split, scale, used, extra = min(runs, key=lambda run: run[0] + run[1])
            extra -= megabytes if where == "mapped" else 0
            values = (split, scale, split + scale, used, extra, extra / megabytes)
            print(f"{where:8}" + "".join(f"{value:9.2f}" for value in values))


def measure_split(folder: str, where: str) -> tuple[float, ...]:
    """Measure splitting and scaling in a new process: seconds, CPU seconds and MB."""
    command = [sys.executable, "-m", "experiments.bench.bench_data", "split"]
    done = subprocess.run([*command, folder, where], check=True, capture_output=True)
    return tuple(json.loads(done.stdout))


def split_child(folder: str, where: str) -> None:
    """Run in the process that ``measure`` starts."""
    x = np.load(Path(folder) / "x.npy", mmap_mode="r" if where == "mapped" else None)
    y = np.load(Path(folder) / "y.npy")
    scale = jax.jit(lambda split, rows: split.scale(rows))
    few = jb.data.split((np.array(x[:1000]), np.arange(1000) % 2))
    rest = (len(x) - round(len(x) / 5)) % BATCH, round(len(x) / 5) % BATCH
    for rows in (BATCH, *rest):  # compile before the clock starts
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
                scaled.block_until_ready()  # otherwise batches accumulate in memory
    end, used = time.perf_counter(), time.process_time() - used
    print(json.dumps([split - start, end - split, used, peak_memory() - before]))


if __name__ == "__main__":
    {"read": child, "split": split_child}[sys.argv[1]](*sys.argv[2:])
