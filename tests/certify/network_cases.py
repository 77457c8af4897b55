"""Networks and boxes that bounds and Lipschitz constants are tested on."""

import numpy as np

from tests.nn.networks import network

# Both outputs, and the margin between them.
MARGIN = np.float32([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
# Of a network, and of its bounds: each option is somewhere.
CASES = {
    "bernstein, residual": ({"depth": 12, "degree": 5}, {}),
    "tangents": ({"depth": 4, "outside": "linear", "degree": 4}, {}),
    "tangents, intervals": ({"outside": "linear"}, {"method": "interval"}),
    "gelu": ({"activation": "gelu", "residual": False}, {"weights": MARGIN}),
    "relu": ({"depth": 1, "activation": "relu"}, {"splits": 3}),
    "bernstein": ({"residual": False, "monotone": True}, {"method": "interval"}),
    "selu": ({"activation": "selu"}, {"method": "interval"}),
    "leaky_relu": (
        {"activation": "leaky_relu", "residual": False},
        {"method": "interval", "weights": MARGIN},
    ),
}
# Boxes that are bounded together: from a point to most of what the network knows.
RADII = np.float32([0, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 1.0])
CENTRE = np.float32([0.3, -0.4, 0.9])
LOWER, UPPER = CENTRE - RADII[:, None], CENTRE + RADII[:, None]


def model_of(name, seed=0, scale=1.0):
    options, _ = CASES[name]
    model = network(3, width=6, **{"depth": 3, **options}, seed=seed)
    for part in (model.first, model.hidden, model.last):
        part.kernel[...] = scale * part.kernel[...]
    model.eval()
    return model
