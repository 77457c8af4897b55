"""Every Python block of the README runs as it stands."""

import re
from pathlib import Path

import jax
import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@jax.numpy_dtype_promotion("standard")  # a reader has JAX's defaults
@jax.numpy_rank_promotion("allow")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write a file
    names: dict = {}
    exec(
        compile(BLOCKS[number], f"README.md, Python block {number + 1}", "exec"), names
    )
    assert names["checked"], "a block ends by checking what it says"


def test_there_are_blocks():
    assert len(BLOCKS) >= 3
