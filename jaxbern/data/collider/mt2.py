"""The stransverse mass of two leptons and missing momentum, all massless."""

import numpy as np

from jaxbern.data.collider.kinematics import FourVector

_GRID = np.linspace(0, 1, 16)[1:-1]
_HALVINGS = 14


def mt2(one: FourVector, other: FourVector, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute ``min over q1 + q2 = (x, y) of max(mT(one, q1), mT(other, q2))``.

    Here ``mT^2(p, q) = 2 (|p| |q| - p q)`` of transverse momenta. The problem is convex,
    so its value is that of the dual, ``max over l in [0, 1]`` of the smallest ``l mT1^2 +
    (1 - l) mT2^2``. That inner problem asks for the largest ``v (x, y)`` over ``v`` in two
    discs, of radius ``A = 2 l |p1|`` and ``B = 2 (1 - l) |p2|``, whose circles cross at two
    points; where the outer maximum is positive, ``v`` is at one of them and the value is

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
