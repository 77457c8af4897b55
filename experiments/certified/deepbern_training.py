"""The same training with DeepBern-Nets' own network and bounds, in PyTorch.

Its repository has to be on ``PYTHONPATH``. The model, its bounds of the input of each layer and
its interval bounds for training are theirs; data, batches, optimiser, rate and the
schedule of radius and mixture are those of ``certified_training``.
"""

import importlib
import math
from typing import Any

import numpy as np

from experiments.certified.certified_networks import Rows
from experiments.certified.certified_training import BATCH
from experiments.comparison.compared_packages import DEEPBERN, TORCH


class Diverged(RuntimeError):
    """Raised when their training ends in numbers that are not finite."""


def problem() -> str | None:
    """Why it cannot be run here; None if it can."""
    return TORCH.problem() or DEEPBERN.problem()


def train(
    kind: str, act: str, seed: int, rows: Rows, *, steps: int, rate: float, eps: float,
    mix: float,
) -> Any:  # fmt: skip
    """Train their network of 2x64 neurons, or ``CNNa``, their smallest convolutional one.

    Raises:
      Diverged: the loss, or a value inside of their layers, is not finite.
    """
    import torch

    theirs = importlib.import_module(DEEPBERN.module.partition(".")[0] + ".models")
    torch.manual_seed(seed)
    degree = int(act.partition(":")[2])
    if kind == "mlp":
        ends = torch.stack([torch.zeros(64), torch.ones(64)], dim=-1)
        model = theirs.FCModel([64, 64, 64, 10], degree, input_bounds=ends)
    else:
        ends = torch.stack([torch.zeros(1, 8, 8), torch.ones(1, 8, 8)], dim=-1)
        model = theirs.CNNa(degree, input_bounds=ends)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
    x, labels = _tensors(model, rows)
    rng, order = np.random.default_rng(seed), np.empty(0, int)
    cross_entropy = torch.nn.functional.cross_entropy
    model.train()
    for count in range(steps):
        if len(order) < BATCH:
            order = rng.permutation(len(rows.x))
        batch, order = torch.tensor(order[:BATCH]), order[BATCH:]
        share = min(count / (0.6 * steps), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * count / steps))
        optimizer.zero_grad()
        plain = cross_entropy(_logits(model, x[batch]), labels[batch])
        low = margins(model, x[batch], labels[batch], eps * share)
        logits = -torch.cat([torch.zeros(len(low), 1), low], dim=1)
        robust = cross_entropy(logits, torch.zeros(len(low), dtype=torch.long))
        loss = (1 - mix * share) * plain + mix * share * robust
        if not torch.isfinite(loss):
            raise Diverged(f"the loss of step {count} is {float(loss)}")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    with torch.no_grad():
        # A forward pass sets the bounds of all layers, here for the last weights.
        _logits(model, x[:1])
    model.eval()
    return model


def _logits(model: Any, x: Any) -> Any:
    """Their forward pass, which raises a plain Exception once a value is NaN."""
    try:
        return model(x)
    except Exception as problem:
        if "nan" in str(problem):
            raise Diverged(str(problem)) from problem
        raise


def _tensors(model: Any, rows: Rows) -> tuple[Any, Any]:
    """Inputs in the shape that the model takes, and classes."""
    import torch

    x = torch.tensor(rows.x).reshape(-1, *model.input_bounds.shape[:-1])
    return x, torch.tensor(rows.labels, dtype=torch.long)


def margins(model: Any, x: Any, labels: Any, eps: float) -> Any:
    """Lower bounds of the margins by their ``forward_subinterval``."""
    import torch

    eye = torch.eye(10)
    others = ~torch.nn.functional.one_hot(labels, 10).bool()
    rows = (eye[labels][:, None] - eye[None])[others].view(len(x), 9, 10)
    box = torch.stack([(x - eps).clamp(0, 1), (x + eps).clamp(0, 1)], dim=-1)
    return model.forward_subinterval(box, C=rows)[..., 0]


def scores(model: Any, rows: Rows, radii: tuple[float, ...]) -> list[float]:
    """Clean accuracy, then certified accuracy by their bounds."""
    import torch

    x, labels = _tensors(model, rows)
    with torch.no_grad():
        found = [float((model(x).argmax(1) == labels).float().mean())]
        for eps in radii:
            low = margins(model, x, labels, eps)
            found.append(float((low > 0).all(1).float().mean()))
    return found
