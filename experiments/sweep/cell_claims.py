"""Claims: one process trains a cell at a time, and another takes over if it has died.

A claim is a file ``claim-N.json`` in the directory of the cell that names its owner. The
newest claim counts. A process never removes the claim of another: if it finds the owner of
claim N dead, it makes claim N + 1, which the file system lets exactly one process do.

An owner on this host is alive if a process with its number and its start time exists. An
owner on another host is alive if it holds its lock on the file (``flock``), where the file
system carries locks between hosts; otherwise its heartbeat, the file's mtime, decides.
"""

import contextlib
import dataclasses
import errno
import fcntl
import functools
import json
import os
import platform
import subprocess
import threading
import time
import uuid
from pathlib import Path

BEAT_SECONDS = 10.0
SILENCE_SECONDS = 120.0  # so long without a beat, and an owner elsewhere is dead


class Lost(RuntimeError):
    """Raised when another process considered this one dead and took over the cell."""


@dataclasses.dataclass(frozen=True)
class Owner:
    """A process, identified uniquely over time and hosts.

    Attributes:
      host: name of the machine.
      kernel: boot identifier of the machine, and the name space of process numbers.
      pid: process number.
      began: start time of the process, as the system reports it.
    """

    host: str
    kernel: str
    pid: int
    began: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Claim:
    """The right to train a cell, until it is released or this process ends."""

    def __init__(self, path: Path, descriptor: int):
        """Hold the claim file ``path``, which was just made and is open."""
        self.path, self.number = path, _number(path)
        self._descriptor = descriptor
        self._released = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def check(self) -> None:
        """Raise :class:`Lost` unless this is still the newest claim."""
        if not self.path.exists() or newest(self.path.parent) != self.path:
            raise Lost(
                f"another process took over {self.path.parent.name}: this one gave no "
                f"sign of life for {SILENCE_SECONDS:.0f} s"
            )

    def release(self) -> None:
        """Release the cell, so that other processes can claim it."""
        self._released.set()
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _beat(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(self.path)


def take(directory: Path) -> Claim | None:
    """Claim a cell; return None if another process has it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        last = newest(directory)
        if last is not None and alive(last):
            return None
        number = 1 if last is None else _number(last) + 1
        path = directory / f"claim-{number:06}.json"
        return Claim(path, _make(path))
    except (FileExistsError, FileNotFoundError):
        # Somebody was faster, or has just completed the cell and removed the directory.
        return None


def newest(directory: Path) -> Path | None:
    """Return the newest claim, which is the one that counts, or None."""
    return max(directory.glob("claim-*.json"), key=_number, default=None)


def alive(claim: Path) -> bool:
    """Return whether the owner of a claim is still running."""
    try:
        found, here = owner(claim), this_process()
        if found and (found.host, found.kernel) == (here.host, here.kernel):
            return _began(found.pid) == found.began
        return _locked(claim) or _silence(claim) < SILENCE_SECONDS
    except FileNotFoundError:
        return False


def owner(claim: Path) -> Owner | None:
    """Read the owner of a claim; None if the file cannot be read."""
    try:
        return Owner(**json.loads(claim.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def describe(directory: Path) -> str:
    """Describe who trains a cell, without changing any file."""
    claim = newest(directory)
    found = None if claim is None else owner(claim)
    if found is None:
        return "begun; nobody has it now"
    here = this_process()
    near = (found.host, found.kernel) == (here.host, here.kernel)
    if near and _began(found.pid) != found.began:
        return f"begun by {found}, which has ended"
    return f"begun by {found}"


def this_process() -> Owner:
    """Identify the calling process."""
    return Owner(platform.node(), _kernel(), os.getpid(), _began(os.getpid()))


def _make(path: Path) -> int:
    """Create a claim file with its content and lock in one step; return its descriptor."""
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    try:
        os.write(descriptor, json.dumps(dataclasses.asdict(this_process())).encode())
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.link(new, path)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        new.unlink(missing_ok=True)
    return descriptor


def _number(claim: Path) -> int:
    return int(claim.stem.removeprefix("claim-"))


def _locked(claim: Path) -> bool:
    with claim.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as problem:
            return problem.errno in (errno.EWOULDBLOCK, errno.EACCES)
    return False


def _silence(claim: Path) -> float:
    """Return the seconds since the last heartbeat, by the clock of the file system."""
    probe = claim.with_name(f".now.{uuid.uuid4().hex[:12]}")
    try:
        probe.touch()
        return probe.stat().st_mtime - claim.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


@functools.cache
def _kernel() -> str:
    """Identify the boot of the machine and the name space of process numbers."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return f"{time.time() - time.monotonic():.0f}"


def _began(pid: int) -> str:
    """Return when a process began; empty if it does not exist or is a zombie."""
    try:
        # The name of the program is in parentheses and may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return ""
    asked = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    said = subprocess.run(asked, capture_output=True, text=True).stdout.split(None, 1)
    return said[1].strip() if len(said) == 2 and said[0][0] not in "ZX" else ""
