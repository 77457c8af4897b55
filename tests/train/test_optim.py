"""Learning rates on a plateau, against what PyTorch computed."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jaxbern as jb

EPS = float(np.finfo(np.float32).eps)
# Made by PyTorch: see make_plateau.py beside it.
PYTORCH = json.loads((Path(__file__).parents[1] / "fixtures/plateau.json").read_text())


def expected_rates(case):
    """``[sequences, epochs]`` of the fixture, which only has the changes."""
    rates = np.empty(np.shape(case["metrics"]))
    for row, changes in zip(rates, case["changes"], strict=True):
        for epoch, rate in changes:
            row[epoch:] = rate
    return rates


def run(cases):
    """Rates and last states, of one program: ``scan`` over ``vmap``."""
    plateaus = [jb.optim.reduce_on_plateau(**case["arguments"]) for case in cases]

    def epoch(states, metrics):
        states = [
            jax.vmap(plateau.step)(state, metric)
            for plateau, state, metric in zip(plateaus, states, metrics, strict=True)
        ]
        return states, jnp.stack([state.learning_rate for state in states])

    metrics = jnp.array([case["metrics"] for case in cases])
    start = [
        jax.tree.map(lambda leaf: jnp.full(metrics.shape[1], leaf), plateau.init(None))
        for plateau in plateaus
    ]
    states, rates = jax.lax.scan(epoch, start, jnp.moveaxis(metrics, 2, 0))
    last = [np.stack([s.best, s.bad_epochs, s.cooldown], axis=1) for s in states]
    return np.moveaxis(np.asarray(rates), 0, 2), np.array(last)


@pytest.mark.slow
def test_pytorchs_rule_to_the_last_bit(x64):
    cases = PYTORCH["cases"]
    rates, last = run(cases)
    np.testing.assert_array_equal(rates, [expected_rates(case) for case in cases])
    np.testing.assert_array_equal(last, [case["last"] for case in cases])


def test_pytorchs_rule_in_float32():
    cases = [case for case in PYTORCH["cases"] if case["clear"]][:16]
    rates, last = run(cases)
    expected = [expected_rates(case) for case in cases]
    # One rounding per cut, of at most 47; below atol are float32's denormals.
    np.testing.assert_allclose(rates, expected, rtol=48 * EPS, atol=1e-37)
    np.testing.assert_array_equal(last, [case["last"] for case in cases])


PARAMS = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(3.0)}
OPTIMISERS = {
    "alone": lambda plateau: plateau,
    "chain": lambda plateau: optax.chain(optax.scale_by_adam(), plateau),
    "named_chain": lambda plateau: optax.named_chain(
        ("clip", optax.clip(1.0)), ("rate", plateau)
    ),
    "masked": lambda plateau: optax.masked(plateau, {"w": True, "b": False}),
    "partition": lambda plateau: optax.partition(
        {"fast": plateau, "slow": optax.sgd(1e-4)}, {"w": "fast", "b": "slow"}
    ),
    "apply_if_finite": lambda plateau: optax.apply_if_finite(plateau, 3),
    "MultiSteps": lambda plateau: optax.MultiSteps(plateau, 1),
    "adamw": jb.optim.adamw,
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_inside_any_optimiser(name):
    plateau = jb.optim.reduce_on_plateau(0.5, patience=0, factor=0.5)
    tx = OPTIMISERS[name](plateau)
    state = tx.init(PARAMS)
    structure = jax.tree.structure(state)
    with jax.numpy_dtype_promotion("standard"):  # parts of optax need it
        before, state = tx.update(PARAMS, state, PARAMS)
        state = plateau.step(plateau.step(state, 1.0), 2.0)
        after, _ = tx.update(PARAMS, state, PARAMS)
    assert jax.tree.structure(state) == structure
    assert float(jb.optim.learning_rate(state)) == 0.25
    assert float(optax.tree_utils.tree_get(state, "learning_rate")) == 0.25
    if name not in ("chain", "adamw"):  # those change with every step
        np.testing.assert_array_equal(after["w"], before["w"] / 2)


def test_inside_nnx_optimizer():
    plateau = jb.optim.reduce_on_plateau(0.5, patience=0, factor=0.5)
    model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, jb.optim.adamw(plateau), wrt=nnx.Param)
    for metric in (1.0, 2.0):
        gradients = nnx.grad(lambda model: jnp.sum(model(jnp.ones((1, 2)))))(model)
        optimizer.update(model, gradients)
        state = plateau.step(nnx.as_pure(optimizer.opt_state), metric)
        nnx.update(optimizer.opt_state, nnx.state(state))
    assert float(jb.optim.learning_rate(nnx.as_pure(optimizer.opt_state))) == 0.25


def test_seeds_and_rates_by_vmap():
    rates = jnp.array([1.0, 0.5, 0.25])
    metrics = jnp.array([[3.0, 2.0, 1.0], [3.0, 3.0, 3.0], [1.0, jnp.nan, 0.5]])

    def train(rate, metrics):
        plateau = jb.optim.reduce_on_plateau(rate, patience=0, factor=0.5)
        state, seen = jax.lax.scan(
            lambda state, metric: (plateau.step(state, metric), state.learning_rate),
            plateau.init(PARAMS),
            metrics,
        )
        return jnp.append(seen, state.learning_rate)

    np.testing.assert_array_equal(
        jax.jit(jax.vmap(train))(rates, metrics),
        [[1, 1, 1, 1], [0.5, 0.5, 0.25, 0.125], [0.25, 0.25, 0.125, 0.125]],
    )


@pytest.mark.slow
def test_stacked_states_need_no_vmap():
    plateau = jb.optim.reduce_on_plateau(0.5, patience=0, factor=0.5, cooldown=1)
    state = jax.vmap(lambda _: plateau.init(None))(jnp.arange(3))
    same = state
    for metrics in ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 4.0, 2.0], [1.0, 5.0, 1.0]):
        state = plateau.step(state, jnp.array(metrics))
        same = jax.vmap(plateau.step)(same, jnp.array(metrics))
    jax.tree.map(np.testing.assert_array_equal, state, same)
    np.testing.assert_array_equal(state.learning_rate, [0.125, 0.125, 0.25])


def test_state_can_be_donated_and_the_optimiser_used_again():
    rate = jnp.full((), 0.5, jnp.float32)
    plateau = jb.optim.reduce_on_plateau(rate)
    step = jax.jit(plateau.step, donate_argnums=0)
    for _ in range(2):
        state = step(step(plateau.init(None), 1.0), 2.0)
    assert float(state.learning_rate) == float(rate) == 0.5
    assert int(state.epoch) == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64"])
def test_updates_keep_their_dtype(dtype):
    plateau = jb.optim.reduce_on_plateau(1e-3)
    gradient = jnp.array([3.0, -0.3], dtype)
    update, _ = plateau.update(gradient, plateau.init(None))
    assert update.dtype == gradient.dtype
    exact = -1e-3 * np.asarray(gradient).astype(complex)
    rounding = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(
        np.asarray(update).astype(complex), exact, rtol=0.6 * rounding + EPS
    )


def test_state_in_double_precision_and_updates_in_single(x64):
    plateau = jb.optim.reduce_on_plateau(0.1)
    state = plateau.init(None)
    assert state.learning_rate.dtype == state.best.dtype == jnp.float64
    update, state = plateau.update(jnp.ones(2, jnp.float32), state)
    assert update.dtype == jnp.float32
    state = plateau.step(state, jnp.float32(0.3))
    assert float(state.best) == np.float32(0.3)


def test_metrics_before_the_start_are_ignored():
    plateau = jb.optim.reduce_on_plateau(
        0.5, mode="max", patience=0, factor=0.5, start_epoch=5
    )
    state = plateau.init(None)
    rates = []
    for auc in (0.9, 0.8, jnp.nan, 0.7, 0.6, 0.1, 0.2, 0.2, 0.3):
        state = plateau.step(state, auc)
        rates.append(float(state.learning_rate))
    assert rates == [0.5] * 7 + [0.25] * 2


numbers = st.floats(-4, 4, width=16) | st.sampled_from([np.nan, np.inf, -np.inf])


@settings(
    deadline=None,
    max_examples=80,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault
)
@given(metrics=st.lists(numbers, min_size=30, max_size=30), data=st.data())
def test_rates_only_fall_and_not_below_the_least(metrics, data):
    mode, threshold_mode = data.draw(
        st.sampled_from([("min", "rel"), ("max", "abs"), ("max", "rel")])
    )
    states = walk(mode, threshold_mode, jnp.array(metrics, jnp.float32))
    rates = np.asarray(states.learning_rate)
    assert (np.diff(rates) <= 0).all()
    assert (rates >= np.float32(0.01)).all()
    assert (np.asarray(states.bad_epochs) <= 1).all()
    assert ((np.asarray(states.cooldown) >= 0) & (states.cooldown <= 2)).all()
    assert (np.asarray(states.epoch) == np.arange(1, 31)).all()
    worst = jb.optim.reduce_on_plateau(1.0, mode=mode).init(None).best
    assert np.isin(states.best, [*metrics, worst]).all()


@functools.partial(jax.jit, static_argnums=(0, 1))
def walk(mode, threshold_mode, metrics):
    """All states of one fixed rule."""
    plateau = jb.optim.reduce_on_plateau(
        1.0,
        mode=mode,
        threshold_mode=threshold_mode,
        factor=0.3,
        patience=1,
        cooldown=2,
        min_lr=0.01,
    )

    def epoch(state, metric):
        state = plateau.step(state, metric)
        return state, state

    return jax.lax.scan(epoch, plateau.init(None), metrics)[1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"mode": "auto"}, r"mode must be one of \['min', 'max'\], got 'auto'"),
        ({"threshold_mode": "x"}, "threshold_mode must be one of .*'abs'.*got 'x'"),
        ({"factor": 1.0}, "factor must be below 1, got 1.0; 0.5 halves"),
        ({"factor": -0.1}, "factor must be finite and at least 0, got -0.1"),
        ({"patience": -1}, "patience must be an integer of at least 0, got -1"),
        ({"patience": 1.5}, "patience must be an integer of at least 0, got 1.5"),
        ({"cooldown": -2}, "cooldown must be an integer"),
        ({"start_epoch": "5"}, "start_epoch must be an integer.*got '5'"),
        ({"threshold": np.nan}, "threshold must be finite, got nan"),
        ({"min_lr": -1.0}, "min_lr must be finite and at least 0"),
        ({"eps": np.inf}, "eps must be finite and at least 0, got inf"),
        ({"learning_rate": -1e-3}, "learning_rate must be finite and at least 0"),
        ({"learning_rate": np.ones(2)}, r"scalar, got \[2\]; for several.*vmap"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        jb.optim.reduce_on_plateau(**{"learning_rate": 1e-3} | arguments)


def test_wrong_states_and_metrics():
    plateau = jb.optim.reduce_on_plateau(0.1)
    with pytest.raises(ValueError, match="found 0; give the state of an optimiser"):
        plateau.step(optax.adam(1e-3).init(PARAMS), 1.0)
    twice = optax.chain(plateau, plateau).init(PARAMS)
    with pytest.raises(ValueError, match=r"found 2; .* a PlateauState itself"):
        jb.optim.learning_rate(twice)
    with pytest.raises(ValueError, match=r"shape of the state, \[\].*got \[3\]"):
        plateau.step(plateau.init(None), jnp.ones(3))
