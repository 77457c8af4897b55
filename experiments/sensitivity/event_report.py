"""AUC and loss against the number of events: a table, a figure and a paragraph."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.core.tables import (
    Column,
    Table,
    build,
    comma_separated,
    markdown,
    shape_name,
)
from experiments.report import intervals, report_drawing
from experiments.report.grid_groups import (
    METRICS,
    RELU,
    activation_name,
    activation_order,
)
from experiments.sensitivity.event_study import EventStudy, Trained
from experiments.sensitivity.sensitivity_study import DEFAULT

Shape = tuple[int, int]
SHOWN_LEAD = 0.03  # in AUC: larger differences, on few events, leave the figure


def table(found: Sequence[Trained]) -> Table:
    """Make the table of every network on every number of events."""
    columns = [
        Column("Network", "depth", lambda r: shape_name(r.cell)),
        Column("Events", "events", lambda r: f"{r.rows:,}"),
        Column(
            "Activation", "activation", lambda r: activation_name(r.cell.activation)
        ),
        Column("AUC", "auc", lambda r: f"{r.row.auc.mean:.4f} ± {r.row.auc.half:.4f}"),
        Column(
            "Loss", "loss", lambda r: f"{r.row.loss.mean:.4f} ± {r.row.loss.half:.4f}"
        ),
        Column("Epochs", "epochs", lambda r: f"{r.row.epochs:g}"),
    ]
    fields = {
        "depth": lambda r: r.cell.depth,
        "width": lambda r: r.cell.width,
        "events": lambda r: r.rows,
        "activation": lambda r: r.cell.activation,
        "auc": lambda r: r.row.auc.mean,
        "auc_half": lambda r: r.row.auc.half,
        "loss": lambda r: r.row.loss.mean,
        "loss_half": lambda r: r.row.loss.half,
        "epochs": lambda r: r.row.epochs,
    }
    return build(
        columns,
        fields,
        sorted(
            found,
            key=lambda r: (
                r.cell.depth,
                r.cell.width,
                r.rows,
                activation_order(r.cell.activation),
            ),
        ),
        key=lambda r: (r.rows, r.cell),
        name="events",
        title="The same networks on more events",
        caption="Validation AUC and final training loss: mean over seeds and half of its "
        "95% interval (Student's t).",
    )


def shapes(found: Sequence[Trained]) -> list[Shape]:
    """Return the architectures, in order."""
    return sorted({(r.cell.depth, r.cell.width) for r in found})


def ranking(found: Sequence[Trained], shape: Shape, rows: int) -> list[str]:
    """Rank activations by mean AUC, the highest first."""
    own = [r for r in found if (r.cell.depth, r.cell.width) == shape and r.rows == rows]
    own.sort(key=lambda r: -r.row.auc.mean)
    return [r.cell.activation for r in own]


def sentences(found: Sequence[Trained]) -> list[str]:
    """Say how the activations rank, and whether the degrees change places as data grow."""
    lines = []
    for shape in shapes(found):
        own = [r for r in found if (r.cell.depth, r.cell.width) == shape]
        sizes = sorted({r.rows for r in own})
        ends = list(dict.fromkeys((sizes[0], sizes[-1])))
        orders = (
            f"{', '.join(map(activation_name, ranking(own, shape, rows)))} on {rows:,} events"
            for rows in ends
        )
        line = f"{shape[0]}×{shape[1]}, by AUC: {'; '.join(orders)}."
        degrees = sorted(
            {r.cell.activation for r in own} - {RELU}, key=activation_order
        )
        if len(degrees) > 1 and len(ends) > 1:
            low, high = degrees[0], degrees[-1]
            line += _change(
                low, high, {rows: _lead(own, rows, low, high) for rows in sizes}
            )
        lines.append(line)
    return lines


def _lead(own: Sequence[Trained], rows: int, low: str, high: str) -> intervals.Interval:
    """Return the AUC of one activation minus that of another, seed by seed."""
    aucs = {r.cell.activation: r.aucs for r in own if r.rows == rows}
    seeds = aucs[low].keys() & aucs[high].keys()
    return intervals.interval(aucs[high][seed] - aucs[low][seed] for seed in seeds)


def _change(low: str, high: str, leads: dict[int, intervals.Interval]) -> str:
    """Say how the lead of the high degree changes with the number of events."""
    first, *_, last = leads.values()
    numbers = ", ".join(
        f"{lead.mean:+.4f} ± {lead.half:.4f} on {rows:,}"
        for rows, lead in leads.items()
    )
    if first.sign * last.sign < 0:
        verdict = "The order turns."
    elif first.sign * last.sign > 0:
        verdict = "The order stays."
    else:
        verdict = "An interval that holds zero does not tell which is ahead."
    pair = f"{activation_name(high)} minus {activation_name(low)}"
    return f" {pair}, seed by seed: {numbers} events. {verdict}"


def draw(found: Sequence[Trained], path: Path) -> None:
    """Draw AUC, loss and the lead over the lowest degree of each architecture."""
    columns = shapes(found)
    size = (3.2 * len(columns) + 1.7, 7.8)
    with report_drawing.figure(
        size, (len(METRICS) + 1, len(columns)), wspace=0.35, hspace=0.45
    ) as (drawn, axes):
        for column, shape in enumerate(columns):
            own = [r for r in found if (r.cell.depth, r.cell.width) == shape]
            names = sorted({r.cell.activation for r in own}, key=activation_order)
            for axis, metric in zip(axes[:, column], METRICS.values(), strict=False):
                for name in names:
                    points = {
                        r.rows: getattr(r.row, metric.name)
                        for r in own
                        if r.cell.activation == name
                    }
                    _curve(axis, name, points)
                axis.set_ylabel(metric.title)
            _draw_leads(axes[-1, column], own, names)
            for axis in axes[:, column]:
                report_drawing.logarithmic(axis)
                axis.set_title(f"{shape[0]}×{shape[1]}")
                axis.set_xlabel("events")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper right", fontsize=8)
        report_drawing.save(drawn, path)


def _draw_leads(axis, own: Sequence[Trained], names: Sequence[str]) -> None:
    """Draw the AUC of each activation minus that of the lowest degree, seed by seed."""
    low = next((name for name in names if name != RELU), names[0])
    for name in names:
        if name != low:
            sizes = sorted({r.rows for r in own})
            _curve(axis, name, {rows: _lead(own, rows, low, name) for rows in sizes})
    axis.axhline(0, color=report_drawing.colour(low), linewidth=1.4)
    axis.set_ylim(-SHOWN_LEAD, SHOWN_LEAD)
    axis.set_ylabel(f"AUC − {activation_name(low)}'s")


def _curve(axis, name: str, points: Mapping[int, intervals.Interval]) -> None:
    """Draw the means of an activation with their intervals against the number of events."""
    rows = sorted(points)
    axis.errorbar(
        rows, [points[r].mean for r in rows], yerr=[points[r].half for r in rows],
        marker=report_drawing.marker(name), color=report_drawing.colour(name),
        markersize=4, linewidth=1.4, elinewidth=0.7, capsize=2,
        label=activation_name(name),
    )  # fmt: skip


def write(out: Path, found: Sequence[Trained], study: EventStudy) -> str:
    """Write ``events.md``, the table as CSV and the figure; return the text."""
    out.mkdir(parents=True, exist_ok=True)
    own = table(found)
    (out / "events.csv").write_text(comma_separated(own))
    draw(found, out / "events")
    runs = [
        f"{part.rows:,} events: at most {config.epochs} epochs of batch {config.batch_size:,}"
        for part in study.parts()
        for config in [part.config(DEFAULT, part.networks[0])]
    ]
    text = "\n".join(
        [
            "# Degree and the number of events",
            "",
            "Residual networks on simulated HIGGS events, one in five for validation, at the "
            f"paper's learning rate. {'; '.join(runs)}.",
            "",
            *(f"- {line}" for line in sentences(found)),
            "",
            "![AUC and loss against the number of events](events.svg)",
            "",
            "Mean over seeds with its 95% interval. Bottom: differences seed by seed; those "
            f"beyond {SHOWN_LEAD:g} leave the figure.",
            "",
            markdown(own),
        ]
    )
    (out / "events.md").write_text(text)
    return text
