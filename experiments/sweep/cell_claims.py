"""Who trains a cell: one process at a time, and another if that one has died.

A claim is a file ``claim-N.json`` in the directory of the cell that names its owner. The
newest claim counts. Nobody removes the claim of another: who finds the owner of claim N
dead makes claim N + 1, which the file system lets exactly one process do, on every host.

Whether an owner lives is seen from its process number and the time its process began, if
it is on this host; on another from its lock on the file (``flock``), if the file system
carries that from host to host; and else from its heartbeat, the file's time of change.
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
    """Another process has taken this one for dead and trains the cell."""


@dataclasses.dataclass(frozen=True)
class Owner:
    """A process, told apart from every other that has been or will be.

    Attributes:
      host: name of the machine.
      kernel: which of its boots, and which name space of process numbers.
      pid: number of the process.
      began: when it began, as the system says it.
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
        """Let others take the cell."""
        self._released.set()
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _beat(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(self.path)


def take(directory: Path) -> Claim | None:
    """Claim a cell; None if another process has it."""
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
    """The claim that counts, if there is any."""
    return max(directory.glob("claim-*.json"), key=_number, default=None)


def alive(claim: Path) -> bool:
    """Whether the owner of a claim is still there."""
    try:
        found, here = owner(claim), this_process()
        if found and (found.host, found.kernel) == (here.host, here.kernel):
            return _began(found.pid) == found.began
        return _locked(claim) or _silence(claim) < SILENCE_SECONDS
    except FileNotFoundError:
        return False


def owner(claim: Path) -> Owner | None:
    """Whose claim it is; None if the file does not say."""
    try:
        return Owner(**json.loads(claim.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def describe(directory: Path) -> str:
    """Who trains a cell, as far as can be seen without touching anything."""
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
    """The one that asks."""
    return Owner(platform.node(), _kernel(), os.getpid(), _began(os.getpid()))


def _make(path: Path) -> int:
    """The file, with its content and its lock from the first moment; its descriptor."""
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
    """Seconds since the last beat, by the clock of the file system."""
    probe = claim.with_name(f".now.{uuid.uuid4().hex[:12]}")
    try:
        probe.touch()
        return probe.stat().st_mtime - claim.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


@functools.cache
def _kernel() -> str:
    """Which boot of the machine, and in which name space processes are counted."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return f"{time.time() - time.monotonic():.0f}"


def _began(pid: int) -> str:
    """When a process began; empty if there is none, or a dead one not yet buried."""
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
