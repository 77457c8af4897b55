"""Histories against a training written out by hand in NumPy, and what seeds share."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import jaxbern as jb
from jaxbern.train import _engine, _epoch, _learner
from jaxbern.train._config import checked_split
from jaxbern.train._shuffle import order
from tests.oracles import train_oracle
from tests.train.train_cases import IMPATIENT, assert_same_bits, changed, events

fit = functools.cache(jb.train.fit)
DATA, RULES = events(), _learner.Rules.of(IMPATIENT, "cpu")
ordered = jax.jit(order, static_argnums=1)


def oracle(config, place):
    """The history of one seed by the oracle."""
    splits = checked_split(config, DATA)
    state, engine = _engine.engine(config, DATA, splits)
    params = jax.tree.map(lambda leaf: np.array(leaf[place]), state.network.params)
    split, key = splits[place], engine.keys[place]
    keys = [jax.random.fold_in(key, epoch) for epoch in range(config.epochs)]
    orders = [np.asarray(ordered(key, len(split.train))) for key in keys]
    x, y = DATA.x.astype(float), DATA.y.astype(int)
    return train_oracle.train(
        config,
        *(x[split.train], y[split.train], x[split.test], y[split.test]),
        params,
        orders,
    )


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3))
def test_history_is_that_of_the_oracle(place):
    seed = IMPATIENT.seeds[place]
    history, expected = fit(IMPATIENT, DATA).history[seed], oracle(IMPATIENT, place)
    assert len(history["auc"]) == len(expected["auc"])
    for name, numbers in expected.items():
        np.testing.assert_allclose(history[name], numbers, rtol=2e-3, err_msg=name)


def test_a_single_row_that_remains_is_left_out(monkeypatch):
    """BatchNorm of one row is zero. The sizes of batches are those of the trace."""
    sizes = []

    def step(rules, state, running, x, y):
        sizes.append(len(y))
        return state, running

    monkeypatch.setattr(_learner, "step", step)
    for rows in (315, 316, 317):
        piece = jnp.zeros((rows, 3)), jnp.zeros(rows)
        jax.eval_shape(lambda p: _epoch.train(RULES, lambda b: b, p, 0, 0), piece)
    assert sizes == [63, 63, 63, 2]


def test_the_oracle_saw_cuts_and_stops():
    """Otherwise the tests above would prove little."""
    result = fit(IMPATIENT, DATA)
    rates = [result.history[seed]["learning_rate"] for seed in IMPATIENT.seeds]
    assert all(rate[-1] < rate[0] for rate in rates)
    assert [len(rate) for rate in rates] == [6, 12, 12]
    reasons = [stop.reason for stop in result.stops.values()]
    assert reasons == ["early", "early", "finished"]
    for seed, stop in result.stops.items():
        assert stop.epoch + 1 == len(result.history[seed]["auc"])
    # Seed 1 stops three epochs after its last improvement, two after its highest AUC.
    assert result.best_epoch[1] == result.stops[1].epoch - 2


@pytest.mark.slow
def test_a_seed_beside_others_is_as_it_is_alone():
    """To rounding: one seed and three are summed in another order."""
    alone, beside = fit(changed(seeds=(3,)), DATA), fit(IMPATIENT, DATA)
    assert alone.stops[3].epoch == beside.stops[3].epoch == 5
    for name in ("train_loss", "validation_loss", "auc", "learning_rate"):
        np.testing.assert_allclose(
            alone.history[3][name], beside.history[3][name], rtol=1e-4, err_msg=name
        )


def test_again_is_the_same_to_the_last_bit():
    assert_same_bits(jb.train.fit(IMPATIENT, DATA), fit(IMPATIENT, DATA))


def test_a_stopped_seed_never_changes_again():
    split = checked_split(IMPATIENT, DATA)
    state, engine = _engine.engine(IMPATIENT, DATA, split)
    frozen = {}
    for epoch in range(IMPATIENT.epochs):
        state, metrics = engine.run(state, epoch)
        host = jax.tree.map(np.array, jax.device_get(state))
        for k in np.flatnonzero(~host.stopping.running):
            of_seed = jax.tree.map(lambda leaf, k=k: leaf[k], host)
            jax.tree.map(
                np.testing.assert_array_equal, of_seed, frozen.setdefault(k, of_seed)
            )
        assert metrics.completed.tolist() == [epoch < n for n in (6, 12, 12)]
    assert frozen.keys() == {0, 1}


def test_models_are_those_of_the_best_and_of_the_last_epoch():
    result = fit(IMPATIENT, DATA)
    for which, epoch in (("best", result.best_epoch[3]), ("final", -1)):
        split = result.split[0]
        logits = result.model(3, which)(split.scale(DATA.x[split.test]))
        auc = roc_auc_score(DATA.y[split.test], np.asarray(logits[:, 1] - logits[:, 0]))
        assert auc == pytest.approx(result.history[3]["auc"][epoch], abs=1e-6)
    with pytest.raises(KeyError, match="seed must be one of"):
        result.model(4)
    with pytest.raises(ValueError, match="which must be"):
        result.model(3, "worst")


def poisoned(state, seed):
    """The last layer of one seed so large that its logits overflow."""
    params = state.network.params
    kernel = params["last"]["kernel"].at[seed].mul(1e38).at[seed].mul(1e30)
    last = params["last"] | {"kernel": kernel}
    return state._replace(
        network=state.network._replace(params=params | {"last": last})
    )


def test_a_loss_that_is_not_finite_stops_its_seed_and_no_other():
    split = checked_split(IMPATIENT, DATA)
    state, engine = _engine.engine(IMPATIENT, DATA, split)
    before, _ = engine.run(state, 0)
    last_loss = float(before.stopping.last_loss[1])
    sick = jax.tree.map(jnp.copy, before)
    sick = poisoned(sick, 1)
    kept = jax.tree.map(lambda leaf: np.array(leaf[1]), sick.network)
    healthy, expected = engine.run(before, 1)
    sick, metrics = engine.run(sick, 1)
    assert metrics.completed.tolist() == [True, False, True]
    reason, epoch, step, last = (leaf[1].item() for leaf in sick.stopping[:4])
    assert (reason, epoch, step, last) == (2, 1, 0, last_loss)
    jax.tree.map(
        lambda new, old: np.testing.assert_array_equal(new[1], old), sick.network, kept
    )
    for k in (0, 2):
        assert metrics.auc[k] == expected.auc[k]
        jax.tree.map(
            lambda one, other, k=k: np.testing.assert_array_equal(one[k], other[k]),
            sick,
            healthy,
        )


def test_a_training_that_diverges_says_where():
    result = jb.train.fit(changed(learning_rate=1e38), DATA)
    for seed, stop in result.stops.items():
        assert (stop.reason, stop.epoch) == ("nonfinite", 0)
        assert stop.step is not None
        assert 1 <= stop.step < 5
        assert np.isfinite(stop.last_loss)
        assert f"epoch 0, step {stop.step}" in str(stop)
        assert len(result.history[seed]["auc"]) == 0
        final = result.model(seed, "final")
        assert np.isfinite(final.first.kernel[...]).all()
    assert result.summary()["3"]["best_auc"] is None
    assert "AUC None" in repr(result)
