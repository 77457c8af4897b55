"""AdamW against what PyTorch computed."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxbern as jb
from tests.oracles.train_oracle import AdamW

EPS = float(np.finfo(np.float32).eps)
# Made by PyTorch: see make_plateau.py beside it.
PYTORCH = json.loads((Path(__file__).parents[1] / "fixtures/plateau.json").read_text())


def train_by_adamw(dtype):
    """The run of the fixture: a cut of the learning rate ends every 20th step."""
    given = PYTORCH["adamw"]
    options = given["options"]
    b1, b2 = options["betas"]
    plateau = jb.optim.reduce_on_plateau(
        options["lr"], mode="max", factor=0.5, patience=2
    )
    tx = jb.optim.adamw(
        plateau, b1=b1, b2=b2, eps=options["eps"], weight_decay=options["weight_decay"]
    )
    curvature, targets, auc = (
        jnp.array(given[name], dtype) for name in ("curvature", "targets", "auc")
    )

    def batch(carry, target):
        params, state = carry
        updates, state = tx.update(curvature * (params - target), state, params)
        params = optax.apply_updates(params, updates)
        return (params, state), params

    def epoch(carry, inputs):
        targets, auc = inputs
        (params, state), path = jax.lax.scan(batch, carry, targets)
        return (params, plateau.step(state, auc)), path

    params = jnp.array(given["start"], dtype)
    order = jnp.arange(400).reshape(20, 20) % len(targets)
    (_, state), path = jax.lax.scan(
        epoch, (params, tx.init(params)), (targets[order], auc)
    )
    shown = [step - 1 for step, _ in given["after"]]
    expected = np.array([after for _, after in given["after"]])
    return path.reshape(400, -1)[np.array(shown)], expected, state


def test_adamw_is_pytorchs(x64):
    path, expected, state = train_by_adamw(jnp.float64)
    np.testing.assert_allclose(path, expected, rtol=1e-12)
    assert float(jb.optim.learning_rate(state)) == PYTORCH["adamw"]["last_rate"]


def test_adamw_is_pytorchs_in_float32():
    path, expected, state = train_by_adamw(jnp.float32)
    assert path.dtype == jnp.float32
    # 400 roundings that partly cancel.
    np.testing.assert_allclose(path, expected, rtol=0, atol=np.sqrt(400) * EPS)
    np.testing.assert_allclose(
        jb.optim.learning_rate(state), PYTORCH["adamw"]["last_rate"], rtol=EPS
    )


@pytest.mark.parametrize("rate", [0.1, lambda step: 0.1 / (step + 1)])
def test_adamw_without_plateau_is_optax_adamw(rate):
    params, gradients = jnp.array([1.0, -2.0]), jnp.array([0.5, 0.1])
    ours, theirs = (
        adamw(rate, b1=0.0, weight_decay=0.3) for adamw in (jb.optim.adamw, optax.adamw)
    )
    states = ours.init(params), theirs.init(params)
    with jax.numpy_dtype_promotion("standard"):  # optax needs it
        for _ in range(3):
            mine, first = ours.update(gradients, states[0], params)
            other, second = theirs.update(gradients, states[1], params)
            np.testing.assert_allclose(mine, other, rtol=1e-4)
            states = first, second


def test_first_steps_have_all_digits():
    """Steps of a constant gradient have length one; ``1 - 0.999^t`` must not cancel."""
    params, gradient = jnp.zeros(3), jnp.array([0.3, -2.0, 1e-4])
    tx = jb.optim.adamw(1.0, eps=0.0)
    state = tx.init(params)
    for _ in range(5):
        updates, state = tx.update(gradient, state, params)
        np.testing.assert_allclose(updates, -jnp.sign(gradient), rtol=4 * EPS)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_adamw_of_half_precision(dtype):
    """Its moments are float32: in bfloat16, 0.999 v would be v."""
    params = jnp.array([1.0, -3.0], dtype)
    tx = jb.optim.adamw(1e-2)
    state = tx.init(params)
    gradient = jnp.array([2.0**-7, 2.0**-9], dtype)
    for _ in range(20):
        updates, state = tx.update(gradient, state, params)
    assert updates.dtype == params.dtype
    square = gradient.astype(jnp.float32) ** 2
    np.testing.assert_allclose(state[0].nu, (1 - 0.999**20) * square, rtol=1e-5)


def test_a_tree_of_decays_is_pytorchs_groups_of_parameters(x64):
    """A group decays as if it had an optimiser of its own; one is of two tensors."""
    random = np.random.default_rng(0)
    start = {
        "coeffs": random.normal(size=4),
        "linear": {"kernel": random.normal(size=(2, 3)), "bias": random.normal(size=3)},
    }
    decays = {"coeffs": 0.5, "linear": 0.03}
    groups = {"coeffs": [0], "linear": [1, 2]}  # in the order of the leaves
    slow = [p.copy() for p in jax.tree.leaves(start)]
    by_hand = {
        name: AdamW([slow[k] for k in places], decays[name])
        for name, places in groups.items()
    }
    tx = jb.optim.adamw(0.1, weight_decay=decays)
    params = jax.tree.map(jnp.asarray, start)
    state = tx.init(params)
    for _ in range(30):
        targets = [random.normal(size=p.shape) for p in slow]
        for name, places in groups.items():
            gradients = [slow[k] - targets[k] for k in places]
            by_hand[name].step([slow[k] for k in places], gradients, 0.1)
        gradients = jax.tree.map(
            jnp.subtract, params, jax.tree.unflatten(jax.tree.structure(start), targets)
        )
        updates, state = tx.update(gradients, state, params)
        params = optax.apply_updates(params, updates)
    for found, expected in zip(jax.tree.leaves(params), slow, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_mask_needs_a_single_decay():
    with pytest.raises(ValueError, match=r"mask needs a single .* write 0\.0"):
        jb.optim.adamw(0.1, weight_decay={"a": 0.1}, mask={"a": True})


def test_weight_decay_scales_with_the_rate_and_obeys_its_mask():
    plateau = jb.optim.reduce_on_plateau(0.5, patience=0, factor=0.5)
    tx = jb.optim.adamw(
        plateau, weight_decay=0.25, mask={"weight": True, "bias": False}
    )
    params = {"weight": jnp.array([4.0]), "bias": jnp.array([4.0])}
    nothing = jax.tree.map(jnp.zeros_like, params)
    state = tx.init(params)
    for rate in (0.5, 0.5, 0.25):
        updates, state = tx.update(nothing, state, params)
        assert updates["weight"].item() == -rate * 0.25 * 4
        assert updates["bias"].item() == 0
        state = plateau.step(state, 1.0)
