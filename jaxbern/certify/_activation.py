"""Control points and slopes of the activation of a network."""

import jax

from jaxbern.certify import _bernstein, _fixed
from jaxbern.certify._bernstein import Points
from jaxbern.certify._rounding import Bounds
from jaxbern.nn import BERNSTEIN, NetworkConfig


def points(config: NetworkConfig, coeffs: jax.Array | None, box: Bounds) -> Points:
    """Compute control points of every neuron of a layer, for ``x`` in a box ``[W]``."""
    if config.activation == BERNSTEIN:
        assert coeffs is not None
        return _bernstein.points(
            coeffs, config.lower, config.upper, box, config.outside
        )
    return _fixed.points(config.activation, box)


def slopes(config: NetworkConfig, coeffs: jax.Array | None, box: Bounds) -> Bounds:
    """Bound the derivative of every neuron of a layer."""
    if config.activation == BERNSTEIN:
        assert coeffs is not None
        return _bernstein.slopes(
            coeffs, config.lower, config.upper, box, config.outside
        )
    return _fixed.slopes(config.activation, box)
