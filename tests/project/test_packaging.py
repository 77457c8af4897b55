"""What an import brings in, and that the package is one package."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import jaxbern as jb

ROOT = Path(__file__).parents[2]


def run(code: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, **options
    )


@pytest.mark.slow
def test_import_needs_only_the_core_dependencies():
    """Nothing of the test, plotting or GPU extras; no warning; nothing compiled."""
    code = (
        "import sys, warnings; warnings.simplefilter('error'); import jaxbern.data; "
        "print([m for m in ('chex', 'triton', 'jax_triton', 'matplotlib', 'equinox', "
        "'jax.experimental.pallas', 'ray', 'polars', 'pyarrow', 'isal', "
        "'jaxbern.data.collider') if m in sys.modules])"
    )
    result = run(code)
    # JAX's CUDA plugin, where it is installed, has its own word to say on stderr.
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


def test_kernels_can_only_be_imported_as_part_of_the_package():
    result = run("import kernels", cwd=ROOT)
    assert "this package is `jaxbern.kernels`, not `kernels`" in result.stderr
    assert importlib.util.find_spec("jaxbern.kernels") is not None


@pytest.mark.parametrize(
    "name", ["bernstein", "BernsteinAct", "initializers", "poly", "implementation",
             "saturation", "linen", "explain", "autotune", "__version__"],
)  # fmt: skip
def test_public_names(name):
    assert hasattr(jb, name)
