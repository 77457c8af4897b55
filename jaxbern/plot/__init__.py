"""Plot learned activations and decision boundaries of any ``flax.nnx`` network.

Each function returns a ``matplotlib`` figure: ``figure.savefig("act.png")`` writes it, a
notebook displays it. No window is opened, and the state of ``pyplot`` is not changed.
Needs ``pip install "jaxbern[plot]"``.
"""

from jaxbern.plot._activations import activation as activation
from jaxbern.plot._activations import activations as activations
from jaxbern.plot._boundary import decision_boundary as decision_boundary
from jaxbern.plot._evolution import activation_evolution as activation_evolution
from jaxbern.plot._inspection import inspection as inspection

__all__ = [
    "activation",
    "activation_evolution",
    "activations",
    "decision_boundary",
    "inspection",
]
