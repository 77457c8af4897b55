"""The SUSY columns: measurements of two leptons, and ten variables derived from them."""

import numpy as np

from jaxbern.data.collider.detector import Measured
from jaxbern.data.collider.kinematics import FourVector, boost_by
from jaxbern.data.collider.units import AXIAL_MET_MEAN

# The search for the maximum of the stransverse mass: first points, then halvings.
_GRID = np.linspace(0, 1, 16)[1:-1]
_HALVINGS = 14


def susy_columns(seen: Measured) -> list[np.ndarray]:
    """Return the 18 columns in the published order, in GeV and radians.

    MET_rel is the missing momentum across the nearest lepton if that is less than 90
    degrees away, axial_MET that along the sum of the leptons, from its published mean.
    """
    one, other = seen.leptons[0], seen.leptons[1]
    x, y = seen.missing_x, seen.missing_y
    missing, phi = np.hypot(x, y), np.arctan2(y, x)
    low = [one.pt, one.eta, one.phi, other.pt, other.eta, other.phi, missing, phi]
    near = np.minimum(_angle(one.phi, phi), _angle(other.phi, phi))
    relative = missing * np.sin(np.minimum(near, np.pi / 2))
    both = one + other
    axial = (x * both.x + y * both.y) / both.pt - AXIAL_MET_MEAN
    mr, mtr = _razor(one, other, x, y)
    s_r, m_delta, dphi, cos_theta = _super_razor(one, other, x, y)
    mass2 = mt2(one, other, x, y)
    high = [relative, axial, mr, mtr, mtr / mr, mass2, s_r, m_delta, dphi, cos_theta]
    return low + high


def _razor(one: FourVector, other: FourVector, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Compute M_R and M_T^R (arXiv:1006.2727), estimates of the mass scale of a pair.

    M_R is the energy of the leptons where their longitudinal momenta cancel.
    """
    both = one + other
    mr = np.sqrt(both.e**2 - both.z**2)
    scalar = np.hypot(x, y) * (one.pt + other.pt)
    return mr, np.sqrt((scalar - (x * both.x + y * both.y)) / 2)


def _super_razor(one: FourVector, other: FourVector, x, y) -> tuple[np.ndarray, ...]:
    """Compute S_R, M_Delta^R, Delta phi_R^beta, |cos theta_R+1| (arXiv:1310.4827).

    A chain of approximate rest frames. Along the beams, go to where the leptons'
    momenta cancel. Across, undo the recoil of the pair against radiation: its momentum
    is that of the leptons and what is missing, and its mass S_R follows if in its rest
    frame R the leptons have half of the energy. From R, opposite boosts lead to the
    frames of the two decays, where each lepton has the energy M_Delta^R / 2.
    """
    both = one + other
    beam = -both.z / both.e
    one, other = boost_by(one, 0, 0, beam), boost_by(other, 0, 0, beam)
    both = one + other
    pair_x, pair_y = both.x + x, both.y + y
    pair2, along = pair_x**2 + pair_y**2, both.x * pair_x + both.y * pair_y
    root = np.sqrt(np.maximum(both.e**2 + pair2 - 2 * along, 0))
    s_r = np.sqrt(2 * (both.e**2 - along + both.e * root))

    energy = np.sqrt(pair2 + s_r**2)
    beta_x, beta_y = pair_x / energy, pair_y / energy
    one, other = (
        boost_by(one, -beta_x, -beta_y, 0),
        boost_by(other, -beta_x, -beta_y, 0),
    )
    both = one + other
    dphi = _angle(both.phi, np.arctan2(beta_y, beta_x))

    apart = (one - other) * (1 / both.e)
    one = boost_by(one, -apart.x, -apart.y, -apart.z)
    along = one.x * apart.x + one.y * apart.y + one.z * apart.z
    speed = np.sqrt(apart.x**2 + apart.y**2 + apart.z**2)
    return s_r, 2 * one.e, dphi, np.abs(along) / (one.e * speed)


def _angle(phi1: np.ndarray, phi2: np.ndarray) -> np.ndarray:
    """Return the angle between two azimuths, in [0, pi]."""
    return np.abs((phi1 - phi2 + np.pi) % (2 * np.pi) - np.pi)


def mt2(one: FourVector, other: FourVector, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the stransverse mass of two massless leptons.

    It is ``min over q1 + q2 = (x, y) of max(mT(one, q1), mT(other, q2))`` for massless
    missing particles, where ``mT^2(p, q) = 2 (|p| |q| - p q)`` of transverse momenta. The
    problem is convex, so its value is that of the dual, ``max over l in [0, 1]`` of the
    smallest ``l mT1^2 + (1 - l) mT2^2``. That inner problem asks for the largest
    ``v (x, y)`` over ``v`` in two discs, of radius ``A = 2 l |p1|`` and ``B = 2 (1 - l) |p2|``,
    whose circles cross at two points; where the outer maximum is positive, ``v`` is at one
    of them and the value is

        2 A B sin(phi1 - phi2) (A n1 x m - B n2 x m) / |A n1 - B n2|^2

    with directions ``n`` of the leptons and the missing momentum ``m``. It remains to
    maximise in one variable, the fraction of ``A`` in ``A + B``.
    """
    p1, p2 = one.pt, other.pt
    n1, n2 = (one.x / p1, one.y / p1), (other.x / p2, other.y / p2)
    sine = n1[1] * n2[0] - n1[0] * n2[1]
    apart2 = (n1[0] - n2[0]) ** 2 + (n1[1] - n2[1]) ** 2
    # Written for A = share, B = 1 - share, and stretched to A / (2 p1) + B / (2 p2) = 1.
    first = 4 * sine * (n1[0] * y - n1[1] * x)
    second = 4 * sine * (n2[0] * y - n2[1] * x)

    def value(share):
        rest = 1 - share
        product = share * rest
        number = product * (share * first - rest * second)
        length2 = (share - rest) ** 2 + product * apart2
        return number / (length2 * (share / p1 + rest / p2))

    # The best of a few points, then closer and closer around it: the best so far is
    # never below its two neighbours, so there is a maximum between them.
    at, best = np.full(p1.shape, _GRID[0]), value(_GRID[0])
    for share in _GRID[1:]:
        at, best = _better(share, value(share), at, best)
    step = _GRID[1] - _GRID[0]
    for _ in range(_HALVINGS):
        step /= 2
        left, right = at - step, at + step
        at, best = _better(left, value(left), at, best)
        at, best = _better(right, value(right), at, best)
    return np.sqrt(np.maximum(best, 0))


def _better(share, found, at, best):
    higher = found > best
    return np.where(higher, share, at), np.where(higher, found, best)
