"""The cosine schedule: rates of a training against the formula, and what is refused."""

import math

import numpy as np
import pytest

import jaxbern as jb
from tests.train.train_cases import IMPATIENT, assert_same_bits, changed, events

COSINE = changed(schedule="cosine", warmup_epochs=2, epochs=6, stop_patience=9)


def rates(config):
    """The rate of each epoch, by the textbook formula in float64."""
    found = []
    for epoch in range(config.epochs):
        if epoch < config.warmup_epochs:
            share = (epoch + 1) / (config.warmup_epochs + 1)
        else:
            falling = config.epochs - config.warmup_epochs
            share = (
                math.cos(math.pi * (epoch - config.warmup_epochs) / falling / 2) ** 2
            )
        found.append(config.learning_rate * share)
    return found


@pytest.mark.slow
def test_every_seed_has_the_rates_of_the_formula():
    config = COSINE
    result = jb.train.fit(config, events())
    for columns in result.history.values():
        np.testing.assert_allclose(columns["learning_rate"], rates(config), rtol=2e-6)


@pytest.mark.slow
def test_a_resumed_training_keeps_its_rates(tmp_path):
    config = COSINE

    class Stop(jb.train.Callback):
        def epoch(self, records):
            if records[0]["epoch"] == 2:
                raise InterruptedError

    options = {"directory": tmp_path, "checkpoint_seconds": 0.0}
    with pytest.raises(InterruptedError):
        jb.train.fit(config, events(), callbacks=[Stop()], **options)
    resumed = jb.train.fit(config, events(), resume=True, **options)
    whole = jb.train.fit(config, events())
    assert_same_bits(whole, resumed)
    with pytest.raises(jb.train.CheckpointError, match="epochs"):
        jb.train.fit(changed(config, epochs=7), events(), resume=True, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": "linear"}, "schedule must be one of plateau, cosine"),
        ({"schedule": "plateau"}, 'warmup_epochs is for schedule="cosine"'),
        ({"warmup_epochs": 6}, "warmup_epochs must be below epochs=6"),
        ({"warmup_epochs": -1}, "warmup_epochs must be at least 0"),
    ],
)
def test_what_cannot_work_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        changed(COSINE, **changes)


def test_a_plateau_is_written_as_before_there_was_a_choice():
    assert "schedule" not in IMPATIENT.to_dict()
    assert jb.train.TrainConfig.from_dict(COSINE.to_dict()) == COSINE
