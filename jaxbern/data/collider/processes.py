"""The four processes, from the collision to leptons, quarks and invisible particles.

The masses are those of the published data sets. The rest is as simple as it can be and
still look like physics: decays are isotropic (no spin), energies above threshold and
radiation follow one-line spectra instead of matrix elements and parton densities, and
quarks and leptons have no mass.
"""

import dataclasses
import functools
import operator

import numpy as np

from jaxbern.data.collider.kinematics import (
    FourVector,
    breit_wigner,
    stack,
    two_body_decay,
    where,
)
from jaxbern.data.collider.production import (
    forward,
    pair_mass,
    produce,
    radiate,
    w_mass,
)

HEAVY_HIGGS, CHARGED_HIGGS, LIGHT_HIGGS = 425.0, 325.0, 125.0
CHARGINO, NEUTRALINO = 200.0, 100.0
TOP, TOP_WIDTH, TOP_REACH = 173.0, 1.4, 20.0

# Spectra, chosen for distributions that resemble the published ones.
HIGGS_RADIATION, TOP_RADIATION = (32.0, 1.4), (28.0, 1.5)  # scale in GeV, power
CHARGINO_RADIATION, W_RADIATION = (60.0, 1.3), (28.0, 2.5)
TOP_POWER, CHARGINO_POWER, W_POWER = 7.0, 4.0, 5.5  # of the masses of pairs


@dataclasses.dataclass(frozen=True, slots=True)
class Collision:
    """The particles that reach the detector, or cross it unseen.

    Attributes:
      leptons: electrons or muons, ``[1 or 2, events]``.
      invisible: the sum of all neutrinos and neutralinos, ``[events]``.
      partons: ``[k, events]``. With one lepton two b quarks, the two quarks of a W and
        the radiation, in this order; with two leptons the radiation.
      b_quarks: how many of the partons, the first ones, are b quarks.
    """

    leptons: FourVector
    invisible: FourVector
    partons: FourVector
    b_quarks: int


def heavy_higgs(rng: np.random.Generator, events: int) -> Collision:
    """Simulate H0 -> W H+-, H+- -> W h0, h0 -> b b; W W -> lepton neutrino quark quark."""
    radiation = radiate(rng, events, *HIGGS_RADIATION)
    heavy = produce(rng, np.full(events, HEAVY_HIGGS), radiation)
    first, charged = two_body_decay(rng, heavy, w_mass(rng, events), CHARGED_HIGGS)
    second, light = two_body_decay(rng, charged, w_mass(rng, events), LIGHT_HIGGS)
    b1, b2 = two_body_decay(rng, light, 0, 0)
    coin = rng.random(events) < 0.5
    leptonic, hadronic = where(coin, first, second), where(coin, second, first)
    return _one_lepton(rng, leptonic, hadronic, b1, b2, radiation)


def top_pair(rng: np.random.Generator, events: int) -> Collision:
    """Simulate t t -> W b W b; the first b comes with the leptonic W."""
    radiation = radiate(rng, events, *TOP_RADIATION)
    mass1 = breit_wigner(rng, events, TOP, TOP_WIDTH, TOP_REACH)
    mass2 = breit_wigner(rng, events, TOP, TOP_WIDTH, TOP_REACH)
    pair = produce(rng, pair_mass(rng, mass1 + mass2, TOP_POWER), radiation)
    top1, top2 = two_body_decay(rng, pair, mass1, mass2)
    leptonic, b1 = two_body_decay(rng, top1, w_mass(rng, events), 0)
    hadronic, b2 = two_body_decay(rng, top2, w_mass(rng, events), 0)
    return _one_lepton(rng, leptonic, hadronic, b1, b2, radiation)


def chargino_pair(rng: np.random.Generator, events: int) -> Collision:
    """Simulate two charginos, each to an invisible neutralino and a leptonic W."""
    radiation = radiate(rng, events, *CHARGINO_RADIATION)
    mass = pair_mass(rng, np.full(events, 2 * CHARGINO), CHARGINO_POWER)
    one, other = two_body_decay(rng, produce(rng, mass, radiation), CHARGINO, CHARGINO)
    w1, dark1 = two_body_decay(rng, one, w_mass(rng, events), NEUTRALINO)
    w2, dark2 = two_body_decay(rng, other, w_mass(rng, events), NEUTRALINO)
    return _two_leptons(rng, w1, w2, radiation, dark1, dark2)


def w_pair(rng: np.random.Generator, events: int) -> Collision:
    """Simulate W W, both leptonic."""
    radiation = radiate(rng, events, *W_RADIATION)
    mass1, mass2 = w_mass(rng, events), w_mass(rng, events)
    pair = produce(rng, pair_mass(rng, mass1 + mass2, W_POWER), radiation)
    w1, w2 = two_body_decay(rng, pair, mass1, mass2, forward(rng, events))
    return _two_leptons(rng, w1, w2, radiation)


def _one_lepton(rng, leptonic, hadronic, b1, b2, radiation) -> Collision:
    lepton, neutrino = two_body_decay(rng, leptonic, 0, 0)
    q1, q2 = two_body_decay(rng, hadronic, 0, 0)
    partons = stack(b1, b2, q1, q2, radiation[0], radiation[1])
    return Collision(stack(lepton), neutrino, partons, b_quarks=2)


def _two_leptons(rng, w1, w2, radiation, *dark) -> Collision:
    lepton1, neutrino1 = two_body_decay(rng, w1, 0, 0)
    lepton2, neutrino2 = two_body_decay(rng, w2, 0, 0)
    invisible = functools.reduce(operator.add, (neutrino1, neutrino2, *dark))
    return Collision(stack(lepton1, lepton2), invisible, radiation, b_quarks=0)
