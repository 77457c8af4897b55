"""What is sent to other processes: pickled and copied, the same afterwards."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxbern as jb

# Every initialiser with its defaults, and some with arguments.
MADE = {
    name: made()
    for name, made in vars(jb.initializers).items()
    if getattr(made, "__module__", "") == jb.initializers.__name__
    and not name.startswith("_")
    and name not in ("Initializer", "get", "from_function", "of_network")
} | {
    "from_function": jb.initializers.from_function(jax.nn.gelu),
    "smooth with arguments": jb.initializers.smooth(0.3, degree=2),
    "identity with arguments": jb.initializers.identity(lower=-2.0),
}
ways = pytest.mark.parametrize(
    "sent",
    [lambda made: pickle.loads(pickle.dumps(made)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)


def test_every_initialiser_is_here():
    assert {"smooth", "normal", "xavier", "identity", "relu", "ramp"} < MADE.keys()


@ways
@pytest.mark.parametrize("name", MADE)
def test_initialisers(name, sent):
    key = jax.random.key(1)
    expected = MADE[name](key, (3, 6), jnp.float32)
    np.testing.assert_array_equal(sent(MADE[name])(key, (3, 6), jnp.float32), expected)


@ways
def test_reduce_on_plateau(sent):
    plateau = jb.optim.reduce_on_plateau(0.5, mode="max", factor=0.25, patience=0)
    other = sent(plateau)
    assert isinstance(other, type(plateau))
    tx = optax.chain(optax.clip(1.0), other)
    state = tx.init(jnp.ones(2))
    for metric in (0.5, 0.4):
        state = other.step(state, metric)
    assert float(jb.optim.learning_rate(state)) == 0.125
    updates, _ = other.update(jnp.ones(2), other.init(jnp.ones(2)))
    assert updates.tolist() == [-0.5, -0.5]
    assert sent(other).arguments == plateau.arguments


@ways
def test_configurations(sent):
    config = jb.train.TrainConfig(jb.train.NetworkConfig(3, 2, 4, degree=3))
    assert sent(config) == config
