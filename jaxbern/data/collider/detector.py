"""Simulate a detector: smear momenta, apply acceptance cuts, tag b jets.

Each parton gives one jet, with the same direction: jets neither split nor merge. The
missing momentum is what jets lose, plus soft noise.
"""

import dataclasses

import numpy as np

from jaxbern.data.collider.kinematics import FourVector
from jaxbern.data.collider.processes import Collision

# Relative resolutions; that of jets is sqrt(stochastic^2 / pt + constant^2).
JET_STOCHASTIC, JET_CONSTANT = 1.0, 0.15
LEPTON_RESOLUTION = 0.02
# Noise of the missing momentum, GeV along x and along y: larger in the published SUSY.
ONE_LEPTON_NOISE, TWO_LEPTONS_NOISE = 8.0, 25.0
# Average share of a parton's energy outside its jet; b quarks lose some to neutrinos.
B_LOSS, LIGHT_LOSS = 0.18, 0.03

# The cuts that the published rows show, in GeV and pseudorapidity.
JET_PT, JET_ETA, JETS = 15.0, 3.0, 4
ONE_LEPTON_PT, TWO_LEPTONS_PT, LEPTON_ETA = 15.0, 20.0, 2.5

# Shares of jets with a tag of 1 or 2, and with a tag of 2.
B_TAGGED, B_TIGHT = 0.90, 0.74
LIGHT_TAGGED, LIGHT_TIGHT = 0.02, 0.005

# Published jets are only roughly in order of their transverse momenta.
ORDER_NOISE = 0.3


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """Accepted events.

    Attributes:
      leptons: ``[1 or 2, events]``, the one with more transverse momentum first.
      missing_x: missing transverse momentum along x, ``[events]``.
      missing_y: likewise along y.
      jets: ``[4, events]``, roughly by falling transverse momentum; ``[0, events]`` if
        there are two leptons.
      tags: 0, 1 or 2 for each jet: how much it looks like that of a b quark.
    """

    leptons: FourVector
    missing_x: np.ndarray
    missing_y: np.ndarray
    jets: FourVector
    tags: np.ndarray


def one_lepton(rng: np.random.Generator, collision: Collision) -> Measured:
    """Select events with a lepton and at least four jets."""
    leptons, jets, x, y = _smear(rng, collision, ONE_LEPTON_NOISE)
    good = _inside(jets, JET_PT, JET_ETA)
    keep = _inside(leptons, ONE_LEPTON_PT, LEPTON_ETA)[0] & (good.sum(axis=0) >= JETS)
    jets, good = jets[:, keep], good[:, keep]
    luck = rng.random(good.shape)
    tagged = luck < _per_parton(collision, B_TAGGED, LIGHT_TAGGED)
    tight = luck < _per_parton(collision, B_TIGHT, LIGHT_TIGHT)
    noise = np.exp(rng.normal(0, ORDER_NOISE, good.shape))
    order, event = _falling(np.where(good, jets.pt * noise, 0))
    leading = order[:JETS], event
    tags = tagged.astype(np.int8) + tight
    return Measured(leptons[:, keep], x[keep], y[keep], jets[leading], tags[leading])


def two_leptons(rng: np.random.Generator, collision: Collision) -> Measured:
    """Select events with two leptons and any jets."""
    leptons, jets, x, y = _smear(rng, collision, TWO_LEPTONS_NOISE)
    keep = _inside(leptons, TWO_LEPTONS_PT, LEPTON_ETA).all(axis=0)
    leptons, none = leptons[:, keep], jets[:0, keep]
    return Measured(leptons[_falling(leptons.pt)], x[keep], y[keep], none, none.e)


def _smear(rng: np.random.Generator, true: Collision, noise: float):
    """Return measured leptons, jets, and missing momentum along x and y."""
    # Below 1 GeV a jet is noise, and the relative resolution would be large.
    pt = np.maximum(true.partons.pt, 1.0)
    resolution = np.sqrt(JET_STOCHASTIC**2 / pt + JET_CONSTANT**2)
    loss = _per_parton(true, B_LOSS, LIGHT_LOSS) * rng.standard_exponential(pt.shape)
    jets = true.partons * (np.exp(-loss) * _gaussian(rng, resolution))
    leptons = true.leptons * _gaussian(
        rng, np.broadcast_to(LEPTON_RESOLUTION, true.leptons.e.shape)
    )
    lost = true.partons - jets
    soft = rng.normal(0, noise, (2, pt.shape[1]))
    x = true.invisible.x + lost.x.sum(axis=0) + soft[0]
    y = true.invisible.y + lost.y.sum(axis=0) + soft[1]
    return leptons, jets, x, y


def _gaussian(rng: np.random.Generator, resolution: np.ndarray) -> np.ndarray:
    """Draw ratios of measured to true energy, bounded away from zero."""
    return np.maximum(1 + resolution * rng.standard_normal(resolution.shape), 0.1)


def _per_parton(collision: Collision, b: float, light: float) -> np.ndarray:
    """Return one number for b quarks and another for other partons, ``[partons, 1]``."""
    is_b = np.arange(len(collision.partons.e)) < collision.b_quarks
    return np.where(is_b, b, light)[:, None]


def _inside(particles: FourVector, pt: float, eta: float) -> np.ndarray:
    """Return whether particles pass cuts on pt and eta, without computing eta."""
    found = particles.pt
    return (found > pt) & (np.abs(particles.z) < np.sinh(eta) * found)


def _falling(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the particles of each event by descending key."""
    order = np.argsort(np.ascontiguousarray(-keys.T), axis=1).T
    return order, np.arange(order.shape[1])
