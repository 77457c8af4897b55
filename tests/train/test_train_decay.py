"""The weight decay of the coefficients, apart from that of all other parameters."""

import functools

import jax
import numpy as np
import pytest

import jaxbern as jb
from jaxbern.train import CheckpointError, NetworkConfig, _engine
from jaxbern.train._config import checked_split
from tests.train.train_cases import FEATURES, changed, compilations, events

DATA = events()
# An epoch is one step of all rows, so what it does can be written down.
ONE_STEP = changed(
    network=NetworkConfig(FEATURES, depth=1, width=4, degree=2),
    seeds=(3,),
    epochs=1,
    batch_size=320,
    learning_rate=0.01,
    weight_decay=0.1,
)
EPS = float(np.finfo(np.float32).eps)


@functools.cache
def after(decay) -> dict:
    """The parameters after one step."""
    result = jb.train.fit(changed(ONE_STEP, coeff_decay=decay), DATA)
    return jax.tree.map(lambda leaf: leaf[0], result.final.params)


@pytest.mark.slow
def test_only_coefficients_decay_by_it():
    split = checked_split(ONE_STEP, DATA)
    state, _ = _engine.engine(ONE_STEP, DATA, split)
    start = np.array(state.network.params["coeffs"][0])
    without, by_five = dict(after(0.0)), dict(after(5.0))
    moved = by_five.pop("coeffs") - without.pop("coeffs")
    np.testing.assert_allclose(moved, -0.01 * 5.0 * start, atol=4 * EPS)
    jax.tree.map(np.testing.assert_array_equal, by_five, without)


@pytest.mark.slow
def test_it_is_that_of_all_parameters_unless_told():
    for none, same in zip(
        *map(jax.tree.leaves, (after(None), after(0.1))), strict=True
    ):
        np.testing.assert_allclose(none, same, atol=4 * EPS)


@pytest.mark.slow
def test_another_decay_compiles_nothing():
    after(0.0)
    with compilations() as found:
        after(7.0)
    assert found == []


@pytest.mark.slow
def test_a_checkpoint_is_of_one_decay(tmp_path):
    """Also of none told, which decays as the others and is trained by another program."""
    jb.train.fit(changed(ONE_STEP, coeff_decay=0.0), DATA, directory=tmp_path)
    for other in (0.5, None):
        config = changed(ONE_STEP, coeff_decay=other, epochs=2)
        with pytest.raises(CheckpointError, match=r"coeff_decay: 0\.0 there"):
            jb.train.fit(config, DATA, directory=tmp_path, resume=True)
