"""Parameter efficiency: the smallest DBN that is better than the best ReLU network.

The rules are the paper's. For each architecture the baseline is the best ReLU model of
any seed. A DBN model *qualifies* if it is strictly better, whatever its architecture and
degree; every seed is a model. The best DBN is the qualifying one with the fewest
parameters; the metric decides between equal numbers. Efficiency is
``100 (1 - parameters of the best DBN / parameters of ReLU)``, in percent.
"""

import dataclasses
from collections.abc import Sequence

from experiments.core.tables import (
    Column,
    Fields,
    Table,
    build,
    shape_name,
    shape_order,
)
from experiments.report.grid_groups import (
    RELU,
    Group,
    Metric,
    cell_name,
    degrees,
    shape_column,
    shapes,
)
from experiments.report.trained_models import Model, within
from experiments.sweep.grid import DEGREES, SEEDS, Cell


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
      untrained: DBN models of the group that are not trained, with the seeds that others
        have; each might qualify.
      final: whether the untrained models have too many parameters to change the best DBN.
        If not, the efficiency can only rise.
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
        """Parameters saved, in percent."""
        if self.best is None:
            return None
        return 100 * (1 - self.best.parameters / self.relu_parameters)


def table(models: Sequence[Model], group: Group, metric: Metric) -> list[Row]:
    """Make a row for each architecture of the paper, and for any other that was trained."""
    own = within(models, group)
    cells = [*group.cells(), *(model.cell for model in own)]
    trained = {model.cell for model in own}
    seeds = len({model.seed for model in own}) or len(SEEDS)
    missing = [
        cell
        for cell in group.cells()
        if cell.degree is not None and cell not in trained
    ]
    dbn = [model for model in own if model.cell.degree is not None]
    smallest = min((cell.parameters for cell in missing), default=0)
    return [
        _row(Cell(group.dataset, group.residual, *shape, RELU), own, dbn, metric,
             untrained=len(missing) * seeds, smallest=smallest)
        for shape in shapes(cells)
    ]  # fmt: skip


def _row(
    relu: Cell,
    own: Sequence[Model],
    dbn: Sequence[Model],
    metric: Metric,
    *,
    untrained: int,
    smallest: int,
) -> Row:
    """Judge one architecture; untrained DBN models have ``smallest`` parameters or more."""
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
        untrained=untrained,
        final=not untrained or (best is not None and best.parameters <= smallest),
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


def view(
    group: Group,
    metric: Metric,
    rows: Sequence[Row],
    paper: Sequence[Row],
) -> Table:
    """Make the table of one group by one metric."""
    short = "AUC" if metric.name == "auc" else metric.name

    def baseline(row: Row) -> tuple[str, ...]:
        return (cell_name(group, row, RELU),)

    def both(row: Row) -> tuple[str, ...]:
        best = row.best
        dbn = (cell_name(group, best, f"bernstein:{best.degree}"),) if best else ()
        return baseline(row) + dbn

    columns = [
        shape_column(group),
        Column(
            "Parameters saved", "efficiency_percent", _saved, curves=both,
            strong=lambda row: row.efficiency > 0,
        ),
        Column("Best DBN", "dbn", _best_name, curves=both),
        Column(
            "DBN parameters", "dbn_parameters", lambda row: f"{row.best.parameters:,}"
        ),
        Column(
            "ReLU parameters", "relu_parameters",
            lambda row: f"{row.relu_parameters:,}", beside=False,
        ),
        Column(
            f"ReLU {short}", "relu_value", lambda row: f"{row.relu_value:.4f}",
            curves=baseline,
        ),
        Column(
            f"DBN {short}", "dbn_value", lambda row: f"{row.best.value:.4f}", curves=both
        ),
        Column(
            "Qualifying", "qualifying_total", lambda row: f"{row.total} of {row.compared}"
        ),
        *(
            Column(f"n={n}", f"qualifying_n{n}", lambda row, n=n: str(_qualifying(row, n)))
            for n in DEGREES
        ),
    ]  # fmt: skip
    return build(
        columns,
        _EFFICIENCY,
        rows,
        paper=paper,
        trained=lambda row: row.relu_value is not None,
        name=f"efficiency-{group.name}-{metric.name}",
        title=f"Parameter efficiency: {group.title}, {metric.title}",
        caption=(
            "Baseline: the best ReLU seed of each architecture. A DBN model (any "
            f"architecture, degree and seed) qualifies if its {metric.title} is strictly "
            "better; the best DBN is the smallest that does. A saving marked ≥ can only "
            "grow: smaller DBNs are not trained yet."
        ),
        group=group,
        metric=metric.name,
    )


def _of_best(name: str):
    return lambda row: None if row.best is None else getattr(row.best, name)


def _qualifying(row: Row, degree: int) -> int | None:
    return None if row.relu_value is None else row.qualifying.get(degree, 0)


_EFFICIENCY: Fields = {
    "depth": lambda row: row.depth,
    "width": lambda row: row.width,
    "shape": shape_order,
    "relu_parameters": lambda row: row.relu_parameters,
    "relu_value": lambda row: row.relu_value,
    "qualifying_total": lambda row: None if row.relu_value is None else row.total,
    **{f"qualifying_n{n}": lambda row, n=n: _qualifying(row, n) for n in DEGREES},
    "dbn": lambda row: None if row.relu_value is None else _best_name(row),
    "dbn_parameters": _of_best("parameters"),
    "dbn_depth": _of_best("depth"),
    "dbn_width": _of_best("width"),
    "dbn_degree": _of_best("degree"),
    "dbn_value": _of_best("value"),
    "efficiency_percent": lambda row: row.efficiency,
    "final": lambda row: int(row.final),
    "dbn_models_compared": lambda row: row.compared,
    "dbn_models_untrained": lambda row: row.untrained,
}


def _best_name(row: Row) -> str:
    if row.best is None:
        return "none" if row.final else "none yet"
    return f"{shape_name(row.best)}, n={row.best.degree}"


def _saved(row: Row) -> str:
    return f"{'' if row.final else '≥ '}{row.efficiency:.1f}%"
