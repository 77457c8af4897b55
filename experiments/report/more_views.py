"""Runtime and seeds as tables."""

from collections.abc import Sequence

from experiments.core.tables import (
    Column,
    Fields,
    Table,
    build,
    shape_name,
    shape_order,
)
from experiments.report import intervals, runtime
from experiments.report.grid_groups import Group, activation_name, activation_order
from experiments.report.intervals import Interval
from experiments.report.views import shape_column
from experiments.sweep.grid import DEGREES


def runtime_view(
    group: Group, rows: Sequence[runtime.Row], paper: Sequence[runtime.Row]
) -> Table:
    """Seconds of one group, and memory if it is known of any cell."""
    columns = [
        shape_column(group),
        Column("ReLU", "relu_seconds", lambda row: _seconds(row, row.relu)),
        *(
            Column(
                f"n={n}", f"n{n}_seconds", lambda row, n=n: _seconds(row, row.dbn[n])
            )
            for n in DEGREES
        ),
    ]
    if any(row.memory for row in rows):
        columns += [
            Column(
                f"{'ReLU' if name == 'relu' else name.replace('n', 'n=')} memory",
                f"{name}_memory",
                lambda row, a=activation: f"{row.memory[a] / 2**30:.2f} GiB",
                beside=False,
            )
            for name, activation in _ACTIVATIONS.items()
        ]
    return build(
        columns,
        _RUNTIME,
        rows,
        paper=paper,
        trained=lambda row: bool(row.memory or row.relu or any(row.dbn.values())),
        name=f"runtime-{group.name}",
        title=f"Runtime: {group.title}",
        caption=(
            "Seconds of one training, mean over the seeds, and in brackets how many "
            "times ReLU's. All seeds of a cell train in one program; each counts the "
            "time of its epochs divided by the number of seeds, without compilation. "
            "The paper trained each seed alone on an A30: compare ratios, not seconds. "
            "Memory, if any, is that of a program for all seeds, compiled for a GPU."
        ),
        group=group,
    )


_ACTIVATIONS = {"relu": "relu", **{f"n{n}": f"bernstein:{n}" for n in DEGREES}}


def _run(find, name: str):
    def field(row: runtime.Row):
        run = find(row)
        return None if run is None else getattr(run, name)

    return field


_RUNTIME: Fields = {
    "depth": lambda row: row.depth,
    "width": lambda row: row.width,
    "shape": shape_order,
    **{f"relu_{x}": _run(lambda row: row.relu, x) for x in runtime.MEASURED},
    **{
        f"n{n}_{x}": _run(lambda row, n=n: row.dbn.get(n), x)
        for n in DEGREES
        for x in runtime.MEASURED
    },
    **{
        f"{name}_memory": lambda row, a=activation: row.memory.get(a)
        for name, activation in _ACTIVATIONS.items()
    },
}


def _seconds(row: runtime.Row, run: runtime.Runtime) -> str:
    seconds = f"{run.seconds:,.0f}" if run.seconds >= 100 else f"{run.seconds:.3g}"
    if row.relu is None or run is row.relu:
        return f"{seconds} s"
    return f"{seconds} s ({run.seconds / row.relu.seconds:.2f}×)"


def intervals_view(group: Group, rows: Sequence[intervals.Row]) -> Table:
    """Every cell of one group over its seeds."""
    columns = [
        Column(
            "Architecture", "shape", lambda row: shape_name(row.cell),
            curves=lambda row: (row.cell.name,),
        ),
        Column("Activation", "activation_order",
               lambda row: activation_name(row.cell.activation)),
        Column("Parameters", "parameters", lambda row: f"{row.parameters:,}"),
        Column("Seeds", "seeds", lambda row: str(row.auc.count)),
        Column("AUC", "auc", lambda row: _interval(row.auc)),
        Column("Loss", "loss", lambda row: _interval(row.loss)),
        Column("Epochs", "epochs", lambda row: f"{row.epochs:g}"),
        Column(
            "AUC − ReLU’s", "auc_difference",
            lambda row: _interval(row.auc_difference, "+"),
            strong=lambda row: row.auc_difference.sign != 0,
        ),
        Column(
            "Loss − ReLU’s", "loss_difference",
            lambda row: _interval(row.loss_difference, "+"),
            strong=lambda row: row.loss_difference.sign != 0,
        ),
    ]  # fmt: skip
    return build(
        columns,
        _INTERVALS,
        rows,
        key=lambda row: row.cell,
        name=f"seeds-{group.name}",
        title=f"Over the seeds: {group.title}",
        caption=(
            "Means over the seeds with 95% confidence intervals (Student's t), and "
            "differences to ReLU of the same architecture, taken seed by seed. Bold: "
            "the interval does not hold zero. The paper gives no such numbers."
        ),
        group=group,
    )


def _of(name: str, part: str):
    def field(row: intervals.Row):
        found = getattr(row, name)
        return None if found is None else getattr(found, part)

    return field


_INTERVALS: Fields = {
    "depth": lambda row: row.cell.depth,
    "width": lambda row: row.cell.width,
    "shape": lambda row: shape_order(row.cell),
    "activation": lambda row: row.cell.activation,
    "activation_order": lambda row: sum(activation_order(row.cell.activation)),
    "parameters": lambda row: row.parameters,
    "seeds": lambda row: row.auc.count,
    "epochs": lambda row: row.epochs,
    **{
        name + suffix: _of(name, part)
        for name in ("auc", "loss", "auc_difference", "loss_difference")
        for suffix, part in (("", "mean"), ("_half_interval", "half"))
    },
}


def _interval(found: Interval, sign: str = "") -> str:
    half = f" ± {found.half:.4f}" if found.half == found.half else ""
    return f"{found.mean:{sign}.4f}{half}"
