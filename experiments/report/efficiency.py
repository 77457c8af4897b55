"""Parameter efficiency: the smallest DBN that is better than the best ReLU network.

The rules are the paper's. For each architecture the baseline is the best ReLU model of
any seed. A DBN model *qualifies* if it is strictly better, whatever its architecture and
degree; every seed is a model. The best DBN is the qualifying one with the fewest
parameters, and of those with as many the one with the best metric. Efficiency is
``100 (1 - parameters of the best DBN / parameters of ReLU)``, in percent.
"""

import dataclasses
from collections.abc import Sequence

from experiments.report.grid_groups import RELU, Group, Metric, degrees, shapes
from experiments.report.trained_models import Model, within
from experiments.sweep.grid import SEEDS, Cell


@dataclasses.dataclass(frozen=True)
class Best:
    """The smallest DBN that qualifies."""

    parameters: int
    depth: int
    width: int
    degree: int
    value: float


@dataclasses.dataclass(frozen=True)
class Row:
    """One architecture.

    Attributes:
      depth, width: of the ReLU baseline.
      relu_parameters: how many it has.
      relu_value: the metric of its best seed; None if it is not trained.
      qualifying: how many DBN models are better, for each degree.
      best: the smallest of them; None if there is none.
      compared: DBN models of the group that are trained.
      untrained: DBN models of the group that are not trained; each might qualify.
      final: whether those could not change the best DBN, having more parameters. If not,
        the efficiency can only become higher.
    """

    depth: int
    width: int
    relu_parameters: int
    relu_value: float | None
    qualifying: dict[int, int]
    best: Best | None
    compared: int
    untrained: int = 0
    final: bool = True

    @property
    def total(self) -> int:
        """Qualifying models of all degrees."""
        return sum(self.qualifying.values())

    @property
    def efficiency(self) -> float | None:
        """In percent."""
        if self.best is None:
            return None
        return 100 * (1 - self.best.parameters / self.relu_parameters)


def table(models: Sequence[Model], group: Group, metric: Metric) -> list[Row]:
    """A row for each architecture of the paper, and for any other that was trained."""
    own = within(models, group)
    cells = [*group.cells(), *(model.cell for model in own)]
    trained = {model.cell for model in own}
    missing = [
        cell
        for cell in group.cells()
        if cell.degree is not None and cell not in trained
    ]
    dbn = [model for model in own if model.cell.degree is not None]
    smallest = min((cell.parameters for cell in missing), default=0)
    return [
        _row(Cell(group.dataset, group.residual, *shape, RELU), own, dbn, metric,
             missing=len(missing), smallest=smallest)
        for shape in shapes(cells)
    ]  # fmt: skip


def _row(
    relu: Cell,
    own: Sequence[Model],
    dbn: Sequence[Model],
    metric: Metric,
    *,
    missing: int,
    smallest: int,
) -> Row:
    """With so many DBN cells missing, of which the smallest has so many parameters."""
    values = [getattr(m, metric.name) for m in own if m.cell == relu]
    values = [value for value in values if value == value]  # an AUC may be NaN
    baseline = metric.best(values) if values else None
    better = [
        model
        for model in dbn
        if baseline is not None and metric.better(getattr(model, metric.name), baseline)
    ]
    counts = {
        degree: sum(model.cell.degree == degree for model in better)
        for degree in degrees(model.cell for model in dbn)
    }
    best = _best(better, metric)
    return Row(
        depth=relu.depth,
        width=relu.width,
        relu_parameters=relu.parameters,
        relu_value=baseline,
        qualifying=counts,
        best=best,
        compared=len(dbn),
        untrained=missing * len(SEEDS),
        final=not missing or (best is not None and best.parameters <= smallest),
    )


def _best(better: Sequence[Model], metric: Metric) -> Best | None:
    if not better:
        return None

    def rank(model: Model) -> tuple[int, float]:
        value = getattr(model, metric.name)
        return model.parameters, -value if metric.higher else value

    best = min(better, key=rank)
    cell = best.cell
    assert cell.degree is not None
    return Best(
        parameters=best.parameters,
        depth=cell.depth,
        width=cell.width,
        degree=cell.degree,
        value=getattr(best, metric.name),
    )
