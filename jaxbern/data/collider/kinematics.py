"""Relativistic kinematics, a whole array of events at a time. Units of GeV, c = 1."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class FourVector:
    """Energy and momentum of one particle per event; the beams are along z.

    The components are float64 arrays of one shape, ``[events]`` or, for several
    particles at once, ``[particles, events]``.
    """

    e: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray

    @classmethod
    def massless(cls, pt: np.ndarray, eta: np.ndarray, phi: np.ndarray) -> "FourVector":
        """Make momenta from transverse momentum, pseudorapidity and azimuth, as measured."""
        z = pt * np.sinh(eta)
        return cls(np.hypot(pt, z), pt * np.cos(phi), pt * np.sin(phi), z)

    def __add__(self, other: "FourVector") -> "FourVector":
        """Add component by component."""
        return FourVector(
            self.e + other.e, self.x + other.x, self.y + other.y, self.z + other.z
        )

    def __sub__(self, other: "FourVector") -> "FourVector":
        """Subtract component by component."""
        return FourVector(
            self.e - other.e, self.x - other.x, self.y - other.y, self.z - other.z
        )

    def __mul__(self, factor: np.ndarray) -> "FourVector":
        """Scale energy and momentum, keeping the direction."""
        return FourVector(
            self.e * factor, self.x * factor, self.y * factor, self.z * factor
        )

    def __getitem__(self, which) -> "FourVector":
        """Index all components."""
        return FourVector(self.e[which], self.x[which], self.y[which], self.z[which])

    @property
    def pt(self) -> np.ndarray:
        """Momentum transverse to the beams."""
        return np.sqrt(self.x * self.x + self.y * self.y)

    @property
    def eta(self) -> np.ndarray:
        """Pseudorapidity, ``asinh(p_z / p_t)``."""
        return np.arcsinh(self.z / self.pt)

    @property
    def phi(self) -> np.ndarray:
        """Azimuth around the beams, in (-pi, pi]."""
        return np.arctan2(self.y, self.x)

    @property
    def mass(self) -> np.ndarray:
        """Invariant mass, ``sqrt(E^2 - p^2)``; 0 if rounding made the square negative."""
        momentum2 = self.x * self.x + self.y * self.y + self.z * self.z
        return np.sqrt(np.maximum(self.e * self.e - momentum2, 0))


def stack(*particles: FourVector) -> FourVector:
    """Stack particles into one ``FourVector`` with a leading axis."""
    parts = (np.stack(part) for part in zip(*map(_parts, particles), strict=True))
    return FourVector(*parts)


def where(mask: np.ndarray, yes: FourVector, no: FourVector) -> FourVector:
    """Select ``yes`` in the events of ``mask``, ``no`` in the others."""
    parts = zip(_parts(yes), _parts(no), strict=True)
    return FourVector(*(np.where(mask, one, other) for one, other in parts))


def _parts(particle: FourVector) -> tuple[np.ndarray, ...]:
    return particle.e, particle.x, particle.y, particle.z


def boost(particle: FourVector, frame: FourVector) -> FourVector:
    """Transform ``particle`` from the rest frame of ``frame`` to where ``frame`` is given."""
    mass = frame.mass
    along = frame.x * particle.x + frame.y * particle.y + frame.z * particle.z
    e = (frame.e * particle.e + along) / mass
    factor = (particle.e + e) / (frame.e + mass)
    return FourVector(
        e,
        particle.x + factor * frame.x,
        particle.y + factor * frame.y,
        particle.z + factor * frame.z,
    )


def boost_by(particle: FourVector, x, y, z) -> FourVector:
    """Boost ``particle`` by this velocity."""
    gamma = 1 / np.sqrt(1 - (x * x + y * y + z * z))
    return boost(particle, FourVector(gamma, gamma * x, gamma * y, gamma * z))


def two_body_decay(
    rng: np.random.Generator, parent: FourVector, mass1, mass2, cos=None
) -> tuple[FourVector, FourVector]:
    """Decay ``parent`` into two particles of these masses, isotropic in its rest frame.

    ``cos``, if given, is the cosine of the first one's angle to the z axis in that frame.
    """
    mass = parent.mass
    first, second = (mass1 / mass) ** 2, (mass2 / mass) ** 2
    momentum = mass / 2 * np.sqrt((1 - first - second) ** 2 - 4 * first * second)
    if cos is None:
        cos = rng.uniform(-1, 1, mass.shape)
    across = momentum * np.sqrt(1 - cos * cos)
    phi = rng.uniform(-np.pi, np.pi, mass.shape)
    at_rest = FourVector(
        mass / 2 * (1 + first - second),
        across * np.cos(phi),
        across * np.sin(phi),
        momentum * cos,
    )
    one = boost(at_rest, parent)
    return one, parent - one


def breit_wigner(
    rng: np.random.Generator, events: int, mass: float, width: float, reach: float
) -> np.ndarray:
    """Draw masses of a resonance (Cauchy distribution), at most ``reach`` from its peak."""
    end = np.arctan(2 * reach / width)
    return mass + width / 2 * np.tan(rng.uniform(-end, end, events))
