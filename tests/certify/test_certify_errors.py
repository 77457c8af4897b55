"""What cannot be certified is refused, and the error says why."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from tests.nn.networks import network

MODEL = network(3, 2, 4)
MODEL.eval()
BOX = np.zeros(3, np.float32), np.ones(3, np.float32)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jb.certify.bounds(network(3, 2, 4), *BOX), ValueError,
         r"evaluation mode.*network.eval\(\)"),
        (lambda: jb.certify.lipschitz(nnx.Linear(3, 2, rngs=nnx.Rngs(0))), TypeError,
         "jaxbern.MLP or a jaxbern.BernsteinAct, got Linear"),
        (lambda: jb.certify.bounds(jnp.sin, *BOX), TypeError, "flax.nnx.Module"),
        (lambda: jb.certify.bounds(MODEL), ValueError, "a box, or a ball"),
        (lambda: jb.certify.bounds(MODEL, *BOX, rigorous=False), ValueError,
         'for training, with method="interval"'),
        (lambda: jb.certify.bounds(MODEL, *BOX, rigorous=0), TypeError, "True or False"),
        (lambda: jb.certify.bounds(MODEL, *BOX, method="exact"), ValueError,
         "method must be 'affine' or 'interval', got 'exact'"),
        (lambda: jb.certify.bounds(MODEL, BOX[1], BOX[0]), ValueError,
         "lower must be at most upper"),
        (lambda: jb.certify.bounds(MODEL, BOX[0] * np.nan, BOX[0]), ValueError, "NaN"),
        (lambda: jb.certify.bounds(MODEL, BOX[0][:2], BOX[1][:2]), ValueError,
         r"\[\.\.\., 3\].*lower has \[2\]"),
        (lambda: jb.certify.bounds(MODEL, BOX[0], BOX[1][None]), ValueError,
         r"upper has \[1, 3\]"),
        (lambda: jb.certify.bounds(MODEL, np.zeros(3, int), BOX[1]), TypeError,
         "lower must be floating point"),
        (lambda: jb.certify.bounds(MODEL, *BOX, weights=np.ones(2, "f4")), ValueError,
         r"weights must have shape \[k, 2\].*got \[2\]"),
        (lambda: jb.certify.bounds(MODEL, *BOX, weights=np.ones((3, 1, 2), "f4")),
         ValueError, r"\[k, 2\].*got \[3, 1, 2\]"),
        (lambda: jb.certify.bounds(MODEL, *BOX, splits=17), ValueError, "0 to 16"),
        (lambda: jb.certify.bounds(MODEL, *BOX, splits=1.0), TypeError, "splits .* int"),
        (lambda: jb.certify.lipschitz(MODEL, BOX[0]), ValueError, "belong together"),
        (lambda: jb.certify.lipschitz(MODEL, norm=3), ValueError, "norm must be 1 or 2 or inf"),
        (lambda: jb.certify.lipschitz(MODEL, method="affine"), ValueError,
         "'jacobian' or 'product'"),
        (lambda: jb.certify.lipschitz(MODEL, splits=2), ValueError, "splits .* box"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_an_activation():
    act = jb.BernsteinAct(3, 2, domain="batch", rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match="evaluation mode"):
        jb.certify.lipschitz(act)
    act.eval()
    with pytest.raises(ValueError, match="splits is for networks"):
        jb.certify.bounds(act, *BOX, splits=1)
