"""Hidden layers on ``[width, batch]``: the network of ``[batch, width]``, transposed."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern import nn
from jaxbern.nn import NetworkConfig

CASES = {
    "relu": {"activation": "relu"},
    "gelu": {"activation": "gelu", "residual": False},
    "bernstein": {"degree": 3},
    "tails": {"degree": 4, "outside": "linear"},
    "monotone": {"degree": 3, "monotone": True},
    "standard": {"degree": 3, "lean": False},
    "remat": {"degree": 3, "remat": True},
    "half precision": {"degree": 3, "dtype": "bfloat16"},
}
QUICK = ("bernstein",)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, marks=[] if name in QUICK else pytest.mark.slow, id=name)
        for name, options in CASES.items()
    ],
)
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_numbers_and_gradients_are_the_same(options, training):
    config = NetworkConfig(3, depth=3, width=5, **options)
    params = nn.init(config, jax.random.key(0))
    random = np.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(40, 3)), jnp.float32)
    target = jnp.asarray(random.normal(size=(40, 2)), jnp.float32)
    running = None
    if not training:
        shape = (config.depth, config.width)
        running = (
            jnp.asarray(random.normal(size=shape), jnp.float32),
            jnp.asarray(random.uniform(0.5, 2, size=shape), jnp.float32),
        )

    def run(columns):
        def loss(params):
            out = nn.forward(
                config, params, x, running, with_saturation=True, columns=columns
            )
            return jnp.sum(out.logits.astype(jnp.float32) * target), out

        return jax.jit(jax.value_and_grad(loss, has_aux=True))(params)

    rows, columns = run(False), run(True)
    tolerance = 0.1 if config.dtype else 2e-4
    chex.assert_trees_all_close(columns, rows, rtol=tolerance, atol=tolerance)
    size = max(float(jnp.max(jnp.abs(a))) for a in jax.tree.leaves(rows[1]))
    assert size > 1e-2  # there is something to be equal to
