"""Format measurements as the paper's runtime tables: L×W, ReLU, degrees, others."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence

from experiments.bench.epoch_measure import Measured, Setup
from experiments.core.tables import Column, Table, build, shape_name
from experiments.report.grid_groups import RELU, Group, activation_name
from experiments.sweep.grid import DEGREES, FIXED, PUBLISHED_EVENTS

ORDER = (RELU, *(f"bernstein:{n}" for n in DEGREES), *FIXED[1:])  # of the columns


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A measured quantity, compared with that of ReLU.

    Attributes:
      name: name for files.
      title: title of tables.
      unit: unit in column names of CSV files.
      caption: how to read it.
      of: function from the measurements of a cell to the number.
      digits: printed digits after the decimal point.
    """

    name: str
    title: str
    unit: str
    caption: str
    of: Callable[[Measured], float]
    digits: int = 1


@dataclasses.dataclass(frozen=True)
class Row:
    """One architecture: a number for each activation that was measured."""

    depth: int
    width: int
    values: Mapping[str, float]

    def ratio(self, activation: str) -> float | None:
        """Return the ratio to ReLU; None if either was not measured."""
        if activation not in self.values or RELU not in self.values:
            return None
        return self.values[activation] / self.values[RELU]


def quantities(setup: Setup, group: Group, cards: Mapping[str, str]) -> list[Quantity]:
    """Return the quantities of a group; ``cards`` maps names of GPUs to descriptions."""
    seeds = "one seed" if setup.seeds == 1 else f"{setup.seeds} seeds"
    step = Quantity(
        "step",
        "Time per step",
        "ms",
        "Milliseconds of one step of one training, with its share of shuffling and "
        "validation, and in brackets how many times ReLU's. Measured: the best of "
        f"{setup.rounds} epochs of {setup.steps} steps, batch {setup.batch_size:,}, that "
        f"train {seeds} at the same time, divided by steps and seeds.",
        lambda m: 1e3 * m.step,
        digits=2,
    )
    rows = PUBLISHED_EVENTS[group.dataset]
    epoch = Quantity(
        "epoch",
        "Time per epoch",
        "seconds",
        f"Seconds of one epoch of one training on all {rows:,} events of "
        f"{group.dataset.upper()}, one in five for validation. Computed from the measured "
        "step, not run.",
        lambda m: m.epoch(setup.batch_size),
    )
    held = (
        f"MiB of arguments, results and temporaries of the program that trains {seeds} on "
        f"{setup.events:,} events, batch {setup.batch_size:,}"
    )
    memory = Quantity(
        "memory",
        "Memory on this device",
        "mib",
        f"{held}, by the compiler's account.",
        lambda m: m.memory / 2**20,
    )
    on_cards = [
        Quantity(
            f"memory-{name}",
            f"Memory on {description}",
            "mib",
            f"{held}, compiled for that GPU, not run.",
            lambda m, name=name: m.on_cards[name] / 2**20,
        )
        for name, description in cards.items()
    ]
    return [step, epoch, memory, *on_cards]


def table(quantity: Quantity, group: Group, measured: Sequence[Measured]) -> Table:
    """Return the table of one quantity of one group."""
    own = [m for m in measured if Group.of(m.cell) == group]
    seen = {m.cell.activation for m in own}
    activations = [name for name in ORDER if name in seen]
    columns = [Column("L×W", "depth", shape_name)]
    columns += [_column(quantity, name) for name in activations]
    fields = {"depth": lambda row: row.depth, "width": lambda row: row.width}
    for name in activations:
        fields[_field(name, quantity.unit)] = lambda row, n=name: row.values.get(n)
    for name in activations:
        if name != RELU:
            fields[_field(name, "ratio")] = lambda row, n=name: row.ratio(n)
    return build(
        columns,
        fields,
        rows(quantity, own),
        name=f"{quantity.name}-{group.name}",
        title=f"{quantity.title}: {group.title}",
        caption=quantity.caption,
        group=group,
    )


def rows(quantity: Quantity, measured: Sequence[Measured]) -> list[Row]:
    """Return the rows for the measurements of one group."""
    shapes = sorted({(m.cell.depth, m.cell.width) for m in measured})
    return [
        Row(
            *shape,
            {
                m.cell.activation: quantity.of(m)
                for m in measured
                if (m.cell.depth, m.cell.width) == shape
            },
        )
        for shape in shapes
    ]


def summary(quantity: Quantity, measured: Sequence[Measured]) -> str:
    """State the median ratio to ReLU of each activation in a sentence."""
    groups = sorted({Group.of(m.cell) for m in measured})
    found = [
        row
        for group in groups
        for row in rows(quantity, [m for m in measured if Group.of(m.cell) == group])
    ]
    parts = []
    for name in ORDER[1:]:
        ratios = [ratio for row in found if (ratio := row.ratio(name)) is not None]
        if ratios:
            parts.append(f"{activation_name(name)} {statistics.median(ratios):.2f}×")
    if not parts:
        return ""
    networks = "1 network" if len(found) == 1 else f"{len(found)} networks"
    return f"{quantity.title}, ReLU = 1, median over {networks}: {', '.join(parts)}."


def _column(quantity: Quantity, activation: str) -> Column:
    def show(row: Row) -> str:
        ratio = row.ratio(activation)
        number = f"{row.values[activation]:,.{quantity.digits}f}"
        beside = "" if activation == RELU or ratio is None else f" ({ratio:.2f}×)"
        return number + beside

    title = activation_name(activation).removeprefix("DBN ")
    return Column(title, _field(activation, quantity.unit), show)


def _field(activation: str, what: str) -> str:
    """Name a column as in the paper's files: ``relu_seconds``, ``n9_seconds``.

    >>> _field("bernstein:9", "ms"), _field("gelu", "ratio")
    ('n9_ms', 'gelu_ratio')
    """
    return f"{activation.replace('bernstein:', 'n')}_{what}"
