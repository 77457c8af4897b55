"""Compute collider variables one event at a time, with Lorentz matrices and bisection."""

import math

import numpy as np


def massless(pt, eta, phi):
    return pt * np.array([math.cosh(eta), math.cos(phi), math.sin(phi), math.sinh(eta)])


def mass(*particles):
    e, *momentum = sum(particles)
    return math.sqrt(max(e**2 - np.dot(momentum, momentum), 0.0))


def lorentz(velocity):
    """Return the matrix of a boost by this velocity."""
    beta = np.asarray(velocity, float)
    gamma = 1 / math.sqrt(1 - beta @ beta)
    matrix = np.empty((4, 4))
    matrix[0, 0] = gamma
    matrix[0, 1:] = matrix[1:, 0] = gamma * beta
    matrix[1:, 1:] = np.eye(3)
    if beta.any():
        matrix[1:, 1:] += (gamma - 1) * np.outer(beta, beta) / (beta @ beta)
    return matrix


def neutrino(lepton, missing, w=80.4):
    """Find the neutrino from the roots of the polynomial of its longitudinal momentum."""
    e, z = lepton[0], lepton[3]
    met = math.hypot(*missing)
    pt = math.hypot(*lepton[1:3])
    half = w**2 / 2 + lepton[1:3] @ missing
    roots = np.roots([pt**2, -2 * half * z, e**2 * met**2 - half**2])
    # Without a solution, take the neutrino along the lepton: the transverse mass results.
    found = met * z / pt if roots[0].imag else min(roots.real, key=abs)
    return np.array([math.hypot(met, found), *missing, found])


def higgs_masses(event):
    """Compute the seven masses from one event's 21 low-level columns (GeV, radians)."""
    lepton = massless(*event[:3])
    missing = event[3] * np.array([math.cos(event[4]), math.sin(event[4])])
    jets = [(round(event[k + 3]), massless(*event[k : k + 3])) for k in (5, 9, 13, 17)]
    jets.sort(key=lambda jet: -jet[0])  # stable: equal tags keep their order
    b1, b2, q1, q2 = (jet for _, jet in jets)
    nu = neutrino(lepton, missing)
    near, far = sorted((b1, b2), key=lambda b: abs(mass(q1, q2, b) - 173))
    return [
        mass(q1, q2),
        mass(q1, q2, near),
        mass(lepton, nu),
        mass(lepton, nu, far),
        mass(b1, b2),
        max(mass(lepton, nu, b1, b2), mass(q1, q2, b1, b2)),
        mass(lepton, nu, q1, q2, b1, b2),
    ]


def mt2(p, q, missing):
    """Minimise by nested golden sections; the maximum is convex in the split."""

    def transverse2(lepton, x, y):
        return 2 * (
            math.hypot(*lepton) * math.hypot(x, y) - lepton[0] * x - lepton[1] * y
        )

    def largest(x, y):
        rest = missing[0] - x, missing[1] - y
        return max(transverse2(p, x, y), transverse2(q, *rest), 0.0)

    reach = 20 * (math.hypot(*missing) + math.hypot(*p) + math.hypot(*q))
    return math.sqrt(
        _minimum(lambda x: _minimum(lambda y: largest(x, y), reach), reach)
    )


def _minimum(f, reach, steps=70):
    golden = (math.sqrt(5) - 1) / 2
    low, high = -reach, reach
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = f(right)
    return min(at_left, at_right)


def susy_variables(event):
    """Compute the ten variables from one event's 8 low-level columns; for MT2 see `mt2`."""
    one, other = massless(*event[:3]), massless(*event[3:6])
    met, phi = event[6:8]
    missing = met * np.array([math.cos(phi), math.sin(phi)])
    away = [math.acos(math.cos(k - phi)) for k in (event[2], event[5])]
    relative = met * (math.sin(min(away)) if min(away) < math.pi / 2 else 1)
    both = one + other
    axial = missing @ both[1:3] / math.hypot(*both[1:3])
    scalar = met * (event[0] + event[3])
    mtr = math.sqrt((scalar - missing @ both[1:3]) / 2)

    to_rest = lorentz([0, 0, -both[3] / both[0]])
    one, other = to_rest @ one, to_rest @ other
    mr = one[0] + other[0]
    pair = (one + other)[1:3] + missing

    def to_pair(s):  # boost to the rest frame of a pair of this mass
        return lorentz([*(-pair / math.sqrt(pair @ pair + s * s)), 0])

    low, high = 1e-3, 1e5  # the mass at which the leptons have half of the energy
    for _ in range(60):
        middle = (low + high) / 2
        if (to_pair(middle) @ (one + other))[0] > middle / 2:
            low = middle
        else:
            high = middle
    one, other = to_pair(low) @ one, to_pair(low) @ other
    both = one + other
    dphi = math.acos(both[1:3] @ pair / math.hypot(*both[1:3]) / math.hypot(*pair))
    beta = (one - other)[1:] / both[0]
    first, second = lorentz(-beta) @ one, lorentz(beta) @ other
    assert math.isclose(first[0], second[0], rel_tol=1e-9)
    cos = abs(first[1:] @ beta) / first[0] / math.sqrt(beta @ beta)
    return [relative, axial, mr, mtr, mtr / mr, low, first[0] + second[0], dphi, cos]
