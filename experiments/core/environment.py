"""Record the environment that results depend on besides the configuration."""

import functools
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

import jaxbern as jb

_PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


@functools.cache
def environment() -> dict[str, Any]:
    """Return versions, devices, host, and the revision of the code if known."""
    devices = jax.devices()
    return {
        "jaxbern": jb.__version__,
        "revision": revision(),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "platform": devices[0].platform,
        "device": devices[0].device_kind,
        "devices": len(devices),
        "processor": processor(),
        "cores": os.cpu_count(),
        "host": platform.node(),
        "system": platform.platform(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


@functools.cache
def revision() -> str | None:
    """Return the git commit of this code, with a ``+`` if files were changed since."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return None  # installed, or inside the repository of another project
    head = _git(folder, "rev-parse", "HEAD")
    if head is None:
        return None
    return head + ("+" if _git(folder, "status", "--porcelain", "-uno") else "")


@functools.cache
def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
