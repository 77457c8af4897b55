"""``python -m jaxbern doctor``: report what is installed, what would run, and check it.

Each check yields findings; a finding of a problem says what to do about it. Only the core
packages are needed.
"""

import importlib.metadata
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax

import jaxbern as jb
from jaxbern.doctor import _selfcheck

_CORE = ("jax", "jaxlib", "flax", "optax", "numpy")
# package on PyPI, its purpose, the extra of jaxbern that installs it
_OPTIONAL = (
    ("jax-cuda12-plugin", "NVIDIA GPUs", "cuda12"),
    ("jax-cuda13-plugin", "NVIDIA GPUs", "cuda13"),
    ("triton", "the Triton kernels", "triton"),
    ("jax-triton", "the Triton kernels", "triton"),
    ("matplotlib", "pictures", "plot"),
    ("pyarrow", "data files", "experiments"),
    ("isal", "data files, faster", "experiments"),
    ("rich", "progress bars", "experiments"),
    ("jinja2", "the page of the report", "experiments"),
    ("ray", "sweeps over several machines", "ray"),
    ("equinox", "the tests", "test"),
    ("pytest", "the tests", "test"),
)
_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")
_WIDTH = 22  # of the column of names
_VARIABLES = ("JAX_PLATFORMS", "JAX_ENABLE_X64", "XLA_FLAGS", "JAXBERN_IMPLEMENTATION")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    says: str
    remedy: str = ""  # what to do; empty if nothing is wrong


def run() -> int:
    """Print the report; return 1 if something is wrong, else 0."""
    wrong = []
    for title, check in CHECKS.items():
        print(title)
        for finding in _guarded(title, check):
            mark = "WRONG: " if finding.remedy else ""
            print(f"  {finding.name:<{_WIDTH}} {mark}{finding.says}", flush=True)
            if finding.remedy:
                print(f"  {'':<{_WIDTH}} -> {finding.remedy}")
                wrong.append(finding.name)
    if wrong:
        print(
            f"\nWrong: {', '.join(wrong)}. The remedy is printed below each, after '->'."
        )
        return 1
    print("\nAll is well.")
    return 0


def _guarded(title: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Run a check; report an unexpected exception as a finding."""
    try:
        yield from check()
    except Exception as error:
        remedy = "if this does not say what to do, report it with this whole output"
        yield Finding(title.lower(), _short(error), remedy)


def _short(error: Exception) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first[:300]}"


def _versions() -> Iterator[Finding]:
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}")
    yield Finding("jaxbern", jb.__version__)
    for package in _CORE:
        yield Finding(package, _version(package) or "not found by this name")


def _devices() -> Iterator[Finding]:
    for name in _VARIABLES:
        if value := os.environ.get(name):
            yield Finding(name, value)
    yield from _fitting_plugins()
    try:
        devices = jax.devices()
    except RuntimeError as error:
        yield Finding(
            "devices",
            str(error).splitlines()[0],
            "unset JAX_PLATFORMS, or set JAX_PLATFORMS=cpu",
        )
        return
    for device in devices:
        yield Finding(f"{device.platform}:{device.id}", device.device_kind)
    if all(device.platform == "cpu" for device in devices):
        yield Finding("GPU", _why_no_gpu())


def _fitting_plugins() -> Iterator[Finding]:
    """Find CUDA plugins of another version than jaxlib, which JAX ignores quietly."""
    for package in _PLUGINS:
        installed, wanted = _version(package), _version("jaxlib")
        if installed and installed != wanted:
            extra = package.split("-")[1]
            yield Finding(
                package,
                f"{installed} does not fit jaxlib {wanted}",
                f'pip install -U "jaxbern[{extra}]"',
            )


def _why_no_gpu() -> str:
    driver = shutil.which("nvidia-smi") is not None
    plugin = any(map(_version, _PLUGINS))
    if "JAX_PLATFORMS" in os.environ:
        return "none used: JAX_PLATFORMS decides"
    if driver and not plugin:
        return 'none used, but there is an NVIDIA driver: pip install "jaxbern[cuda12]"'
    if driver:
        return "none used: JAX has CUDA support and a driver, see what it said above"
    return "none: there is no NVIDIA driver (nvidia-smi) here"


def _choices() -> Iterator[Finding]:
    """Say which backend runs the usual call, and others where it differs."""
    said = set()
    for dtype, degree in (("float32", 9), ("float64", 9), ("float32", 70)):
        name = f"{dtype}, degree {degree}"
        try:
            finding = Finding(name, jb.explain(dtype=dtype, degree=degree))
        except (NotImplementedError, ValueError) as error:
            finding = Finding(name, str(error), "unset JAXBERN_IMPLEMENTATION")
        if finding.says not in said:
            yield finding
        said.add(finding.says)


def _numbers() -> Iterator[Finding]:
    yield _computed("as chosen", None)
    if jax.default_backend() != "cpu":
        yield _computed("xla", "xla")


def _computed(name: str, implementation: str | None) -> Finding:
    """Check values, gradients and second derivatives of one implementation."""
    start = time.perf_counter()
    try:
        wrong = "; ".join(_selfcheck.problems(implementation))
    except Exception as error:  # compilers raise errors of many types
        wrong = _short(error)
    if not wrong:
        took = time.perf_counter() - start
        right = "values, gradients and second derivatives are right"
        return Finding(name, f"{right} ({took:.1f} s)")
    if implementation == "xla":
        return Finding(
            name, wrong, "try another version of jax, and report this output"
        )
    return Finding(
        name, wrong, "set JAXBERN_IMPLEMENTATION=xla and try again; report this output"
    )


def _kernels() -> Iterator[Finding]:
    for name, packages in (
        ("pallas", ()),
        ("mosaic", ()),
        ("triton", ("triton", "jax-triton")),
    ):
        missing = [package for package in packages if not _version(package)]
        yield _compiled(name, missing)
        if "triton" in missing:
            yield Finding(f"{name}, interpreted", _not_installed(missing))
        else:
            yield _computed(f"{name}, interpreted", f"{name}:interpret")


def _compiled(name: str, missing: list[str]) -> Finding:
    try:
        jb.explain(implementation=name)
    except NotImplementedError as error:
        reason = str(error).partition(": ")[2].partition(";")[0]
        return Finding(f"{name}, compiled", f"not tried: {reason}")
    if missing:
        return Finding(f"{name}, compiled", _not_installed(missing))
    return _computed(f"{name}, compiled", name)


def _not_installed(packages: list[str]) -> str:
    return f'not tried: {" and ".join(packages)} not installed ("jaxbern[triton]")'


def _packages() -> Iterator[Finding]:
    for package, purpose, extra in _OPTIONAL:
        version = _version(package)
        missing = f'missing; for {purpose}: pip install "jaxbern[{extra}]"'
        yield Finding(package, f"{version}, for {purpose}" if version else missing)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "Versions": _versions,
    "Devices": _devices,
    "Implementation that would run": _choices,
    "Numbers, against exact arithmetic": _numbers,
    "GPU kernels": _kernels,
    "Optional packages": _packages,
}
