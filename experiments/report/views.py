"""Parameter efficiency and convergence as tables."""

from collections.abc import Sequence

from experiments.core.tables import (
    Column,
    Fields,
    Table,
    build,
    shape_name,
    shape_order,
)
from experiments.report import convergence, efficiency
from experiments.report.grid_groups import RELU, Group, Metric
from experiments.sweep.grid import DEGREES, Cell

NEVER = "--"


def efficiency_view(
    group: Group,
    metric: Metric,
    rows: Sequence[efficiency.Row],
    paper: Sequence[efficiency.Row],
) -> Table:
    """Parameter efficiency of one group by one metric."""
    short = "AUC" if metric.name == "auc" else metric.name

    def baseline(row: efficiency.Row) -> tuple[str, ...]:
        return (_name(group, row, RELU),)

    def both(row: efficiency.Row) -> tuple[str, ...]:
        best = row.best
        dbn = (_name(group, best, f"bernstein:{best.degree}"),) if best else ()
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


def _best(name: str):
    return lambda row: None if row.best is None else getattr(row.best, name)


def _qualifying(row: efficiency.Row, degree: int) -> int | None:
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
    "dbn_parameters": _best("parameters"),
    "dbn_depth": _best("depth"),
    "dbn_width": _best("width"),
    "dbn_degree": _best("degree"),
    "dbn_value": _best("value"),
    "efficiency_percent": lambda row: row.efficiency,
    "final": lambda row: int(row.final),
    "dbn_models_compared": lambda row: row.compared,
    "dbn_models_untrained": lambda row: row.untrained,
}


def _best_name(row: efficiency.Row) -> str:
    if row.best is None:
        return "none" if row.final else "none yet"
    return f"{shape_name(row.best)}, n={row.best.degree}"


def _saved(row: efficiency.Row) -> str:
    return f"{'' if row.final else '≥ '}{row.efficiency:.1f}%"


def convergence_view(
    group: Group, rows: Sequence[convergence.Row], paper: Sequence[convergence.Row]
) -> Table:
    """Crossovers of one group."""

    def pair(row: convergence.Row, degree: int) -> tuple[str, ...]:
        return _name(group, row, RELU), _name(group, row, f"bernstein:{degree}")

    columns = [
        shape_column(group),
        Column("ReLU epochs", "relu_epochs", lambda row: f"{row.relu_epochs:g}"),
        *(
            Column(
                f"n={n}", f"n{n}_loss_change_percent",
                lambda row, n=n: crossover(row.against[n]),
                curves=lambda row, n=n: pair(row, n),
                strong=lambda row, n=n: row.against[n].change < 0,
            )
            for n in DEGREES
        ),
    ]  # fmt: skip
    return build(
        columns,
        _CONVERGENCE,
        rows,
        paper=paper,
        trained=lambda row: row.relu_epochs is not None,
        name=f"convergence-{group.name}",
        title=f"Convergence: {group.title}",
        caption=(
            "Each DBN: the epoch whose median training loss first falls below ReLU's "
            f"final one ({NEVER} if none does) / its epochs, and by how much its final "
            "median loss differs from ReLU's, which is what sorting goes by. A seed "
            "that has stopped keeps its last loss."
        ),
        group=group,
    )


def _against(degree: int, name: str):
    def field(row: convergence.Row):
        found = row.against.get(degree)
        return None if found is None else getattr(found, name)

    return field


_CONVERGENCE: Fields = {
    "depth": lambda row: row.depth,
    "width": lambda row: row.width,
    "shape": shape_order,
    "relu_epochs": lambda row: row.relu_epochs,
    **{
        f"n{n}_{title}": _against(n, name)
        for n in DEGREES
        for title, name in (
            ("crossover_epoch", "crossover"),
            ("epochs", "epochs"),
            ("loss_change_percent", "change"),
        )
    },
}


def crossover(against: convergence.Against) -> str:
    """As the paper prints it."""
    epoch = NEVER if against.crossover is None else str(against.crossover)
    arrow = "↓" if against.change < 0 else "↑"
    return f"{epoch}/{against.epochs:g} ({arrow}{abs(against.change):.1f}%)"


def shape_column(group: Group) -> Column:
    """Architectures, with the losses of all their networks in the paper's tables."""
    activations = (RELU, *(f"bernstein:{n}" for n in DEGREES))
    return Column(
        "Architecture",
        "shape",
        shape_name,
        beside=False,
        curves=lambda row: tuple(_name(group, row, name) for name in activations),
    )


def _name(group: Group, row, activation: str) -> str:
    return Cell(group.dataset, group.residual, row.depth, row.width, activation).name
