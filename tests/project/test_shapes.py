"""Calls have the shapes and dtypes that their annotations say, down to the kernels.

jaxtyping's import hook puts a type checker around every function of jaxbern. It has to be
there before jaxbern is imported, so tests of other rooms run again in another process.
Left out are tests of bad arguments, because the checker's error comes before ours; Triton,
which compiles the source of functions and finds wrapped ones; and tests that pass other
things than arrays, such as lists of seeds or a ``Split`` of ``None``.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jaxtyping")
pytest.importorskip("beartype")
ROOT = Path(__file__).parents[2]
HOOK = "--jaxtyping-packages=jaxbern,beartype.beartype"
ROOMS = (
    "tests/op/test_custom_vjp.py", "tests/op/test_outside.py",
    "tests/op/test_derivatives.py", "tests/nn/test_layers.py",
    "tests/nn/test_mlp.py", "tests/poly", "tests/kernels/test_pallas_kernels.py",
    "tests/train/test_metrics.py", "tests/train/test_optim.py",
    "tests/train/test_train_rules.py", "tests/train/test_train_schedule.py",
    "tests/data/test_split.py",
)  # fmt: skip


def run(*arguments):
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_every_call_is_as_annotated():
    left_out = (
        "triton", "refus", "errors_say", "unknown", "wrong_arguments", "must_be",
        "memory_map", "alike", "left_out", "written", "models_are",
    )  # fmt: skip
    chosen = " and ".join(f"not {word}" for word in left_out)
    result = run(
        "-m", "pytest", "-q", "-n0", "-m", "not slow", HOOK, "-k", chosen, *ROOMS
    )
    assert result.returncode == 0, result.stdout[-5000:]
    assert int(result.stdout.split(" passed")[0].split()[-1]) > 100


WRONG = """
from jaxtyping import install_import_hook
with install_import_hook("jaxbern", "beartype.beartype"):
    from jaxbern.kernels.xla import xla_backend
import jax.numpy as jnp
x, interval = jnp.zeros((2, 3)), jnp.array([-3.0, 3.0])[:, None, None]
xla_backend.evaluate(x, jnp.ones((4, 1, {width})), interval, outside="clamp")
"""


@pytest.mark.slow
def test_a_wrong_shape_would_be_seen():
    assert run("-c", WRONG.format(width=3)).returncode == 0
    result = run("-c", WRONG.format(width=2))
    assert "typechecking parameter 'coeffs'" in result.stderr


def test_without_jaxtyping_annotations_are_plain_types():
    code = (
        "import jaxbern, sys; assert 'jaxtyping' not in sys.modules; "
        "from jaxbern.kernels.array_types import Bool, Float, Int, Shaped; "
        "print({kind[int, 'a b'] for kind in (Bool, Float, Int, Shaped)})"
    )
    result = run("-c", code)
    assert result.stdout.strip() == "{<class 'int'>}", result.stderr
