"""The programs in ``docs/examples`` run as they stand and learn what they say."""

import runpy
from pathlib import Path

import jax
import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "examples"


@jax.numpy_dtype_promotion("standard")  # a reader has JAX's defaults
@jax.numpy_rank_promotion("allow")
@jax.default_prng_impl("unsafe_rbg")  # compiles in a third of the time
def result_of(name):
    return runpy.run_path(str(FOLDER / name))["main"]()


def test_cnn_on_digits():
    pytest.importorskip("sklearn")
    assert result_of("cnn_digits.py") > 0.95


def test_transformer_block():
    """Guessing has a loss of 1.95."""
    losses = result_of("transformer_block.py")
    assert losses[0] > 1.9
    assert losses[-1] < 0.1


def test_none_is_forgotten():
    names = {file.name for file in FOLDER.glob("*.py")}
    assert names == {"cnn_digits.py", "transformer_block.py"}
