"""High-level columns from the low-level ones, against one event at a time."""

import math

import numpy as np
import pytest

from jaxbern.data import collider
from jaxbern.data.collider import masses, units
from jaxbern.data.collider.kinematics import FourVector
from jaxbern.data.collider.razor import mt2
from tests.oracles import collider_oracle as oracle

EVENTS = 200


def in_gev(data, divided):
    return data.x.astype(np.float64) * np.array(list(divided.values()))


def test_masses_are_those_of_the_low_level_columns():
    events = in_gev(collider.higgs(EVENTS, seed=3), units.HIGGS)
    expected = np.array([oracle.higgs_masses(event[:21]) for event in events])
    # Angles are float32: 1e-7 of them in small masses, and its root where the two
    # solutions for the neutrino meet.
    np.testing.assert_allclose(events[:, 21:], expected, rtol=1e-3, atol=0.05)
    close = np.isclose(events[:, 21:], expected, rtol=2e-6, atol=2e-4)
    assert close.mean() > 0.98


def test_the_neutrino_makes_a_w_or_a_transverse_mass():
    rng = np.random.default_rng(0)
    pt, eta, phi = (
        rng.uniform(15, 100, 50),
        rng.normal(0, 1, 50),
        rng.uniform(-3, 3, 50),
    )
    lepton = FourVector.massless(pt, eta, phi)
    x, y = rng.normal(0, 50, (2, 50))
    mass = (lepton + masses.neutrino(lepton, x, y)).mass
    transverse = np.sqrt(2 * (pt * np.hypot(x, y) - lepton.x * x - lepton.y * y))
    assert 0 < (transverse > 80.4).mean() < 1
    np.testing.assert_allclose(mass, np.maximum(80.4, transverse), rtol=1e-6)


def test_razor_variables_are_those_of_the_low_level_columns():
    events = in_gev(collider.susy(60, seed=3), units.SUSY)
    events[:, 9] += units.AXIAL_MET_MEAN
    expected = np.array([oracle.susy_variables(event[:8]) for event in events])
    got = np.delete(events[:, 8:], 5, axis=1)  # without MT2
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)
    assert np.isclose(got, expected, rtol=5e-6, atol=5e-6).mean() > 0.98


def test_mt2_is_that_of_the_low_level_columns():
    events = in_gev(collider.susy(15, seed=4), units.SUSY)
    zeros = 0
    for event in events:
        p, q, missing = (
            (event[pt] * math.cos(event[phi]), event[pt] * math.sin(event[phi]))
            for pt, phi in ((0, 2), (3, 5), (6, 7))
        )
        expected = oracle.mt2(p, q, missing)
        zeros += expected < 0.01
        assert event[13] == pytest.approx(expected, rel=1e-5, abs=0.02)
    assert 0 < zeros < len(events)  # both kinds were there


def test_mt2_of_leptons_in_nearly_one_direction():
    """Then missing momentum is best shared along itself, in parts that balance."""
    angle = np.array([1e-2, 1e-3, 1e-4, 0.0])
    p, q, met, phi = 40.0, 80.0, 50.0, 1.2
    flat = np.zeros(4)
    one = FourVector.massless(flat + p, flat, flat)
    other = FourVector.massless(flat + q, flat, angle)
    found = mt2(one, other, flat + met * np.cos(phi), flat + met * np.sin(phi))
    limit = np.sqrt(2 * met * (1 - np.cos(phi)) * p * q / (p + q))
    np.testing.assert_allclose(found[:3], limit, rtol=0.01)
    assert np.isfinite(found[3])


def test_columns_and_their_discrete_tags():
    data = collider.higgs(2000, seed=0)
    for jet, unit in enumerate((0.920, 0.903, 0.785, 0.645), start=1):
        values = np.unique(data.x[:, data.columns.index(f"jet_{jet}_b-tag")])
        np.testing.assert_allclose(values, np.array([0, 1, 2]) / unit, rtol=1e-6)
