"""Where ``ptxas``, ``cuobjdump`` and XLA's CUDA compiler are, or what to install."""

import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

INSTALL = 'pip install "jaxbern[gpu-aot]"'
TPU_INSTALL = 'pip install "jaxbern[tpu-aot]"'
# The plugin of JAX 0.10 says so, whatever the log level, each time a part of it loads.
# Mosaic, which dumps what it compiled, would disassemble it too with a tool we do without.
_EXPECTED = (
    "Could not find cuda drivers",
    "before absl::InitializeLog()",
    "nvdisasm invocation failed",
    "=== Source Location Trace: ===",
    "jaxlib/mosaic/gpu/dump.cc",
    # libtpu, which looks for the machines of a TPU.
    "TPU_WORKER_HOSTNAMES",
    "TPU_ACCELERATOR_TYPE",
    "Logging before InitGoogle()",
    "libtpu_init_utils.cc",
)


class ToolchainMissing(RuntimeError):
    """A package of the extra ``gpu-aot`` or ``tpu-aot`` is not installed."""

    def __init__(self, what: str, install: str = INSTALL):
        super().__init__(
            f"compiling for a card that is not here needs {what}: {install}"
        )


def _in_package(package: str, *paths: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    roots = spec.submodule_search_locations if spec else None
    return [Path(root, path) for root in roots or () for path in paths]


def _programs(name: str, candidates: list[Path], wheel: str) -> list[str]:
    found = [str(p) for p in candidates if p.is_file() and os.access(p, os.X_OK)]
    if (on_path := shutil.which(name)) is not None:
        found.append(on_path)
    if not found:
        raise ToolchainMissing(f"`{name}` (wheel {wheel})")
    return found


def ptxas() -> list[str]:
    """List every ``ptxas`` here; first the wheel's, which XLA itself uses.

    There may be several because each reads PTX up to its own version, and Triton
    brings one that is newer than CUDA 12's for the PTX it writes from sm_90 on.
    """
    wheel = _in_package("nvidia", "cuda_nvcc/bin/ptxas", "cu13/bin/ptxas")
    own = ("backends/nvidia/bin/ptxas", "backends/nvidia/bin/ptxas-blackwell")
    return _programs(
        "ptxas", wheel + _in_package("triton", *own), "nvidia-cuda-nvcc-cu12"
    )


def cuobjdump() -> str:
    """Path of ``cuobjdump``."""
    triton = _in_package("triton", "backends/nvidia/bin/cuobjdump")
    return _programs("cuobjdump", triton, "triton")[0]


def cuda_plugin() -> str | None:
    """Version of JAX's CUDA compiler if it is installed; it needs no driver."""
    for wheel in ("jax-cuda12-plugin", "jax-cuda13-plugin"):
        try:
            return metadata.version(wheel)
        except metadata.PackageNotFoundError:
            continue
    return None


def require() -> None:
    """Raise :class:`ToolchainMissing` unless everything is there and fits."""
    plugin, jaxlib = cuda_plugin(), metadata.version("jaxlib")
    if plugin is None:
        raise ToolchainMissing("JAX's CUDA plugin (wheel jax-cuda12-plugin)")
    if plugin != jaxlib:  # JAX would ignore it
        raise ToolchainMissing(
            f"jax-cuda12-plugin of jaxlib's version {jaxlib}, found {plugin}"
        )
    ptxas()
    cuobjdump()


def require_tpu() -> None:
    """Raise :class:`ToolchainMissing` unless XLA's compiler for TPUs is there."""
    if importlib.util.find_spec("libtpu") is None:
        raise ToolchainMissing("XLA's compiler for TPUs (wheel libtpu)", TPU_INSTALL)


def available() -> bool:
    """Return whether :func:`require` succeeds."""
    try:
        require()
    except ToolchainMissing:
        return False
    return True


@contextlib.contextmanager
def no_driver_expected() -> Iterator[None]:
    """Hold back standard error, and repeat it without notes on what is known to miss.

    They are written by C++ code, past Python's own stream: hence the file descriptor.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            for line in held.read().decode(errors="replace").splitlines():
                if line and not any(expected in line for expected in _EXPECTED):
                    print(line, file=sys.stderr)
