"""``TrainConfig``, and what is refused before anything is compiled."""

import dataclasses
import json

import numpy as np
import pytest

import jaxbern as jb
from jaxbern.train import NetworkConfig, TrainConfig
from tests.train.train_cases import COLUMNS, IMPATIENT, changed, events

DATA = events()


def test_the_defaults_are_the_papers():
    config = TrainConfig(NetworkConfig(28, 5, 16))
    assert (config.batch_size, config.learning_rate, config.weight_decay) == (
        16_384,
        1e-3,
        1e-4,
    )
    assert (config.plateau_factor, config.plateau_patience, config.plateau_start) == (
        0.5,
        10,
        5,
    )
    assert (config.stop_patience, config.stop_improvement) == (15, 1e-3)
    assert len(config.seeds) == 3


@pytest.mark.parametrize(
    "config",
    [
        IMPATIENT,
        TrainConfig(NetworkConfig(28, 150, 256)),
        changed(coeff_decay=np.float32(0.5)),
    ],
)
def test_json_round_trip(config):
    text = config.to_json()
    assert TrainConfig.from_json(text) == config
    assert json.loads(text)["seeds"] == list(config.seeds)
    assert hash(config) == hash(TrainConfig.from_json(text))


def test_a_decay_of_the_coefficients_is_told_only_if_it_is_another():
    """What was written before there was a choice is the same training."""
    assert "coeff_decay" not in IMPATIENT.to_dict()
    decays = changed(coeff_decay=0.0).to_dict()
    assert decays.pop("coeff_decay") == 0.0
    assert TrainConfig.from_dict(decays) == IMPATIENT


def test_numbers_become_plain():
    config = changed(
        seeds=list(np.arange(2)), epochs=np.int64(3), learning_rate=np.float32(0.5)
    )
    assert config.seeds == (0, 1)
    assert TrainConfig.from_json(config.to_json()) == config


def test_unknown_options_are_named():
    with pytest.raises(ValueError, match="TrainConfig has no momentum"):
        TrainConfig.from_dict(IMPATIENT.to_dict() | {"momentum": 0.9})


@pytest.mark.parametrize(
    "option, value, error, words",
    [
        ("network", 5, TypeError, "jb.train.NetworkConfig"),
        (
            "network",
            NetworkConfig(3, 1, 2, out_features=1),
            ValueError,
            "out_features=2",
        ),
        ("network", NetworkConfig(3, 1, 2, init="custom"), ValueError, "init must be"),
        ("seeds", (), ValueError, "at least one and different"),
        ("seeds", (1, 1), ValueError, "at least one and different"),
        ("seeds", (-1,), ValueError, "between 0 and"),
        ("seeds", (2**31,), ValueError, "between 0 and"),
        ("seeds", 3, TypeError, r"such as \(0, 1, 2\)"),
        ("seeds", "012", TypeError, r"such as \(0, 1, 2\)"),
        ("seeds", (0.5,), TypeError, r"such as \(0, 1, 2\)"),
        ("epochs", 0, ValueError, "epochs must be at least 1"),
        ("epochs", 1.5, TypeError, "epochs must be an int"),
        ("batch_size", 1, ValueError, "batch_size must be at least 2"),
        ("batch_size", True, TypeError, "batch_size must be an int"),
        ("learning_rate", -1, ValueError, "learning_rate must be at least 0"),
        ("learning_rate", np.nan, ValueError, "learning_rate must be at least 0"),
        ("learning_rate", "1", TypeError, "learning_rate must be a number"),
        ("weight_decay", np.inf, ValueError, "weight_decay must be at least 0"),
        ("coeff_decay", -1e-4, ValueError, "coeff_decay must be at least 0"),
        ("coeff_decay", "0", TypeError, "coeff_decay must be a number"),
        ("weight_decay", None, TypeError, "weight_decay must be a number"),
        ("plateau_factor", 1, ValueError, "plateau_factor must be .* below 1"),
        ("stop_patience", 0, ValueError, "stop_patience must be at least 1"),
        ("test_fraction", 0, ValueError, "test_fraction must be above 0"),
        ("test_fraction", 1, ValueError, "test_fraction must be .* below 1"),
        ("eval_rows", 0, ValueError, "eval_rows must be at least 1"),
    ],
)
def test_what_cannot_work_is_refused(option, value, error, words):
    with pytest.raises(error, match=words):
        dataclasses.replace(IMPATIENT, **{option: value})


def labelled(labels):
    labels = np.asarray(labels, np.uint8)
    x = DATA.x[: len(labels)]
    return jb.data.Dataset.from_arrays("labelled", x, labels, COLUMNS)


def with_nan():
    x = DATA.x.copy()
    x[7, 1] = np.nan
    return jb.data.Dataset.from_arrays("nan", x, DATA.y, COLUMNS)


@pytest.mark.parametrize(
    "config, data, error, words",
    [
        (changed(batch_size=400), DATA, ValueError, "at most 320, .* batch_size=320"),
        (IMPATIENT, labelled([1] * 100), ValueError, "0 of background"),
        (IMPATIENT, labelled([1] * 99 + [0]), ValueError, "at least 2 events"),
        (IMPATIENT, labelled([]), ValueError, "N > 0 events"),
        (IMPATIENT, with_nan(), ValueError, "row 7, column b"),
        (
            changed(network=NetworkConfig(28, 2, 4)),
            DATA,
            ValueError,
            r"in_features=28, but 'events' has 3 .* NetworkConfig\(3, ...\)",
        ),
        (IMPATIENT, (DATA.x, DATA.y), TypeError, "Dataset.from_arrays"),
    ],
    ids=["batch", "one class", "one event", "empty", "nan", "features", "arrays"],
)
def test_data_that_cannot_work_are_refused_before_compiling(
    config, data, error, words, monkeypatch
):
    monkeypatch.setattr(jb.train._fit, "choose_engine", None)
    with pytest.raises(error, match=words):
        jb.train.fit(config, data)
