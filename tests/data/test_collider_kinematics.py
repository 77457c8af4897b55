"""Boosts and decays: what relativity asks of them."""

import numpy as np
import pytest

from jaxbern.data.collider.kinematics import (
    FourVector,
    boost,
    boost_by,
    breit_wigner,
    stack,
    two_body_decay,
    where,
)
from tests.oracles import collider_oracle as oracle

EVENTS = 400


def particles(seed, mass=91.0, events=EVENTS):
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(0, 300, (3, events))
    return FourVector(np.sqrt(mass**2 + x * x + y * y + z * z), x, y, z)


def rows(particle):
    return np.stack([particle.e, particle.x, particle.y, particle.z], axis=-1)


def test_boost_is_the_lorentz_matrix():
    particle, frame = particles(0, mass=5.0), particles(1)
    got = rows(boost(particle, frame))
    for k in range(EVENTS):
        e, *p = rows(frame)[k]
        expected = oracle.lorentz(np.array(p) / e) @ rows(particle)[k]
        np.testing.assert_allclose(got[k], expected, rtol=1e-9, atol=1e-9 * e)


def test_boost_by_a_velocity_and_back():
    particle = particles(0)
    there = boost_by(particle, 0.3, -0.5, 0.6)
    assert np.all(np.abs(there.e - particle.e) > 0)
    back = boost_by(there, -0.3, 0.5, -0.6)
    np.testing.assert_allclose(rows(back), rows(particle), rtol=1e-9, atol=1e-9)


def test_invariant_masses_are_invariant_under_boosts():
    one, other, frame = particles(0, 0.0), particles(1, 125.0), particles(2, 20.0)
    moved = boost(one, frame) + boost(other, frame)
    np.testing.assert_allclose(moved.mass, (one + other).mass, rtol=1e-8)


@pytest.mark.parametrize(
    "masses", [(0.0, 0.0), (80.4, 325.0), (80.4, 0.0), (0.0, 300.0)]
)
def test_decays_conserve_momentum_and_have_their_masses(masses):
    parent = particles(3, mass=425.0)
    first, second = two_body_decay(np.random.default_rng(0), parent, *masses)
    np.testing.assert_allclose(rows(first + second), rows(parent), rtol=0, atol=1e-9)
    # A mass is a difference of squares, of which it keeps what the energies leave.
    for particle, mass in zip((first, second), masses, strict=True):
        np.testing.assert_allclose(particle.mass, mass, rtol=1e-8, atol=1e-3)
        assert (particle.e > 0).all()


def test_decays_are_isotropic_where_the_parent_rests():
    events = 40_000
    rest = FourVector(np.full(events, 10.0), *np.zeros((3, events)))
    first, _ = two_body_decay(np.random.default_rng(0), rest, 0.0, 0.0)
    direction = rows(first)[:, 1:] / first.e[:, None]
    np.testing.assert_allclose(first.e, 5.0)
    # Uniform on the sphere: every component is uniform in [-1, 1], none correlated.
    noise = 5 / np.sqrt(events)
    assert np.abs(direction.mean(axis=0)).max() < noise
    np.testing.assert_allclose(
        direction.T @ direction / events, np.eye(3) / 3, atol=noise
    )
    for component in direction.T:
        shares = np.histogram(component, bins=8, range=(-1, 1))[0] / events
        assert np.abs(shares - 1 / 8).max() < noise


def test_a_given_angle_is_kept():
    rest = FourVector(np.full(3, 10.0), *np.zeros((3, 3)))
    cos = np.array([-1.0, 0.25, 1.0])
    first, _ = two_body_decay(np.random.default_rng(0), rest, 0.0, 0.0, cos)
    np.testing.assert_allclose(first.z / first.e, cos, atol=1e-12)


def test_directions_of_a_massless_particle():
    pt, eta = np.array([3.0, 40.0]), np.array([-1.5, 2.5])
    phi = np.array([3.0, -0.7])
    particle = FourVector.massless(pt, eta, phi)
    np.testing.assert_allclose(particle.pt, pt)
    np.testing.assert_allclose(particle.eta, eta)
    np.testing.assert_allclose(particle.phi, phi)
    np.testing.assert_allclose(particle.mass, 0, atol=1e-5)
    for k in range(2):
        np.testing.assert_allclose(
            rows(particle)[k], oracle.massless(pt[k], eta[k], phi[k])
        )


def test_resonances_have_the_quartiles_of_a_breit_wigner():
    masses = breit_wigner(np.random.default_rng(0), 100_000, 80.4, 2.0, 1000.0)
    np.testing.assert_allclose(
        np.percentile(masses, [25, 50, 75]), [79.4, 80.4, 81.4], atol=0.03
    )
    near = breit_wigner(np.random.default_rng(0), 100_000, 80.4, 2.0, 3.0)
    assert 77.4 < near.min() < 77.5
    assert 83.3 < near.max() < 83.4


def test_stack_and_where_work_on_all_components():
    one, other = particles(0), particles(1)
    both = stack(one, other)
    np.testing.assert_array_equal(rows(both[1]), rows(other))
    mask = np.arange(EVENTS) % 3 == 0
    chosen = rows(where(mask, one, other))
    np.testing.assert_array_equal(chosen[mask], rows(one)[mask])
    np.testing.assert_array_equal(chosen[~mask], rows(other)[~mask])
