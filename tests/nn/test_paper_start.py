"""The paper's networks start with the numbers they had before layers got new defaults.

``fixtures/paper_start.json`` was written by the code before that. Another version of JAX or
another processor, with other vector instructions, gives other last bits.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.nn.paper_starts import INITS
from tests.quick import FLAGS

ROOT = Path(__file__).parents[2]
KEPT = json.loads((ROOT / "tests" / "fixtures" / "paper_start.json").read_text())


@pytest.fixture(scope="module")
def starts():
    """As users get them: compiled without the flags of the tests."""
    flags = os.environ["XLA_FLAGS"].replace(FLAGS, "").strip()
    result = subprocess.run(
        [sys.executable, "-m", "tests.nn.paper_starts"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": flags},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*(f"mlp {init}" for init in INITS), "capacity", "comparison", "timing"]
)
def test_networks(name, starts):
    (coeffs, logits), kept = starts[name], KEPT[name]
    np.testing.assert_allclose(coeffs, kept["coeffs"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(logits, kept["logits"], rtol=1e-4, atol=1e-6)


def test_the_papers_layer_in_one_line():
    paper = {"lower": -3.0, "upper": 3.0, "outside": "clamp", "init": "paper"}
    act = jb.BernsteinAct(16, degree=9, **paper, rngs=nnx.Rngs(0))
    drawn = jax.random.normal(nnx.Rngs(0).params(), (16, 4)) / 16
    np.testing.assert_allclose(act.coeffs[...], jb.poly.elevate(drawn, 9), atol=1e-7)
    np.testing.assert_array_equal(act(jnp.full((1, 16), 9.0))[0], act.coeffs[:, -1])
