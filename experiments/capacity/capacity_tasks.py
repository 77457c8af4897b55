"""The tasks: data sets, networks, and the figures that the paper reports.

The five data sets are drawn with NumPy from a seed.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Sample = tuple[np.ndarray, np.ndarray]


def xor_blobs(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Four Gaussian blobs on the corners of a square of side 2, opposite ones one class.

    ``noise`` is the standard deviation of a blob, ``geometry`` turns the square by this many
    degrees.
    """
    corner = np.arange(points) % 4
    centre = np.stack([1.0 - 2.0 * (corner % 2), 1.0 - 2.0 * (corner // 2)], axis=1)
    x = centre + noise * rng.standard_normal((points, 2))
    turn = np.deg2rad(geometry)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return x @ rotation, (centre[:, 0] * centre[:, 1] > 0).astype(np.int32)


def two_moons(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Two half circles of radius 1, one upside down and moved into the other.

    ``noise`` is the standard deviation of both coordinates, ``geometry`` how far the second
    moon reaches up into the first (0.5 is the usual drawing).
    """
    label = np.arange(points) % 2
    angle = np.pi * rng.random(points)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), geometry - np.sin(angle)], axis=1)
    x = np.where(label[:, None] == 0, upper, lower)
    return x + noise * rng.standard_normal((points, 2)), label.astype(np.int32)


def sinusoidal_bands(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """Above or below ``sin(x_1)``, uniform on ``[-pi g, pi g] x [-2, 2]``.

    ``geometry`` is ``g``, the number of periods. ``noise`` is the standard deviation of what
    is added to ``x_2`` after the class is known: points near the curve may end up on the
    wrong side.
    """
    x = rng.uniform(-1, 1, (points, 2)) * [np.pi * geometry, 2.0]
    label = x[:, 1] > np.sin(x[:, 0])
    x[:, 1] += noise * rng.standard_normal(points)
    return x, label.astype(np.int32)


def damped_oscillator(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """``exp(-0.25 x) cos(x)``, uniform on ``[0, geometry]``; ``noise`` is added to it."""
    x = rng.uniform(0, geometry, (points, 1))
    y = oscillator(x[:, 0])
    return x, y + noise * rng.standard_normal(points)


def gaussian_sine(
    rng: np.random.Generator, points: int, noise: float, geometry: float
) -> Sample:
    """``exp(-x^2) sin(5 x)``, uniform on ``[-geometry, geometry]``; ``noise`` is added."""
    x = rng.uniform(-geometry, geometry, (points, 1))
    y = windowed_sine(x[:, 0])
    return x, y + noise * rng.standard_normal(points)


def oscillator(x: np.ndarray) -> np.ndarray:
    """Return the target of ``damped_oscillator``."""
    return np.exp(-0.25 * x) * np.cos(x)


def windowed_sine(x: np.ndarray) -> np.ndarray:
    """Return the target of ``gaussian_sine``."""
    return np.exp(-np.square(x)) * np.sin(5 * x)


HELD_OUT = 2000  # number of held-out points
FASTER = "learning rate x 3"  # the variant that shows which trainings were too slow
INTERVAL = (-3.0, 3.0)  # of the Bernstein activations, the library's default


@dataclass(frozen=True)
class Setting:
    """The options of a training that the paper leaves open and we vary."""

    noise: float
    geometry: float
    points: int = 400
    learning_rate: float = 2e-2


@dataclass(frozen=True)
class Budget:
    """The amount of training."""

    seeds: int = 32
    seeds_of_variants: int = 8  # 0 leaves the variants out
    steps: int = 4000
    snapshots: int = 100  # of the parameters, at equal intervals
    frames: int = 36  # maximum number of frames of the animation
    batchnorm: bool = True  # whether to train a few seeds again with BatchNorm

    def __post_init__(self):
        """Raise unless the snapshots divide the steps."""
        if self.steps % self.snapshots:
            raise ValueError(
                f"steps must be a multiple of snapshots, got {self.steps} and "
                f"{self.snapshots}"
            )


# The results alone, without studies of what changes them.
RESULTS = Budget(seeds_of_variants=0, frames=12, batchnorm=False)
QUICK = Budget(
    seeds=4, seeds_of_variants=1, steps=300, snapshots=30, frames=4, batchnorm=False
)


@dataclass(frozen=True)
class Network:
    """One hidden layer; ``degree`` is None for ReLU."""

    width: int
    degree: int | None
    paper: float  # the figure that the paper reports

    @property
    def kind(self) -> str:
        """``"DBN"`` or ``"ReLU"``."""
        return "ReLU" if self.degree is None else "DBN"

    def __str__(self) -> str:
        """Format as ``DBN W=1 n=3``."""
        degree = "" if self.degree is None else f" n={self.degree}"
        return f"{self.kind} W={self.width}{degree}"


@dataclass(frozen=True)
class Task:
    """A data set and the two networks that learn it.

    Attributes:
      classification: whether to learn two classes (accuracy) or a function (MSE).
      target: what the best DBN must reach.
      base: setting of the main table; ``variants`` are those of the sensitivity table.
      formula: formula of the function to fit.
    """

    name: str
    title: str
    draw: Callable[[np.random.Generator, int, float, float], Sample]
    dbn: Network
    relu: Network
    target: float
    base: Setting
    variants: dict[str, Setting]
    formula: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def classification(self) -> bool:
        """Whether the targets are classes."""
        return self.formula is None

    @property
    def networks(self) -> tuple[Network, Network]:
        """The DBN, then ReLU."""
        return self.dbn, self.relu

    @property
    def features(self) -> int:
        """Number of input coordinates."""
        return 2 if self.classification else 1

    @property
    def outputs(self) -> int:
        """Number of outputs: two logits, or one value."""
        return 2 if self.classification else 1

    def true_values(self, x: np.ndarray) -> np.ndarray:
        """Evaluate the function to fit at ``x``."""
        if self.formula is None:
            raise ValueError(f"{self.name} is a classification and has no function")
        return self.formula(x)

    def reached(self, values: np.ndarray) -> np.ndarray:
        """Return which of the values reach the target."""
        return values >= self.target if self.classification else values <= self.target

    def best(self, values: np.ndarray) -> int:
        """Return the index of the best value; the first of equal ones."""
        return int(np.argmax(values) if self.classification else np.argmin(values))

    def show(self, value: float) -> str:
        """Format a score as ``99.85%`` or ``2.6e-04``."""
        return f"{value:.2f}%" if self.classification else f"{value:.2e}"


def _varied(base: Setting, noise: dict[str, float], geometry: dict[str, float]):
    """Return variants of the base with one option changed at a time."""
    changes = {name: {"noise": value} for name, value in noise.items()}
    changes |= {name: {"geometry": value} for name, value in geometry.items()}
    changes |= {
        "half the points": {"points": base.points // 2},
        "a quarter of the points": {"points": base.points // 4},
        "learning rate / 3": {"learning_rate": base.learning_rate / 3},
        FASTER: {"learning_rate": base.learning_rate * 3},
    }
    return {
        name: dataclasses.replace(base, **change) for name, change in changes.items()
    }


def _classification(name, title, draw, base, dbn, relu, target, geometry) -> Task:
    noise = {"half the noise": base.noise / 2, "twice the noise": base.noise * 2}
    variants = _varied(base, noise, geometry)
    return Task(name, title, draw, dbn, relu, target, base, variants)


def _regression(name, title, draw, base, dbn, relu, target, geometry, formula) -> Task:
    noise = {"noise 0.02": 0.02, "noise 0.05": 0.05}
    variants = _varied(base, noise, geometry)
    return Task(name, title, draw, dbn, relu, target, base, variants, formula)


TASKS = (
    _classification(
        "xor_blobs", "XOR blobs", xor_blobs, Setting(noise=0.15, geometry=0.0),
        Network(1, 3, 100.0), Network(1, None, 76.5), 100.0,
        {"turned by 20 degrees": 20.0, "turned by 45 degrees": 45.0},
    ),
    _classification(
        "two_moons", "Two moons", two_moons, Setting(noise=0.1, geometry=0.5),
        Network(2, 3, 100.0), Network(2, None, 90.8), 99.9,
        {"moons further apart": 0.35, "moons closer": 0.65},
    ),
    _classification(
        "sinusoidal_bands", "Sinusoidal bands", sinusoidal_bands,
        Setting(noise=0.05, geometry=1.0),
        Network(2, 5, 96.0), Network(2, None, 91.8), 97.0,
        {"0.75 periods": 0.75, "1.25 periods": 1.25},
    ),
    _regression(
        "damped_oscillator", "Damped oscillator", damped_oscillator,
        Setting(noise=0.0, geometry=10.0),
        Network(1, 7, 2.59e-4), Network(4, None, 4.45e-3), 2e-4,
        {"x in [0, 8]": 8.0, "x in [0, 4 pi]": 4 * np.pi}, oscillator,
    ),
    _regression(
        "gaussian_sine", "Gaussian sine", gaussian_sine,
        Setting(noise=0.0, geometry=3.0),
        Network(2, 7, 4.14e-3), Network(4, None, 5.58e-2), 3e-3,
        {"x in [-2, 2]": 2.0, "x in [-4, 4]": 4.0}, windowed_sine,
    ),
)  # fmt: skip
