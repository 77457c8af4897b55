"""Strict settings for all tests, as careful users may have them, and shared fixtures."""

import os

import jax
import pytest

from tests.quick import FLAGS

# XLA reads the flags at its first program; child processes of tests inherit them.
if FLAGS not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(items):
    """Mark docstring examples and attacks as slow, because together they are."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) or item.get_closest_marker("attack"):
            item.add_marker("slow")


@pytest.fixture
def x64():
    """Enable double precision for one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run ``sweep_cases`` without faults; its compiled programs are cached for other files.

    JAX's in-memory caches are cleared first, so that the programs reach the disk cache.
    """
    from experiments.sweep import compiled_programs
    from tests.experiments.sweep_cases import programs, sweep

    jax.clear_caches()
    root = tmp_path_factory.mktemp("whole")
    with compiled_programs.kept(programs(tmp_path_factory)):
        summary = sweep(root)
    assert not summary.failed
    return root
