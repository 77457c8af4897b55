"""Compiled programs: cached in the store for later processes, and counted.

A small cell takes longer to compile than to train. A sweep that continues after a kill, and
the next worker, load programs from the store instead of compiling them again.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import platform
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from experiments.core.environment import processor

_COMPILED = "/jax/core/compile/backend_compile_duration"
# Not that of tracing: it counts the functions inside a function twice.
_DURATIONS = (_COMPILED, "/jax/core/compile/jaxpr_to_mlir_module_duration")
_FROM_STORE = "/jax/compilation_cache/cache_hits"
_OPTIONS = {
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_persistent_cache_enable_xla_caches": "none",  # their paths would be in the key
}
CELLS_KEPT = 16  # as many cells may have programs in memory
_cells = itertools.count(1)  # that this process has trained


@dataclasses.dataclass
class Count:
    """Compilations of one thread.

    Attributes:
      programs: programs that the process did not have yet.
      loaded: how many of these were read from the store.
      seconds: time for lowering, compiling and reading them.
    """

    programs: int = 0
    loaded: int = 0
    seconds: float = 0.0

    @property
    def compiled(self) -> int:
        """How many were compiled, not loaded."""
        return self.programs - self.loaded


@contextlib.contextmanager
def counted() -> Iterator[Count]:
    """Count the compilations of this thread inside the ``with`` block."""
    _listen()
    outer = getattr(_threads, "count", None)
    count = _threads.count = Count()
    try:
        yield count
    finally:
        _threads.count = outer
        if outer is not None:
            outer.programs += count.programs
            outer.loaded += count.loaded
            outer.seconds += count.seconds


@contextlib.contextmanager
def kept(directory: Path | None) -> Iterator[None]:
    """Cache compiled programs in a directory, unless the user has configured another cache.

    Each kind of processor has its own folder, since programs of one do not run on another.
    """
    if directory is None or option("jax_compilation_cache_dir"):
        yield
        return
    kind = f"{platform.machine()} {processor()} {jax.__version__}"
    place = directory / hashlib.sha256(kind.encode()).hexdigest()[:12]
    remove_incomplete(place)
    options = {"jax_compilation_cache_dir": str(place), **_OPTIONS}
    before = {name: option(name) for name in options}
    try:
        _configure(options)
        yield
    finally:
        _configure(before)


def release_some() -> None:
    """Free the programs of this process after every ``CELLS_KEPT`` calls, one per cell.

    A cell needs about 900 memory mappings for its programs and Linux grants a process 65,530,
    so a sweep that kept all programs would fail after about seventy cells. No cell needs the
    programs of another; a cell in another thread loads its own from the store again.
    """
    if next(_cells) % CELLS_KEPT == 0:
        jax.clear_caches()


def remove_incomplete(directory: Path) -> None:
    """Remove programs that were written in part; JAX would never replace them."""
    if not directory.is_dir():
        return
    for path in directory.glob("*-cache"):
        with contextlib.suppress(OSError):
            content, age = path.read_bytes(), time.time() - path.stat().st_mtime
            # A young one may be just now written by another process.
            if not _whole(content) and age > 60:
                path.unlink()


def _whole(content: bytes) -> bool:
    """Return whether zlib can decompress it; other formats are left to JAX."""
    if not content:
        return False
    if content[0] != 0x78:
        return True
    reader = zlib.decompressobj()
    try:
        reader.decompress(content)
    except zlib.error:
        return False
    return reader.eof


def option(name: str) -> Any:
    """Read an option of JAX by its name."""
    return getattr(jax.config, name)


def _configure(options: dict) -> None:
    for name, value in options.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # JAX looks at the options only once


_threads = threading.local()
_listening = threading.Lock()


def _listen() -> None:
    """Register the listener of JAX's events once; JAX offers no way to remove it."""
    if _listening.acquire(blocking=False):
        jax.monitoring.register_event_duration_secs_listener(_duration)
        jax.monitoring.register_event_listener(_event)


def _duration(event: str, duration_secs: float, **_: str | int) -> None:
    count = getattr(_threads, "count", None)
    if count is not None and event in _DURATIONS:
        count.seconds += duration_secs
        count.programs += event == _COMPILED


def _event(event: str, **_: str | int) -> None:
    count = getattr(_threads, "count", None)
    if count is not None and event == _FROM_STORE:
        count.loaded += 1
