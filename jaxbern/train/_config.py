"""``TrainConfig``: all options that determine the result of a training."""

import dataclasses
import json
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from jaxbern.data import Dataset, Split, split
from jaxbern.nn import NetworkConfig
from jaxbern.train import _schedule

_LARGEST_SEED = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Options of a training, as plain values.

    The defaults are the paper's. Devices and directories are not included, because they do
    not change the result.

    Attributes:
      network: options of the network, as for :class:`jaxbern.MLP`, with two logits.
      seeds: one training per seed, all at once. A seed determines the split, the initial
        parameters and the order of the rows.
      epochs: maximum number of epochs.
      batch_size: rows per step. The last step of an epoch takes the remaining rows, as in
        PyTorch; a single remaining row is left out, as BatchNorm needs two.
      learning_rate: initial learning rate of AdamW.
      weight_decay: weight decay of AdamW.
      coeff_decay: weight decay of the Bernstein coefficients; None, the paper's choice,
        uses ``weight_decay``. Other activations have no coefficients.
      schedule: ``"plateau"``, the paper's: the learning rate is cut when the validation AUC
        does not improve; or ``"cosine"``: it falls to zero over ``epochs`` as half a cosine,
        changing once per epoch.
      warmup_epochs: epochs over which a ``"cosine"`` schedule first rises in equal steps.
      plateau_factor: factor of the learning rate when the validation AUC does not
        improve; the rule is that of :func:`jaxbern.optim.reduce_on_plateau`.
      plateau_patience: number of epochs without improvement tolerated before a cut.
      plateau_threshold: an AUC is better if above ``best * (1 + plateau_threshold)``.
      plateau_start: first epoch, counted from 0, whose AUC the rule uses.
      stop_patience: a seed stops after this many consecutive epochs without improvement.
      stop_improvement: an improvement is an AUC above ``reference + stop_improvement``,
        where the reference is the AUC of the last improvement (of the first epoch, to
        begin with), not the highest AUC.
      test_fraction: fraction of the rows used for validation.
      eval_rows: rows per validation batch; only memory depends on it.

    >>> config = TrainConfig(NetworkConfig(28, 5, 16, degree=3), seeds=(0, 1))
    >>> TrainConfig.from_json(config.to_json()) == config
    True
    """

    network: NetworkConfig
    seeds: tuple[int, ...] = (0, 1, 2)
    epochs: int = 100
    batch_size: int = 16_384
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    coeff_decay: float | None = None
    schedule: str = _schedule.PLATEAU
    warmup_epochs: int = 0
    plateau_factor: float = 0.5
    plateau_patience: int = 10
    plateau_threshold: float = 1e-4
    plateau_start: int = 5
    stop_patience: int = 15
    stop_improvement: float = 1e-3
    test_fraction: float = 0.2
    eval_rows: int = 65_536

    def __post_init__(self):
        """Validate the options before anything is loaded or compiled."""
        if not isinstance(self.network, NetworkConfig):
            raise TypeError(
                "network must be a NetworkConfig, such as jb.train.NetworkConfig(28, "
                f"depth=5, width=16), got {self.network!r}"
            )
        if self.network.out_features != 2:
            raise ValueError(
                "network must have out_features=2, signal against background, got "
                f"{self.network.out_features}"
            )
        if self.network.init == "custom":
            raise ValueError(
                "network.init must be a name, such as 'smooth': a function cannot be "
                "written to a checkpoint"
            )
        object.__setattr__(self, "seeds", _seeds(self.seeds))
        for name, least in _INTEGERS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral):
                raise TypeError(f"{name} must be an int, got {value!r}")
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
            object.__setattr__(self, name, int(value))
        for name, (low, high) in _NUMBERS.items():
            value = getattr(self, name)
            if value is None and name == "coeff_decay":
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"{name} must be a number, got {value!r}")
            value = float(value)
            if not (low <= value < high):  # NaN fails as well
                raise ValueError(
                    f"{name} must be at least {low:g} and below {high:g}, got {value}"
                )
            object.__setattr__(self, name, value)
        if self.schedule not in _schedule.SCHEDULES:
            raise ValueError(
                f"schedule must be one of {', '.join(_schedule.SCHEDULES)}, got "
                f"{self.schedule!r}"
            )
        if self.warmup_epochs and self.schedule != _schedule.COSINE:
            raise ValueError(
                'warmup_epochs is for schedule="cosine"; write warmup_epochs=0 or that '
                f"schedule, got warmup_epochs={self.warmup_epochs}"
            )
        if self.warmup_epochs >= self.epochs:
            raise ValueError(
                f"warmup_epochs must be below epochs={self.epochs}, got "
                f"{self.warmup_epochs}"
            )
        if self.test_fraction == 0:
            raise ValueError(
                "test_fraction must be above 0: an AUC is taken each epoch"
            )

    def to_dict(self) -> dict[str, Any]:
        """Convert to numbers, strings, lists and dictionaries that JSON can represent."""
        options = {**dataclasses.asdict(self), "seeds": list(self.seeds)}
        options["network"] = self.network.to_dict()
        # Options that older versions did not write, at their defaults.
        for name, default in _NEWER.items():
            if options[name] == default:
                del options[name]
        return options

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> "TrainConfig":
        """Build a configuration from the result of :meth:`to_dict`."""
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(options) - known):
            raise ValueError(
                f"TrainConfig has no {', '.join(unknown)}; it has {', '.join(known)}"
            )
        arguments: dict[str, Any] = dict(options)
        arguments["network"] = NetworkConfig(**arguments["network"])
        return cls(**arguments)

    def to_json(self) -> str:
        """Convert to JSON with one line per option."""
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "TrainConfig":
        """Build a configuration from the result of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


_NEWER = {"coeff_decay": None, "schedule": _schedule.PLATEAU, "warmup_epochs": 0}
# name: the smallest value
_INTEGERS = {
    "epochs": 1,
    "warmup_epochs": 0,
    "batch_size": 2,  # the variance of one row is zero
    "plateau_patience": 0,
    "plateau_start": 0,
    "stop_patience": 1,
    "eval_rows": 1,
}
# name: the smallest value, the first that is too large
_NUMBERS = {
    "learning_rate": (0, math.inf),
    "weight_decay": (0, math.inf),
    "coeff_decay": (0, math.inf),
    "plateau_factor": (0, 1),
    "plateau_threshold": (0, math.inf),
    "stop_improvement": (0, math.inf),
    "test_fraction": (0, 1),
}


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, str) or not isinstance(seeds, Sequence):
        raise TypeError(f"seeds must be integers, such as (0, 1, 2), got {seeds!r}")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
            raise TypeError(f"seeds must be integers, such as (0, 1, 2), got {seeds!r}")
    found = tuple(int(seed) for seed in seeds)
    if not found or len(set(found)) < len(found):
        raise ValueError(f"seeds must be at least one and different, got {seeds!r}")
    if min(found) < 0 or max(found) > _LARGEST_SEED:
        raise ValueError(f"seeds must be between 0 and {_LARGEST_SEED}, got {seeds!r}")
    return found


def checked_split(config: TrainConfig, data: Dataset) -> Split:
    """Return the rows of each seed; raise if this network cannot be trained on the data.

    ``jb.data.split`` refuses data of a single class, too few events, and non-finite
    features.
    """
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data must be a jb.data.Dataset, got {type(data).__name__}; for arrays "
            'write jb.data.Dataset.from_arrays("name", x, y, columns)'
        )
    features = data.x.shape[1]
    if features != config.network.in_features:
        raise ValueError(
            f"the network takes in_features={config.network.in_features}, but "
            f"{data.name!r} has {features} features; write NetworkConfig({features}, ...)"
        )
    rows = split(data, config.seeds, test_fraction=config.test_fraction)
    count = rows.train.shape[1]
    if config.batch_size > count:
        raise ValueError(
            f"batch_size must be at most {count:,}, the training rows that test_fraction="
            f"{config.test_fraction:g} leaves of {len(data):,}, got "
            f"{config.batch_size:,}; write batch_size={count}"
        )
    return rows
