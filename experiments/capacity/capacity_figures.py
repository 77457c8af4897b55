"""Draw the paper's figures: boundaries, fits, residuals, activations; an animation."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import jaxbern as jb
from experiments.capacity import capacity_training
from experiments.capacity.capacity_results import Outcome
from experiments.capacity.capacity_tasks import Budget, Network

# Okabe and Ito's palette, distinguishable with any colour vision.
COLOURS = {"DBN": "#0072B2", "ReLU": "#D55E00"}
SHOWN = 400  # number of held-out points in a figure


def save(figure: Any, path: Path, dpi: int = 130) -> list[Path]:
    """Write PNG and SVG files, reproducibly."""
    written = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    with matplotlib.rc_context({"svg.hashsalt": "jaxbern"}):
        figure.savefig(written[0], dpi=dpi, metadata={"Software": None})
        figure.savefig(written[1], dpi=dpi, metadata={"Date": None})
    return written


def draw(outcome: Outcome) -> Any:
    """Draw the figure of one task, with the best seed of each network."""
    return _boundaries(outcome) if outcome.task.classification else _fits(outcome)


class Shown:
    """A trained network of one run, in the coordinates of the data."""

    def __init__(self, outcome: Outcome, network: Network, k: int, moment: int = -1):
        """Take the network of run ``k`` at the snapshot ``moment``."""
        self.network = network
        trained, points = outcome.trained[network.kind], outcome.points
        parameters = jax.tree.map(lambda a: a[k, moment], trained.history)
        self.module = capacity_training.with_parameters(
            outcome.task, network, parameters
        )
        self.mean, self.deviation = points.mean[k], points.deviation[k]
        self.value = outcome.task.show(trained.value[k])
        self.x = points.held_out_x[k] * self.deviation + self.mean
        self.y = points.held_out_y[k]

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return logits or predictions for points that are not standardised."""
        return self.module((x - self.mean[None]) / self.deviation[None])

    def hidden_inputs(self) -> np.ndarray:
        """Return the inputs of the neurons for the held-out points, ``[N, W]``."""
        standard = (self.x - self.mean) / self.deviation
        return np.asarray(self.module.hidden_inputs(jnp.asarray(standard)))

    def draw_neuron(self, axis: Any, j: int, inputs: np.ndarray | None = None) -> None:
        """Draw the activation of neuron ``j`` of a DBN."""
        act: Any = self.module.act
        lower, upper = act.interval
        jb.plot.activation(
            act.coeffs[j], lower=lower, upper=upper, inputs=inputs, ax=axis
        )


def boundary(axis: Any, shown: Shown) -> None:
    """Draw one classifier with held-out points."""
    jb.plot.decision_boundary(shown, shown.x[:SHOWN], shown.y[:SHOWN], ax=axis)
    axis.set_title(f"{shown.network}: {shown.value} held-out accuracy", fontsize=10)
    axis.set(xlabel="$x_1$", ylabel="$x_2$")


def neurons(axes: Any, shown: Shown) -> None:
    """Draw the activations of a DBN, one per axis."""
    inputs = shown.hidden_inputs()
    for j, axis in enumerate(axes):
        shown.draw_neuron(axis, j, inputs[:, j])
        axis.set_ylabel(rf"$\sigma_{j + 1}(x)$")
    axes[0].set_title("learned activation, control points, inputs", fontsize=10)


def _boundaries(outcome: Outcome) -> Any:
    task = outcome.task
    figure = _figure(13.2, 4.1)
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1, 0.95])
    best = [Shown(outcome, net, outcome.best(net)) for net in task.networks]
    for part, shown in zip((left, middle), best, strict=True):
        boundary(part.subplots(), shown)
    axes = np.atleast_1d(right.subplots(task.dbn.width, 1))
    neurons(axes, best[0])
    figure.suptitle(f"{task.title}: one hidden layer, best of {_seeds(outcome)} seeds")
    return figure


def _fits(outcome: Outcome) -> Any:
    task = outcome.task
    figure = _figure(13.2, 4.1)
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1, 0.95])
    fit, residual = left.subplots(), middle.subplots()
    best = [Shown(outcome, net, outcome.best(net)) for net in task.networks]
    x = np.linspace(best[0].x.min(), best[0].x.max(), 500)[:, None]
    y = task.true_values(x[:, 0])
    fit.plot(x, y, color="black", linewidth=4, alpha=0.25, label="target")
    residual.axhline(0, color="black", linewidth=0.8)
    for shown, line in zip(best, ("-", "--"), strict=True):
        colour = COLOURS[shown.network.kind]
        found = np.asarray(shown(jnp.asarray(x, jnp.float32)))[:, 0]
        label = f"{shown.network}: MSE {shown.value}"
        fit.plot(x, found, line, color=colour, label=label)
        residual.plot(x, found - y, line, color=colour, label=label)
    fit.set_title("fit", fontsize=10)
    fit.legend(frameon=False, fontsize=8)
    residual.set_title("residual: network - target", fontsize=10)
    for axis in (fit, residual):
        axis.set_xlabel("x")
        axis.spines[["top", "right"]].set_visible(False)
    neurons(np.atleast_1d(right.subplots(task.dbn.width, 1)), best[0])
    figure.suptitle(f"{task.title}: one hidden layer, best of {_seeds(outcome)} seeds")
    return figure


def draw_seeds(outcomes: list[Outcome]) -> Any:
    """Draw every seed of every task, with the paper's figure and the target."""
    figure = _figure(2.7 * len(outcomes), 3.6)
    for axis, outcome in zip(
        np.atleast_1d(figure.subplots(1, len(outcomes))), outcomes, strict=True
    ):
        _strip(axis, outcome)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _strip(axis: Any, outcome: Outcome) -> None:
    task = outcome.task
    for place, network in enumerate(task.networks):
        values = outcome.values(network)
        spread = np.linspace(-0.28, 0.28, len(values))
        colour = COLOURS[network.kind]
        marker = "o" if place == 0 else "^"
        axis.plot(place + spread, values, marker, color=colour, markersize=4, alpha=0.8)
        axis.plot(
            place, network.paper, "*", color="black", markersize=12,
            label="paper" if place == 0 else None,
        )  # fmt: skip
        axis.hlines(
            np.median(values), place - 0.35, place + 0.35, color=colour, linewidth=2,
            label="median of the seeds" if place == 0 else None,
        )  # fmt: skip
    axis.axhline(
        task.target, color="#009E73", linestyle="--", linewidth=1, label="target of DBN"
    )
    axis.set_xticks([0, 1], [str(net).replace(" ", "\n", 1) for net in task.networks])
    axis.set_xlim(-0.6, 1.6)
    axis.set_title(task.title, fontsize=10)
    axis.set_ylabel("accuracy, %" if task.classification else "MSE", fontsize=8)
    if not task.classification:
        axis.set_yscale("log")
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _seeds(outcome: Outcome) -> int:
    return len(outcome.of(""))


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_xor(outcome: Outcome) -> Any:
    """Draw the README's picture: one Bernstein neuron solves XOR, one ReLU neuron cannot."""
    task = outcome.task
    figure = _figure(9.6, 3.4)
    axes = figure.subplots(1, 3)
    best = [Shown(outcome, net, outcome.best(net)) for net in task.networks]
    names = ("one Bernstein neuron: {:g}%", "one ReLU neuron: {:g}% (dark: wrong)")
    for axis, shown, name in zip(axes, best, names, strict=False):
        jb.plot.decision_boundary(shown, shown.x[:240], shown.y[:240], ax=axis)
        axis.set_title(name.format(float(shown.value.rstrip("%"))), fontsize=11)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    best[0].draw_neuron(axes[2], 0)
    axes[2].set_title("its learned activation, control points", fontsize=11)
    return figure


MILLISECONDS = 110
LAST = 2500  # milliseconds that the last frame stays


def write(outcome: Outcome, path: Path, budget: Budget) -> None:
    """Write the training of the best DBN of a classification task as a GIF."""
    network = outcome.task.dbn
    k = outcome.best(network)
    snapshots = _length(outcome)
    pictures = []
    for moment in _moments(snapshots, budget.frames):
        shown = Shown(outcome, network, k, moment)
        step = (moment + 1) * budget.steps // snapshots
        pictures.append(_frame(shown, f"{outcome.task.title}, {network}: step {step}"))
    durations = [MILLISECONDS] * (len(pictures) - 1) + [LAST]
    # One palette for all frames, taken from the last, avoids flicker.
    palette = pictures[-1].quantize(96)
    indexed = [picture.quantize(palette=palette, dither=0) for picture in pictures]
    indexed[0].save(
        path, save_all=True, append_images=indexed[1:], duration=durations, loop=0
    )


def _length(outcome: Outcome) -> int:
    return outcome.trained["DBN"].history["first"]["bias"].get_value().shape[1]


def _moments(snapshots: int, frames: int) -> list[int]:
    """Choose snapshots for the frames, denser in the beginning, where most happens."""
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
