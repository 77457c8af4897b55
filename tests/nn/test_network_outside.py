"""``outside="linear"`` in the paper's network: values, options, files."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.nn.networks import network
from tests.oracles import certify_oracle


def wide_inputs() -> jax.Array:
    """Many of what reaches the activations is outside."""
    return 4 * jax.random.normal(jax.random.key(0), (32, 3))


@pytest.mark.slow
@pytest.mark.parametrize("lean", [True, False])
def test_values_are_those_of_the_oracle(lean):
    model = network(outside="linear", degree=4, lean=lean)
    model.eval()
    x = wide_inputs()
    np.testing.assert_allclose(
        model(x), certify_oracle.forward(model, x), rtol=2e-4, atol=2e-4
    )
    clamped = network(outside="clamp", degree=4, lean=lean)
    clamped.eval()
    assert jnp.abs(model(x) - clamped(x)).max() > 0.1


def test_files_hold_it_and_files_from_before_are_clamped(tmp_path):
    for outside in ("linear", "clamp"):
        model = network(outside=outside, degree=4)
        model.eval()
        path = tmp_path / f"{outside}.npz"
        model.save(path)
        header = json.loads(np.load(path)["header"].item())
        # Absent in what was written before it could be chosen.
        assert header["config"].get("outside", "absent") == (
            "linear" if outside == "linear" else "absent"
        )
        loaded = jb.MLP.load(path)
        assert loaded.config.outside == outside
        x = wide_inputs()
        np.testing.assert_array_equal(loaded(x), model(x))


def test_another_word_is_refused():
    with pytest.raises(ValueError, match=r'outside must be "clamp".*"linear"'):
        jb.MLP(2, depth=2, width=3, outside="wrap", rngs=nnx.Rngs(0))
