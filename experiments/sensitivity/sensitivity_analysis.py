"""Effects of a setting, as pure functions of the results."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from experiments.report.grid_groups import METRICS, RELU
from experiments.report.trained_models import diverged, models
from experiments.sensitivity.sensitivity_study import DEFAULT, Setting
from experiments.sweep.cell_record import CellResult
from experiments.sweep.grid import Cell

Seeds = Mapping[int, float]  # a number for each seed


@dataclasses.dataclass(frozen=True)
class Change:
    """One metric of one network under a setting.

    Attributes:
      metric: ``"auc"`` or ``"loss"``.
      values: of each seed.
      default: of each seed, by default.
      relu: of each seed, with ReLU.
    """

    metric: str
    values: Seeds
    default: Seeds
    relu: Seeds

    @property
    def median(self) -> float:
        """Median over the seeds."""
        return statistics.median(self.values.values())

    @property
    def spread(self) -> float:
        """Highest minus lowest over the seeds."""
        return max(self.values.values()) - min(self.values.values())

    @property
    def change(self) -> float:
        """Change of the median against the default."""
        return self.median - statistics.median(self.default.values())

    @property
    def by_seed(self) -> list[float]:
        """The change of each seed: it has the same events for validation in both."""
        common = sorted(self.values.keys() & self.default.keys())
        return [self.values[seed] - self.default[seed] for seed in common]

    @property
    def verdict(self) -> str:
        """``"better"`` or ``"worse"`` if that holds for every seed, else ``"mixed"``."""
        better = METRICS[self.metric].better
        if all(better(change, 0.0) for change in self.by_seed):
            return "better"
        if all(better(0.0, change) for change in self.by_seed):
            return "worse"
        return "mixed"

    @property
    def margin(self) -> float:
        """The median minus ReLU's."""
        return self.median - statistics.median(self.relu.values())

    @property
    def beats_relu(self) -> bool:
        """Whether the median is better than ReLU's."""
        return METRICS[self.metric].better(self.margin, 0.0)

    @property
    def beat_relu(self) -> bool:
        """Whether it is by default."""
        plain = dataclasses.replace(self, values=self.default)
        return plain.beats_relu


@dataclasses.dataclass(frozen=True)
class Compared:
    """One network under a setting.

    Attributes:
      setting: which.
      cell: the network.
      auc: the highest validation AUC.
      loss: the training loss of the last epoch.
      diverged: how many seeds produced a non-finite loss or gradient.
    """

    setting: Setting
    cell: Cell
    auc: Change
    loss: Change
    diverged: int = 0

    @property
    def network(self) -> str:
        """Name of the network, such as "15×16 n=9"."""
        return f"{self.cell.depth}×{self.cell.width} n={self.cell.degree}"


def compare(
    settings: Sequence[Setting], results: Mapping[str, Sequence[CellResult]]
) -> list[Compared]:
    """Compare every network under every setting, the default first.

    Networks without a number, because no seed completed an epoch, are left out.
    """
    numbers = {name: _numbers(own) for name, own in results.items()}
    default, found = numbers[DEFAULT.name], []
    for setting in (DEFAULT, *settings):
        own = numbers[setting.name]
        lost = [cell for cell, _ in diverged(results[setting.name])]
        for cell in sorted(own, key=lambda c: (c.depth, c.width, c.degree or 0)):
            relu = dataclasses.replace(cell, activation=RELU)
            if cell.degree is None or relu not in default or cell not in default:
                continue
            changes = {
                metric: Change(metric, *(part[metric] for part in parts))
                for metric in METRICS
                for parts in [(own[cell], default[cell], default[relu])]
            }
            found.append(Compared(setting, cell, **changes, diverged=lost.count(cell)))
    return found


def _numbers(results: Sequence[CellResult]) -> dict[Cell, dict[str, dict[int, float]]]:
    found: dict[Cell, dict[str, dict[int, float]]] = {}
    for model in models(results):
        own = found.setdefault(model.cell, {metric: {} for metric in METRICS})
        for metric in METRICS:
            own[metric][model.seed] = getattr(model, metric)
    return found


@dataclasses.dataclass(frozen=True)
class Summary:
    """One metric of one setting, over its networks."""

    changes: tuple[Change, ...]

    @classmethod
    def of(cls, own: Sequence[Compared], metric: str) -> "Summary":
        """Summarise the networks of one setting."""
        return cls(tuple(getattr(each, metric) for each in own))

    @property
    def median(self) -> float:
        """Median of the networks' changes."""
        return statistics.median(change.change for change in self.changes)

    @property
    def lowest(self) -> float:
        """Lowest of these changes."""
        return min(change.change for change in self.changes)

    @property
    def highest(self) -> float:
        """Highest of these changes."""
        return max(change.change for change in self.changes)

    @property
    def spread(self) -> float:
        """Spread of the seeds of a network; the median over the networks."""
        return statistics.median(change.spread for change in self.changes)

    def count(self, verdict: str) -> int:
        """Networks that are better, or worse, for every seed."""
        return sum(change.verdict == verdict for change in self.changes)

    @property
    def wins(self) -> int:
        """Networks that beat ReLU."""
        return sum(change.beats_relu for change in self.changes)

    @property
    def survives(self) -> bool:
        """Whether every network that beats ReLU by default still does."""
        return all(c.beats_relu for c in self.changes if c.beat_relu)
