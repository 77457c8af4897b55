r"""Sound bounds on the outputs of a network and on its Lipschitz constant.

For a box of inputs, ``bounds`` encloses every output and ``lipschitz`` every change of the
output relative to that of the input. Both are proofs: they hold for the network whose
parameters, statistics and options are the stored numbers, in exact arithmetic, and
rounding errors of the computation are included. (What the network itself computes in floats
differs from exact arithmetic by its own rounding.)

Bernstein activations are easy to enclose: restricted to an interval a polynomial lies in
the hull of its coefficients there, and so does its derivative, tighter with the square of
the interval's width; outside its interval it is constant.

Reference: H. Zhang et al., *Efficient Neural Network Robustness Certification with General
Activation Functions*, 2018, for lines substituted backward through a network.
"""

from jaxbern.certify._api import bounds as bounds
from jaxbern.certify._api import lipschitz as lipschitz
from jaxbern.certify._ball import Ball as Ball
from jaxbern.certify._robustness import Robustness as Robustness
from jaxbern.certify._robustness import robustness as robustness
from jaxbern.certify._rounding import Bounds as Bounds
from jaxbern.certify._training import RobustSchedule as RobustSchedule
from jaxbern.certify._training import margin_weights as margin_weights
from jaxbern.certify._training import robust_loss as robust_loss

__all__ = [
    "Ball",
    "Bounds",
    "RobustSchedule",
    "Robustness",
    "bounds",
    "lipschitz",
    "margin_weights",
    "robust_loss",
    "robustness",
]
