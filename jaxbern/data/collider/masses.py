"""The HIGGS columns: measured quantities and seven reconstructed masses."""

import numpy as np

from jaxbern.data.collider.detector import Measured
from jaxbern.data.collider.kinematics import FourVector, where
from jaxbern.data.collider.processes import TOP
from jaxbern.data.collider.production import W


def higgs_columns(seen: Measured) -> list[np.ndarray]:
    """Return the 28 columns in the published order, in GeV and radians."""
    lepton = seen.leptons[0]
    missing = np.hypot(seen.missing_x, seen.missing_y)
    columns = [lepton.pt, lepton.eta, lepton.phi]
    columns += [missing, np.arctan2(seen.missing_y, seen.missing_x)]
    for jet, tag in zip(_each(seen.jets), seen.tags, strict=True):
        columns += [jet.pt, jet.eta, jet.phi, tag]
    return columns + _masses(seen)


def _masses(seen: Measured) -> list[np.ndarray]:
    """Compute m_jj, m_jjj, m_lv, m_jlv, m_bb, m_wbb, m_wwbb.

    The two jets with the highest tags are the b's; of equal tags, the harder ones. The
    other two make a W, and with the b that brings them closer to the top mass a top.
    Either W may come with both b's from a charged Higgs: m_wbb is the larger mass.
    """
    b1, b2, q1, q2 = _each(seen.jets[_by_tag(seen.tags)])
    hadronic = q1 + q2
    leptonic = seen.leptons[0] + neutrino(
        seen.leptons[0], seen.missing_x, seen.missing_y
    )
    top1, top2 = (hadronic + b1).mass, (hadronic + b2).mass
    first = np.abs(top1 - TOP) <= np.abs(top2 - TOP)
    bb = b1 + b2
    return [
        hadronic.mass,
        np.where(first, top1, top2),
        leptonic.mass,
        (leptonic + where(first, b2, b1)).mass,
        bb.mass,
        np.maximum((leptonic + bb).mass, (hadronic + bb).mass),
        (leptonic + hadronic + bb).mass,
    ]


def neutrino(lepton: FourVector, x: np.ndarray, y: np.ndarray) -> FourVector:
    """Return the neutrino with these transverse momenta that forms a W with the lepton.

    Its longitudinal momentum solves ``(lepton + neutrino)^2 = W^2``; of two solutions
    the smaller is taken. With none, the transverse mass is above that of the W and is
    made the mass of the pair.
    """
    pt2, missing2 = lepton.pt**2, x * x + y * y
    along = lepton.x * x + lepton.y * y
    half = np.maximum(W**2 / 2 + along, np.sqrt(pt2 * missing2))
    root = lepton.e * np.sqrt(np.maximum(half * half - pt2 * missing2, 0))
    middle = half * lepton.z
    z = (middle - np.copysign(root, middle)) / pt2
    return FourVector(np.sqrt(missing2 + z * z), x, y, z)


def _by_tag(tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the jets of each event by descending tag."""
    order = np.argsort(-tags.T, axis=1, kind="stable").T
    return order, np.arange(order.shape[1])


def _each(particles: FourVector) -> list[FourVector]:
    return [particles[k] for k in range(len(particles.e))]
