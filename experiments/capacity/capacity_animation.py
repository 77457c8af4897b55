"""A boundary and its activation, forming."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import jaxbern as jb
from experiments.capacity.capacity_figures import Shown
from experiments.capacity.capacity_results import Outcome
from experiments.capacity.capacity_tasks import Budget

MILLISECONDS = 110
LAST = 2500  # how long the finished picture stays


def write(outcome: Outcome, path: Path, budget: Budget) -> None:
    """The best DBN of a classification task, as a GIF that repeats."""
    network = outcome.task.dbn
    k = outcome.best(network)
    snapshots = _length(outcome)
    pictures = []
    for moment in _moments(snapshots, budget.frames):
        shown = Shown(outcome, network, k, moment)
        step = (moment + 1) * budget.steps // snapshots
        pictures.append(_frame(shown, f"{outcome.task.title}, {network}: step {step}"))
    durations = [MILLISECONDS] * (len(pictures) - 1) + [LAST]
    # One palette for all, taken from the last: colours do not flicker.
    palette = pictures[-1].quantize(96)
    indexed = [picture.quantize(palette=palette, dither=0) for picture in pictures]
    indexed[0].save(
        path, save_all=True, append_images=indexed[1:], duration=durations, loop=0
    )


def _length(outcome: Outcome) -> int:
    return outcome.trained["DBN"].history["first"]["bias"].get_value().shape[1]


def _moments(snapshots: int, frames: int) -> list[int]:
    """Close to one another in the beginning, where most happens."""
    spread = np.geomspace(1, snapshots, min(frames, snapshots)).round().astype(int)
    return (np.unique(spread) - 1).tolist()


def _frame(shown: Shown, title: str) -> Any:
    figure = Figure(figsize=(7.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    jb.plot.decision_boundary(
        shown, shown.x[:200], shown.y[:200], resolution=90, ax=left
    )
    left.set(xlabel="$x_1$", ylabel="$x_2$", title="what it decides")
    shown.draw_neuron(right, 0)
    right.set(xlabel="x", title=r"activation $\sigma(x)$ and control points")
    figure.suptitle(title)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
