"""The choices that are varied, one at a time, and the networks."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import jaxbern as jb
from experiments.report.grid_groups import RELU
from experiments.sweep.grid import Cell


@dataclasses.dataclass(frozen=True)
class Setting:
    """One choice that differs from the default.

    Attributes:
      question: what is chosen.
      label: shown to readers.
      network: options of ``NetworkConfig`` that differ.
      training: options of ``TrainConfig`` that differ.
    """

    question: str
    label: str
    network: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Unique name, usable as the name of a directory.

        >>> interval(2).name, coeff_decay(0.01).name, DEFAULT.name
        ('interval-2', 'decay-0.01', 'default')
        """
        choice = self.label.partition(" ")[0].lstrip("±")
        return f"{self.question}-{choice}" if self.question else choice


DEFAULT = Setting("", "default")
INTERVAL, INIT, DECAY, SHAPE = "interval", "initialisation", "decay", "shape"


def interval(end: float) -> Setting:
    """Put polynomials on ``[-end, end]``."""
    return Setting(INTERVAL, f"±{end:g}", {"lower": -end, "upper": end})


def init(name: str) -> Setting:
    """Start coefficients by one of :mod:`jaxbern.initializers`."""
    return Setting(INIT, name, {"init": name})


def coeff_decay(decay: float) -> Setting:
    """Give coefficients their own weight decay."""
    return Setting(DECAY, f"{decay:g}", training={"coeff_decay": decay})


MONOTONE = Setting(SHAPE, "monotone", {"monotone": True})
CHOICES = {
    INTERVAL: "interval",
    INIT: "initialisation",
    DECAY: "decay of coefficients",
    SHAPE: "shape",
}
# What the default is called among the answers to each question.
DEFAULT_LABELS = {INTERVAL: "±3", INIT: "smooth", DECAY: "0.0001", SHAPE: "free"}


class Settings(Protocol):
    """Interface of a study: settings, and the cells of each."""

    @property
    def every_setting(self) -> tuple[Setting, ...]:
        """All of them, in the order of training."""
        ...

    def cells(self, setting: Setting) -> list[Cell]:
        """Return the networks to train under a setting."""
        ...

    def config(self, setting: Setting, cell: Cell) -> jb.train.TrainConfig:
        """Return the configuration of one training."""
        ...


@dataclasses.dataclass(frozen=True)
class Study:
    """A study: settings, networks and training options.

    Attributes:
      shapes: depth and width of residual networks.
      degrees: of the polynomials.
      init_degrees: those for the initialisation, which matters more as they grow.
      settings: besides the default.
      rows: maximum number of events.
      training: options of ``TrainConfig`` for all of them.
    """

    shapes: tuple[tuple[int, int], ...] = ((5, 16), (15, 16))
    degrees: tuple[int, ...] = (3, 9)
    init_degrees: tuple[int, ...] = (3, 9, 25)
    settings: tuple[Setting, ...] = (
        *map(interval, (2.0, 4.0, 6.0)),
        *map(init, ("normal", "relu", "ramp", "identity")),
        *map(coeff_decay, (0.0, 1e-2, 1.0)),
        MONOTONE,
    )
    rows: int = 40_000
    # 32 whole batches: a last one of another size would be a program of its own.
    training: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {
            "epochs": 15,
            "batch_size": 1000,
            "learning_rate": 3e-3,
        }
    )

    @property
    def every_setting(self) -> tuple[Setting, ...]:
        """The default first."""
        return (DEFAULT, *self.settings)

    def cells(self, setting: Setting) -> list[Cell]:
        """Return the networks of a setting; the default includes ReLU."""
        degrees = self.degrees if setting.question in _FEW else self.init_degrees
        found = [
            Cell("higgs", True, *shape, f"bernstein:{degree}")
            for shape in self.shapes
            for degree in degrees
        ]
        if setting == DEFAULT:
            found += [Cell("higgs", True, *shape, RELU) for shape in self.shapes]
        return found

    def config(self, setting: Setting, cell: Cell) -> jb.train.TrainConfig:
        """Return the configuration of a cell under a setting."""
        network = dataclasses.replace(cell.network, **setting.network)
        return jb.train.TrainConfig(network, **self.training, **setting.training)


_FEW = (INTERVAL, DECAY, SHAPE)
QUICK = Study(
    shapes=((2, 4),),
    degrees=(2,),
    init_degrees=(2,),
    settings=(interval(2.0), init("normal"), coeff_decay(1.0), MONOTONE),
    rows=500,
    training={"epochs": 2, "batch_size": 100, "seeds": (0, 1)},
)
