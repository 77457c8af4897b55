"""Train one seed in NumPy and float64, with derivatives written out by hand.

Linear, BatchNorm and ReLU with skips; AdamW, learning rate and early stopping as loops,
as PyTorch users write them. Random choices (split, initial parameters, order of the rows)
are arguments.
"""

import math

import numpy as np

from jaxbern.train import TrainConfig

EPSILON, MOMENTUM = 1e-5, 0.9


class Layer:
    """Linear, BatchNorm, ReLU, skip; stores what its backward pass needs."""

    def __init__(self, kernel, bias, skips):
        self.params = [np.array(kernel, float), np.array(bias, float)]
        self.mean, self.var = np.zeros(len(bias)), np.ones(len(bias))
        self.skips = skips

    def __call__(self, h, training):
        self.h = h
        z = h @ self.params[0] + self.params[1]
        if training:
            mean, var, rows = z.mean(0), z.var(0), len(z)
            self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * mean
            unbiased = var * rows / (rows - 1)
            self.var = MOMENTUM * self.var + (1 - MOMENTUM) * unbiased
        else:
            mean, var = self.mean, self.var
        self.deviation = np.sqrt(var + EPSILON)
        self.normal = (z - mean) / self.deviation
        out = np.maximum(self.normal, 0)
        return h + out if self.skips else out

    def backward(self, dy):
        d = dy * (self.normal > 0)
        d = d - d.mean(0) - self.normal * (d * self.normal).mean(0)
        dz = d / self.deviation
        self.gradients = [self.h.T @ dz, dz.sum(0)]
        dh = dz @ self.params[0].T
        return dh + dy if self.skips else dh


class Network:
    def __init__(self, params):
        first, hidden, self.last = params["first"], params["hidden"], params["last"]
        stacked = zip(hidden["kernel"], hidden["bias"], strict=True)
        self.layers = [Layer(first["kernel"], first["bias"], skips=False)]
        self.layers += [Layer(kernel, bias, skips=True) for kernel, bias in stacked]
        self.last = [np.array(self.last[n], float) for n in ("kernel", "bias")]

    def __call__(self, x, training):
        for layer in self.layers:
            x = layer(x, training)
        self.h = x
        return x @ self.last[0] + self.last[1]

    def params(self):
        return [p for layer in self.layers for p in layer.params] + self.last

    def gradients(self, dlogits):
        of_last = [self.h.T @ dlogits, dlogits.sum(0)]
        dh = dlogits @ self.last[0].T
        for layer in reversed(self.layers):
            dh = layer.backward(dh)
        return [g for layer in self.layers for g in layer.gradients] + of_last


class AdamW:
    """AdamW in the order of PyTorch's documentation, in place."""

    def __init__(self, params, decay):
        self.decay, self.steps = decay, 0
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in params]

    def step(self, params, gradients, rate):
        self.steps += 1
        for p, g, (m, v) in zip(params, gradients, self.moments, strict=True):
            p -= rate * self.decay * p
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            m_hat = m / (1 - 0.9**self.steps)
            v_hat = v / (1 - 0.999**self.steps)
            p -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)


def losses(logits, y):
    """Return minus the log probability of each label, and its derivative."""
    shifted = logits - logits.max(1, keepdims=True)
    probabilities = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
    right = np.arange(len(y)), y
    return -np.log(probabilities[right]), probabilities - np.eye(2)[y]


def area(scores, y):
    """Return the fraction of correctly ordered pairs of signal and background; ties half."""
    difference = scores[y == 1][:, None] - scores[y == 0][None]
    return ((difference > 0) + 0.5 * (difference == 0)).mean()


def train(config: TrainConfig, x_train, y_train, x_test, y_test, params, orders):
    """Return the history of one seed: lists of numbers until it stops.

    ``x`` is not yet scaled; ``orders`` has one order of the training rows per epoch.
    """
    low, span = x_train.min(0), np.ptp(x_train, axis=0)
    x_train, x_test = (np.clip((x - low) / span, 0, 1) for x in (x_train, x_test))
    network = Network(params)
    optimizer = AdamW(network.params(), config.weight_decay)
    history = {"train_loss": [], "validation_loss": [], "auc": [], "learning_rate": []}
    rate, best, bad = config.learning_rate, -math.inf, 0
    reference, waited = -math.inf, 0
    for epoch in range(config.epochs):
        total, rows = 0.0, 0
        for start in range(0, len(y_train), config.batch_size):
            batch = orders[epoch][start : start + config.batch_size]
            if len(batch) == 1:
                continue
            loss, derivative = losses(network(x_train[batch], True), y_train[batch])
            gradients = network.gradients(derivative / len(batch))
            optimizer.step(network.params(), gradients, rate)
            total, rows = total + loss.sum(), rows + len(batch)
        logits = network(x_test, False)
        auc = area(logits[:, 1] - logits[:, 0], y_test)
        measured = total / rows, losses(logits, y_test)[0].mean(), auc, rate
        for column, number in zip(history.values(), measured, strict=True):
            column.append(number)
        if epoch >= config.plateau_start:
            bad = bad + 1 if auc <= best * (1 + config.plateau_threshold) else 0
            best = auc if bad == 0 else best
            if bad > config.plateau_patience:
                rate, bad = rate * config.plateau_factor, 0
        waited += 1
        if auc > reference + config.stop_improvement:
            reference, waited = auc, 0
        if waited == config.stop_patience:
            break
    return history
