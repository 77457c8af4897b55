"""Strict globals: what a careful user may have switched on must not break us."""

import os

import jax
import pytest

from tests.quick import FLAGS

# XLA reads them with its first program; processes that tests start inherit them.
if FLAGS not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(items):
    """Examples in docstrings and attacks are slow, each of them a little."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) or item.get_closest_marker("attack"):
            item.add_marker("slow")


@pytest.fixture
def x64():
    """Double precision for one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed sweep of ``sweep_cases``; its programs are kept for other files.

    It compiles or loads them itself, whatever this process had compiled before.
    """
    from experiments.sweep import compiled_programs
    from tests.experiments.sweep_cases import programs, sweep

    jax.clear_caches()
    root = tmp_path_factory.mktemp("whole")
    with compiled_programs.kept(programs(tmp_path_factory)):
        summary = sweep(root)
    assert not summary.failed
    return root
