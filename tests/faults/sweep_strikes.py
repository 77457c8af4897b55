"""The faults, each applied to a separate sweep."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.sweep import cell_claims, cell_store

PATIENCE = 900.0  # seconds to wait for a sweep to end


class Case(NamedTuple):
    """A sweep to disturb: its store, its log, and a random generator."""

    root: Path
    log: Path
    chance: random.Random
    needed: int  # epochs of an undisturbed sweep

    def start(self, *options: str) -> subprocess.Popen:
        """Start the sweep as a separate process."""
        module = "tests.faults.sweep_child"
        command = [
            sys.executable,
            "-m",
            module,
            str(self.root),
            str(self.log),
            *options,
        ]
        with self._said.open("a") as said:
            return subprocess.Popen(command, stdout=said, stderr=said)

    @property
    def _said(self) -> Path:
        return self.log.with_suffix(".txt")

    @property
    def last_words(self) -> str:
        """The last lines that the processes printed."""
        return self._said.read_text()[-1000:]

    def epochs(self) -> list[dict]:
        """Return the log so far."""
        return [json.loads(line) for line in _lines(self.log)]


def finish(case: Case, *options: str) -> None:
    """Run the sweep to its end, undisturbed."""
    process = case.start(*options)
    status = process.wait(PATIENCE)
    if status:
        raise RuntimeError(f"the sweep ended with status {status}: {case.last_words}")


def kill_sweeps(case: Case, kills: int) -> str:
    """Kill the process of a sweep and start it again, repeatedly."""
    early = 0
    for number in range(kills):
        known = len(case.epochs())
        process = case.start()
        if case.chance.random() < 0.2:  # while it starts, reads the store, compiles
            time.sleep(case.chance.uniform(0.5, 6))
            early += 1
        else:
            _until(lambda known=known: len(case.epochs()) > known, process)
            left = max(0, case.needed - len(case.epochs()))
            # Two cells at a time: an epoch in about 0.07 s.
            time.sleep(case.chance.uniform(0, 2 * 0.07 * left / (kills - number + 1)))
        process.kill()
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError(f"the sweep ended before kill {number + 1}")
    finish(case)
    return f"{early} of them before the first epoch"


def kill_workers(case: Case, kills: int) -> str:
    """Kill workers of Ray that train a cell, while the sweep continues."""
    process = case.start("--executor", "ray", "--seconds", "0.5")
    killed: set[int] = set()
    while len(killed) < kills:
        if process.poll() is not None:
            raise RuntimeError(f"the sweep ended after {len(killed)} kills")
        worker = _worker(case)
        if worker is None or worker in killed:
            time.sleep(0.05)
            continue
        time.sleep(case.chance.uniform(0, 1.5))
        if _worker(case, worker) == worker:
            os.kill(worker, signal.SIGKILL)
            killed.add(worker)
    if process.wait(PATIENCE):
        raise RuntimeError(f"the sweep failed: {case.last_words}")
    return f"{len(killed)} workers"


def fill_disk(case: Case, disk: Path) -> str:
    """Fill the disk while cells are trained; the sweep must end and say why."""
    process = case.start()
    _until(lambda: _completed(case.root) >= 2, process)
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    status = process.wait(PATIENCE)
    ballast.unlink()
    if status != 3 or "is full" not in case.last_words:
        raise RuntimeError(f"status {status} on a full disk: {case.last_words}")
    whole = cell_store.read(case.root, thorough=True)
    if whole.damaged:
        raise RuntimeError(f"damaged by a full disk: {whole.damaged}")
    finish(case)
    return f"ended with status 3, {len(whole.results)} cells whole; then made room"


def spoil_cells(case: Case) -> str:
    """Change a byte, cut a file short, remove one: three of the completed cells."""
    finish(case)
    cells = sorted((case.root / cell_store.CELLS).iterdir())
    first, second, third = case.chance.sample(cells, 3)
    _flip(first / "history.jsonl", case.chance)
    network = second / "best-0.npz"
    os.truncate(network, network.stat().st_size // 2)
    (third / "manifest.json").unlink()
    damaged = cell_store.read(case.root, thorough=True).damaged
    if {name for name, _ in damaged} != {first.name, second.name, third.name}:
        raise RuntimeError(f"spoiled {first}, {second}, {third}; found {damaged}")
    finish(case)
    aside = len(list((case.root / cell_store.DAMAGED).iterdir()))
    return f"{aside} set aside and trained again"


def spoil_checkpoints(case: Case) -> str:
    """Kill a sweep and spoil the checkpoints of the cells it had begun."""
    process = case.start()
    _until(lambda: len(case.epochs()) > 8, process)
    process.kill()
    process.wait()
    spoiled = 0
    for begun in (case.root / cell_store.RUNNING).iterdir():
        steps = sorted((begun / "training" / "checkpoints").glob("[0-9]*"))
        for step in steps:
            for file in (step / "state").rglob("*"):
                if file.is_file():
                    file.write_bytes(b"spoiled")
        spoiled += bool(steps)
    finish(case)
    aside = len(list((case.root / cell_store.DAMAGED).iterdir()))
    return f"{spoiled} begun cells spoiled, {aside} set aside and trained anew"


def race(case: Case) -> str:
    """Two sweeps at once; one is killed in the middle, and the other ends alone."""
    one, two = case.start(), case.start()
    _until(lambda: len({entry["process"] for entry in case.epochs()}) == 2, one, two)
    half = case.needed // 2
    _until(lambda: len(case.epochs()) > half, one, two)
    one.kill()
    one.wait()
    if two.wait(PATIENCE):
        raise RuntimeError(f"the other sweep failed: {case.last_words}")
    share = sum(entry["process"] == two.pid for entry in case.epochs())
    return f"one of them killed; the other trained {share} epochs"


@contextlib.contextmanager
def small_disk(work: Path, megabytes: int) -> Iterator[Path | None]:
    """Mount a file system of this size; None if this user may not mount one."""
    place = work / "disk"
    place.mkdir()
    size = f"size={megabytes}m"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def _worker(case: Case, of: int | None = None) -> int | None:
    """Return a process that is training a cell: that of number ``of``, or any."""
    running = case.root / cell_store.RUNNING
    owners = []
    for begun in running.iterdir() if running.is_dir() else ():
        claim = cell_claims.newest(begun)
        owner = cell_claims.owner(claim) if claim and cell_claims.alive(claim) else None
        if owner:
            owners.append(owner.pid)
    if of is not None:
        return of if of in owners else None
    return case.chance.choice(owners) if owners else None


def _completed(root: Path) -> int:
    return len(list((root / cell_store.CELLS).glob("[!.]*")))


def _until(condition, *processes: subprocess.Popen) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if any(process.poll() is not None for process in processes):
            raise RuntimeError("the sweep ended too soon")
        if time.monotonic() > end:
            raise TimeoutError("nothing happens")
        time.sleep(0.02)


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
