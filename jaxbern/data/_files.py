"""The cache folder, locks, JSON files written atomically, and hashes of files."""

import contextlib
import errno
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from jaxbern import io
from jaxbern.data._errors import DiskError
from jaxbern.io import CACHE_VARIABLE as CACHE_VARIABLE
from jaxbern.io import replacing

TICK = 100_000_000  # nanoseconds
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The last two occur on network disks without locks.
_CLOSED = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.ENOLCK,
    errno.EOPNOTSUPP,
)


def cache_folder() -> Path:
    """Return the folder for downloads and converted copies inside the cache."""
    return io.cache_folder() / "data"


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Let one process at a time do the work called ``name``; the others wait.

    The operating system releases the lock when its process ends, even if it is killed.
    """
    import fcntl  # missing on Windows, where only simulated data work

    with contextlib.ExitStack() as stack:
        with writing():
            folder = cache_folder() / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context((folder / f"{name}.lock").open("a"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"waiting for another process: {name}", file=sys.stderr)
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn errors of a full or read-only disk into advice."""
    try:
        yield
    except OSError as error:
        folder = cache_folder()
        move = f"set {CACHE_VARIABLE} to a directory on another disk"
        if error.errno in _FULL:
            raise DiskError(
                f"no space left in {folder}: {error.strerror}. Free some space (after "
                f"tidying up, {free_space(folder):,} bytes are free), or {move}, and run "
                "again."
            ) from error
        if error.errno in _CLOSED:
            raise DiskError(
                f"cannot write to {folder}: {error}. Please {move}."
            ) from error
        raise


def free_space(folder: Path) -> int:
    """Return the free bytes on the disk of ``folder``, which need not exist."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def write_json(file: Path, content: dict) -> None:
    """Write a JSON file atomically."""
    with replacing(file) as out:
        json.dump(content, out, indent=1)


def read_json(file: Path) -> dict:
    """Return the content; an empty dictionary if the file is missing or damaged."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, cached by path, size and modification time."""
    if known := recorded_sha256(path):
        return known
    about = _identity(path)
    about["settled"] = settled(about["mtime_ns"])
    digest = about["sha256"] = file_sha256(path)
    with writing():
        write_json(_record(path), about)
    return digest


def settled(changed: int) -> bool:
    """Return whether any later change will get a later modification time.

    The clock of a file system advances in steps of milliseconds: a write right after a
    read may leave the modification time unchanged.
    """
    return time.time_ns() - changed > TICK


def recorded_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file if it was computed since the last change."""
    known, now = read_json(_record(path)), _identity(path)
    unchanged = all(known.get(key) == value for key, value in now.items())
    return known.get("sha256") if unchanged and known.get("settled") else None


def last_sha256(path: Path) -> str | None:
    """Return the last computed SHA-256 of a file, which may have changed since."""
    return read_json(_record(path)).get("sha256")


def file_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(path: Path) -> dict:
    status = path.stat()
    size, changed = status.st_size, status.st_mtime_ns
    return {"path": str(path.resolve()), "size": size, "mtime_ns": changed}


def _record(path: Path) -> Path:
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:24]
    return cache_folder() / "sources" / f"{name}.json"
