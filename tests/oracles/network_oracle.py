"""The paper's network in NumPy and float64, layer by layer, with its gradient by hand.

Nothing here is shared with the code under test: no scan, no automatic differentiation, the
backward pass of BatchNorm by its closed formula, polynomials by de Casteljau.
"""

import math

import numpy as np

from tests.oracles import casteljau

ENDS = np.full((1, 1), -3.0), np.full((1, 1), 3.0)
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848
erf = np.vectorize(math.erf)


def selu_slope(x):
    return SELU_SCALE * np.where(x > 0, 1.0, SELU_ALPHA * np.exp(np.minimum(x, 0)))


def gaussian(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


# Value and slope of each activation.
FIXED = {
    "relu": (lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "leaky_relu": (
        lambda x: np.where(x > 0, x, 0.1 * x),
        lambda x: np.where(x > 0, 1, 0.1),
    ),
    "selu": (
        lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)),
        selu_slope,
    ),
    "gelu": (
        lambda x: x * gaussian(x),
        lambda x: gaussian(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    ),
}


def forward(config, params, x, running=None):
    """Return logits, statistics of each layer, and what the backward pass needs."""
    linears, coeffs = _layers(config, params)
    h, kept, statistics = np.float64(x), [], []
    for i, (kernel, bias) in enumerate(linears[:-1]):
        z = h @ kernel + bias
        mean, var = (
            (z.mean(axis=0), z.var(axis=0)) if running is None else running[:, i]
        )
        normal = (z - mean) / np.sqrt(var + config.epsilon)
        y, slope = _activation(config, normal, coeffs[i])
        kept.append((h, normal, var, slope))
        statistics.append((mean, var))
        h = y + h if config.residual and i > 0 else y
    kernel, bias = linears[-1]
    return h @ kernel + bias, np.stack(statistics, axis=1), [*kept, (h,)]


def gradients(config, params, x, dlogits, running=None):
    """Return gradients of ``sum(dlogits * logits)`` in the parameters and in ``x``."""
    linears, coeffs = _layers(config, params)
    *kept, (h,) = forward(config, params, x, running)[2]
    d = [(h.T @ dlogits, dlogits.sum(axis=0))]
    dcoeffs, dh = [], dlogits @ linears[-1][0].T
    for i in reversed(range(config.depth)):
        h, normal, var, slope = kept[i]
        dnormal = dh * slope
        if running is None:  # mean and variance depend on every row
            through_var = normal * np.mean(dnormal * normal, axis=0)
            dnormal = dnormal - dnormal.mean(axis=0) - through_var
        dz = dnormal / np.sqrt(var + config.epsilon)
        dcoeffs.insert(0, _moments(config, normal, dh, coeffs[i]))
        d.insert(0, (h.T @ dz, dz.sum(axis=0)))
        dh = dz @ linears[i][0].T + (dh if config.residual and i > 0 else 0)
    return _structure(d, dcoeffs, params), dh


def updated(config, running, statistics, rows):
    """Update running statistics by PyTorch's rule, with the variance over ``rows - 1``."""
    mean, var = statistics
    new = np.stack([mean, var * rows / (rows - 1)])
    return config.momentum * running + (1 - config.momentum) * new


def _activation(config, x, coeffs):
    if coeffs is None:
        value, slope = FIXED[config.activation]
        return value(x), slope(x)
    columns = coeffs.T[:, None]
    if len(columns) == 1:
        return np.broadcast_to(columns[0], x.shape), np.zeros_like(x)
    value = casteljau.value(x, columns, *ENDS)
    if config.outside == "clamp":
        return value, casteljau.slope(x, columns, *ENDS)
    inside = np.clip(x, -3.0, 3.0)
    slope = casteljau.slope(inside, columns, *ENDS)
    return value + slope * (x - inside), slope


def _moments(config, x, dy, coeffs):
    if coeffs is None:
        return None
    return casteljau.moments(x, dy, *ENDS, (coeffs.shape[1], 1, len(coeffs)))[:, 0].T


def _layers(config, params):
    def pairs(part):
        return [np.float64(part["kernel"]), np.float64(part["bias"])]

    hidden = zip(*pairs(params["hidden"]), strict=True)
    linears = [pairs(params["first"]), *hidden, pairs(params["last"])]
    return linears, np.float64(params["coeffs"]) if "coeffs" in params else (
        [None] * config.depth
    )


def _structure(linears, coeffs, params):
    first, *hidden, last = (
        dict(zip(("kernel", "bias"), d, strict=True)) for d in linears
    )
    hidden = {
        name: np.reshape([d[name] for d in hidden], params["hidden"][name].shape)
        for name in ("kernel", "bias")
    }
    tree = {"first": first, "hidden": hidden, "last": last}
    return tree | ({"coeffs": np.stack(coeffs)} if "coeffs" in params else {})
