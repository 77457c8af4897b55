"""collider.higgs and collider.susy as data sets: style, reproducibility, learning."""

import numpy as np
import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from jaxbern.data import _published, collider
from jaxbern.data.collider import recipe

SETS = {
    "higgs": (collider.higgs, _published.HIGGS.columns, 21, 0.53),
    "susy": (collider.susy, _published.SUSY.columns, 8, 0.46),
}


@pytest.mark.parametrize("name", SETS)
def test_it_has_the_published_columns_and_its_own_name(name):
    make, columns, _, signal = SETS[name]
    data = make(1000, seed=0)
    assert data.columns == columns
    assert data.name == f"collider-{name}"
    assert data.x.shape == (1000, len(columns))
    assert data.y.mean() == signal
    assert np.isfinite(data.x).all()
    assert 0.4 < data.y[:100].mean() < 0.65  # mixed


@pytest.mark.parametrize("name", SETS)
def test_columns_are_in_the_published_style(name):
    """Means of about 1, or 0 with a spread of about 1."""
    data = SETS[name][0](20_000, seed=1)
    for values, column in zip(data.x.T, data.columns, strict=True):
        if column == "cos_theta_r1":
            assert 0 <= values.min() < values.max() <= 1
        elif column.endswith(("eta", "phi")) or column == "axial_MET":
            assert abs(values.mean()) < 0.2, column
            assert 0.7 < values.std() < 1.2, column
        else:
            assert values.min() >= 0, column
            assert 0.7 < values.mean() < 1.3, column


@pytest.mark.parametrize("name", SETS)
def test_the_same_arguments_give_the_same_events(name):
    make = SETS[name][0]
    one, same, other = make(9000, seed=5), make(9000, seed=5), make(9000, seed=6)
    np.testing.assert_array_equal(one.x, same.x)
    np.testing.assert_array_equal(one.y, same.y)
    assert one.fingerprint == same.fingerprint != other.fingerprint
    # No event came twice, within a seed or in both.
    assert len(np.unique(np.concatenate([one.x, other.x]), axis=0)) == 18_000


def test_one_event_and_many_blocks():
    assert collider.higgs(1).x.shape == (1, 28)
    assert len(collider.susy(3 * recipe._BLOCK + 1)) == 3 * recipe._BLOCK + 1


@pytest.mark.parametrize("make", [collider.higgs, collider.susy])
def test_bad_numbers_are_refused(make):
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        make(0)
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        make(10, -1)
    with pytest.raises(TypeError, match=r"n must be an integer, got 10\.0"):
        make(10.0)


def boosted_trees(x, y, train=6000):
    model = HistGradientBoostingClassifier(
        learning_rate=0.15, max_iter=30, max_leaf_nodes=15, random_state=0
    )
    with threadpoolctl.threadpool_limits(1):  # other tests have the other cores
        model.fit(x[:train], y[:train])
        return roc_auc_score(y[train:], model.predict_proba(x[train:])[:, 1])


@pytest.mark.parametrize("name, margin", [("higgs", 0.06), ("susy", 0.01)])
def test_high_level_columns_help_and_nothing_is_trivial(name, margin):
    make, _, low, _ = SETS[name]
    data = make(2 * 6000, seed=2)
    everything = boosted_trees(data.x, data.y)
    low_level = boosted_trees(data.x[:, :low], data.y)
    print(f"{name}: all {everything:.3f}, low-level {low_level:.3f}")
    assert 0.62 < low_level < everything - margin
    assert 0.75 < everything < 0.93
