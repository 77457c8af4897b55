"""Production of a system of particles in the collision of two protons."""

import numpy as np

from jaxbern.data.collider.kinematics import FourVector, breit_wigner

BEAMS = 8000.0  # energy of the two protons together
W, W_WIDTH, W_REACH = 80.4, 2.1, 15.0  # the reach keeps every decay to a W possible
FORWARD = 0.02  # smaller values give directions closer to the beams
RADIATED = 2  # partons radiated by the incoming ones
RADIATION_ETA = 1.8  # their spread
RAPIDITY = 0.32  # spread along the beams, as a fraction of the possible range


def radiate(
    rng: np.random.Generator, events: int, scale: float, power: float
) -> FourVector:
    """Draw partons radiated before the collision, ``[RADIATED, events]``.

    Transverse momenta have a steep spectrum: a fraction ``(1 + (pt/scale)^2)^-power`` of
    the partons has more than ``pt``.
    """
    shape = (RADIATED, events)
    above = 1 - rng.random(shape)  # in (0, 1]
    pt = scale * np.sqrt(above ** (-1 / power) - 1)
    # Zero has no direction, and the beams limit the energy.
    pt = np.clip(pt, 0.1, BEAMS / 8)
    eta = rng.normal(0, RADIATION_ETA, shape)
    return FourVector.massless(pt, eta, rng.uniform(-np.pi, np.pi, shape))


def pair_mass(
    rng: np.random.Generator, threshold: np.ndarray, power: float
) -> np.ndarray:
    """Draw masses of a pair: rising from ``threshold``, then falling as ``m^-power``.

    Partons that carry much of a proton's energy are rare, hence the power law.
    """
    excess = np.exp(rng.standard_gamma(2.0, threshold.shape) / power)
    return np.minimum(threshold * excess, BEAMS / 2)


def forward(rng: np.random.Generator, events: int) -> np.ndarray:
    """Draw cosines of production angles near the beams: ``dN/dc ~ 1/(1 + a - |c|)``."""
    cos = (1 + FORWARD) * (1 - (FORWARD / (1 + FORWARD)) ** rng.random(events))
    return np.where(rng.random(events) < 0.5, cos, -cos)


def produce(
    rng: np.random.Generator, mass: np.ndarray, radiation: FourVector
) -> FourVector:
    """Return a system of this mass that recoils against ``radiation``."""
    x, y = -radiation.x.sum(axis=0), -radiation.y.sum(axis=0)
    transverse = np.sqrt(mass * mass + x * x + y * y)
    spread = RAPIDITY * np.log(BEAMS / mass)
    rapidity = spread * rng.standard_normal(mass.shape)
    return FourVector(
        transverse * np.cosh(rapidity), x, y, transverse * np.sinh(rapidity)
    )


def w_mass(rng: np.random.Generator, events: int) -> np.ndarray:
    """Draw the mass of a W boson for each event."""
    return breit_wigner(rng, events, W, W_WIDTH, W_REACH)
