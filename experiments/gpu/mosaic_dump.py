"""Kernels that Mosaic GPU compiled, read back from its dump directory.

Mosaic compiles inside of XLA, which dumps none of its code. Told to by an environment
variable, it writes for each kernel the PTX, and the log of its passes, in which the launch
is found: grid, threads, shared memory, and which array each parameter of the kernel is.

One process can compile for several GPUs, although Mosaic asks ``ptxas`` for the first one's
architecture every time: the ``ptxas`` that it finds here takes what the PTX itself names.
"""

import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.gpu import toolchain

_VARIABLE = "MOSAIC_GPU_DUMP_TO"
_LAUNCH = re.compile(
    r"gpu\.launch_func .*? blocks in \((?P<grid>[^)]*)\) threads in \((?P<threads>[^)]*)\)"
    r"\s+dynamic_shared_memory_size (?P<shared>%\w+) args\((?P<args>[^)]*)\)"
)


@contextlib.contextmanager
def into(folder: Path) -> Iterator[None]:
    """Let Mosaic write to ``folder`` what it compiles."""
    folder.mkdir()
    path = os.pathsep.join([_own_ptxas().name, os.environ.get("PATH", "")])
    with (
        environment(PATH=path, **{_VARIABLE: str(folder)}),
        toolchain.no_driver_expected(),
    ):
        yield


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set environment variables, and restore them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@functools.cache
def _own_ptxas() -> tempfile.TemporaryDirectory:
    """Make a folder with a ``ptxas`` that reads the architecture from its first argument.

    It stays as long as the process, which may remember where it found the program.
    """
    folder = tempfile.TemporaryDirectory(prefix="jaxbern-ptxas-")
    program = Path(folder.name, "ptxas")
    program.write_text(_PTXAS.format(real=toolchain.ptxas()[0]))
    program.chmod(0o755)
    return folder


_PTXAS = """#!/bin/sh
target=$([ -f "$1" ] && sed -n 's/^\\.target *\\([a-z0-9_]*\\).*/\\1/p' "$1" | head -1)
n=$#
while [ "$n" -gt 0 ]; do
  case "$1" in
    -arch=*) set -- "$@" "-arch=${{target:-${{1#-arch=}}}}" ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  n=$((n - 1))
done
exec {real} "$@"
"""


def kernels(folder: Path) -> Iterator[dict[str, Any]]:
    """Read :class:`~experiments.gpu.gpu_compile.Kernel` of every kernel."""
    for path in sorted(folder.glob("*.ptx")):
        ptx = path.read_text()
        entry = re.search(r"\.entry\s+([\w$]+)", ptx)
        launch = _LAUNCH.search(path.with_suffix(".mlir-passes.log").read_text())
        if entry is None or launch is None:
            raise RuntimeError(
                f"no kernel, or no launch of it, in Mosaic's {path.name}"
            )
        x, y, z = map(_constant, launch["threads"].split(","))
        yield {
            "name": entry[1],
            "ptx": ptx,
            "grid": tuple(map(_constant, launch["grid"].split(","))),
            "threads": x * y * z,
            "shared": _constant(launch["shared"]),
            "order": _order(launch["args"]),
        }


def _constant(name: str) -> int:
    """Parse the number that MLIR names ``%c128``, ``%c128_0`` or ``%c128_i32``."""
    found = re.fullmatch(r"%c(\d+)(_\w+)?", name.strip())
    if found is None:
        raise ValueError(f"a launch must have constant sizes, got {name}")
    return int(found[1])


def _order(args: str) -> tuple[int, ...]:
    """Parameters come in the order of their first use; the arrays' names count upwards."""
    numbers = [int(n) for n in re.findall(r"%(\d+)", args)]
    return tuple(sorted(numbers).index(n) for n in numbers)
