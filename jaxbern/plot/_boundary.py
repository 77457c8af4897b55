"""``plot.decision_boundary``: the classes that a classifier assigns to the plane."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxbern.kernels.array_types import Array, ArrayLike, Float, Int, Shaped
from jaxbern.plot import _canvas

_MARGIN = 0.08  # around the points, as a fraction of their range


def decision_boundary(
    model: Callable[[Float[Array, "points 2"]], Float[Array, "points ..."]],
    X: Shaped[ArrayLike, "points 2"] | Sequence[Sequence[float]],
    y: Shaped[ArrayLike, " points"] | Sequence[int],
    *,
    resolution: int = 200,
    ax: Any = None,
) -> Any:
    """Plot the class that a classifier assigns to each part of the plane, and points.

    Regions have the colour of their class, stronger where the classifier is more certain;
    the black line is the decision boundary. Misclassified points have a black rim.

    >>> figure = decision_boundary(lambda x: x[:, 0], [[-1.0, 0.0], [1.0, 2.0]], [0, 1])

    Args:
      model: a ``flax.nnx`` network, of which a copy in evaluation mode is used, or any
        function. It maps ``[N, 2]`` to logits: ``[N, classes]``, or ``[N]`` or ``[N, 1]`` for
        two classes, positive for the second.
      X: points ``[N, 2]``.
      y: their classes ``[N]``, from 0.
      resolution: number of background points along each side.
      ax: a ``matplotlib`` axis to draw into; a new figure if not given.

    Returns:
      The figure.
    """
    points, labels = _checked(X, y)
    if isinstance(model, nnx.Module):
        model = nnx.clone(model)
        model.eval()
    low, high = points.min(axis=0), points.max(axis=0)
    margin = _MARGIN * np.maximum(high - low, 1e-6)
    sides = np.linspace(low - margin, high + margin, resolution).T
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    # One call for both, because a network is compiled once per input shape.
    asked = np.concatenate([grid.astype(points.dtype), points])
    found = _probabilities(model, asked, labels)
    surface, predicted = found[: len(grid)], found[len(grid) :].argmax(axis=1)
    if ax is None:
        ax = _canvas.figure(4.6, 4.2).subplots()
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
    _regions(ax, sides, surface.reshape(resolution, resolution, -1))
    _points(ax, points, labels, predicted)
    return ax.figure


def _checked(
    X: Any, y: Any
) -> tuple[Float[np.ndarray, "points 2"], Int[np.ndarray, " points"]]:
    points, labels = np.asarray(X), np.asarray(y)
    if not np.issubdtype(points.dtype, np.floating):
        points = points.astype(np.float32)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(
            f"X must have shape [N, 2] with N >= 1, got {list(points.shape)}: a "
            "boundary can be drawn in the plane only"
        )
    if labels.shape != points.shape[:1]:
        raise ValueError(
            f"y must have one class for each point, shape [{len(points)}], got "
            f"{list(labels.shape)}"
        )
    whole = labels.astype(np.int64)
    if (wrong := (whole != labels) | (whole < 0)).any():
        raise ValueError(f"y must hold the classes 0, 1, ..., got {labels[wrong][0]}")
    return points, whole


def _probabilities(
    model: Callable, x: Float[np.ndarray, "rows 2"], labels: Int[np.ndarray, " points"]
) -> Float[np.ndarray, "rows classes"]:
    """Return probabilities ``[N, classes]`` for any accepted form of logits."""
    logits = np.asarray(model(jnp.asarray(x)), np.float64)
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.ndim != 2 or len(logits) != len(x):
        raise ValueError(
            f"model must return logits [N, classes] or [N] for x of shape "
            f"{list(x.shape)}, got {list(logits.shape)}"
        )
    if logits.shape[1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    if labels.max() >= logits.shape[1]:
        raise ValueError(
            f"y has class {labels.max()}, but the model has {logits.shape[1]} classes"
        )
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def _regions(ax: Any, sides: np.ndarray, surface: np.ndarray) -> None:
    """Draw class colours, paler where the decision is close, and the boundary."""
    rgb = _canvas.matplotlib("colors").to_rgb
    colours = np.array([rgb(colour_of(k)) for k in range(surface.shape[2])])
    winner, surest = surface.argmax(axis=2), surface.max(axis=2)
    least = 1 / surface.shape[2]
    strength = 0.12 + 0.33 * ((surest - least) / (1 - least))[..., None]
    image = 1 - strength * (1 - colours[winner])
    extent = (sides[0][0], sides[0][-1], sides[1][0], sides[1][-1])
    ax.imshow(
        image, extent=extent, origin="lower", aspect="auto", interpolation="bilinear"
    )
    for k in range(surface.shape[2] - 1 if surface.shape[2] == 2 else surface.shape[2]):
        others = np.delete(surface, k, axis=2).max(axis=2)
        lead = surface[..., k] - others
        if lead.min() < 0 < lead.max():
            ax.contour(*sides, lead, levels=[0], colors="black", linewidths=1.6)


def _points(ax, points, labels, predicted) -> None:
    size = float(np.clip(6000 / len(points), 6, 26))
    for k in range(labels.max() + 1):
        for wrong in (False, True):
            own = (labels == k) & ((predicted != labels) == wrong)
            ax.scatter(
                *points[own].T, s=size, color=colour_of(k),
                marker=_canvas.MARKERS[k % len(_canvas.MARKERS)],
                edgecolors="black" if wrong else "white",
                linewidths=1.0 if wrong else 0.3, zorder=3 if wrong else 2,
            )  # fmt: skip
    _canvas.bare(ax)


def colour_of(label: int) -> str:
    """Return the colour of a class, the same in every picture."""
    return _canvas.CLASSES[label % len(_canvas.CLASSES)]
