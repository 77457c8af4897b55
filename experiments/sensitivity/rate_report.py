"""The paper's claims with a tuned learning rate: two tables and sentences."""

import dataclasses
import math
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
from experiments.report import convergence, efficiency
from experiments.report.grid_groups import (
    METRICS,
    RELU,
    Group,
    activation_name,
    activation_order,
)
from experiments.report.intervals import Interval, interval
from experiments.sensitivity.rate_study import (
    PAPERS_RATE,
    RateStudy,
    Tuned,
    at_papers_rate,
    chosen,
)
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_events import Events

GROUP = Group("higgs", True)
Networks = Mapping[Cell, Tuned]


@dataclasses.dataclass(frozen=True)
class Row:
    """One network, at the paper's rate and at its own.

    Attributes:
      cell: the network.
      fixed, tuned: the test AUC over seeds at either rate.
      learning_rate: the rate that validation chose.
      fixed_gain, tuned_gain: test AUC minus that of ReLU, seed by seed, ReLU at the same
        rate or at its own; None for ReLU itself.
    """

    cell: Cell
    fixed: Interval
    learning_rate: float
    tuned: Interval
    fixed_gain: Interval | None
    tuned_gain: Interval | None


@dataclasses.dataclass(frozen=True)
class ClaimRow:
    """The paper's claims about an architecture, at its rate and at tuned ones.

    Attributes:
      depth, width: of the ReLU network.
      saved: parameters that the smallest better DBN saves, in percent; None if none is
        better.
      change: of the final loss from ReLU's to the best DBN's, in percent.
      crossover: the first epoch of a DBN below ReLU's final loss over ReLU's epochs;
        infinite if there is none.
    """

    depth: int
    width: int
    saved: tuple[float | None, float | None]
    change: tuple[float, float]
    crossover: tuple[float, float]


def rows(tuned: Sequence[Tuned]) -> list[Row]:
    """Make a row for every network that is trained at both rates."""
    fixed, best = at_papers_rate(tuned), chosen(tuned)
    return [
        Row(
            cell,
            interval(fixed[cell].test.values()),
            best[cell].learning_rate,
            interval(best[cell].test.values()),
            _gain(fixed, cell),
            _gain(best, cell),
        )
        for cell in sorted(
            best.keys() & fixed.keys(),
            key=lambda c: (c.depth, c.width, activation_order(c.activation)),
        )
    ]


def _gain(networks: Networks, cell: Cell) -> Interval | None:
    relu = networks.get(dataclasses.replace(cell, activation=RELU))
    if relu is None or cell.activation == RELU:
        return None
    own = networks[cell].test
    return interval(own[seed] - relu.test[seed] for seed in own if seed in relu.test)


def claim_rows(tuned: Sequence[Tuned]) -> list[ClaimRow]:
    """Compute savings, losses and crossovers of every architecture that has a ReLU network."""
    both = [_claims(at_papers_rate(tuned)), _claims(chosen(tuned))]
    return [
        ClaimRow(*shape, *zip(*(each[shape] for each in both), strict=True))
        for shape in both[0]
        if shape in both[1]
    ]


def _claims(networks: Networks) -> dict[tuple[int, int], tuple]:
    models = [model for each in networks.values() for model in each.scored()]
    results = [each.result for each in networks.values()]
    saved = {
        (row.depth, row.width): row.efficiency
        for row in efficiency.table(models, GROUP, METRICS["auc"])
        if row.relu_value is not None
    }
    found = {}
    for row in convergence.table(results, GROUP):
        against = [each for each in row.against.values() if each is not None]
        if row.relu_epochs and against:
            crossed = [each.crossover or math.inf for each in against]
            found[row.depth, row.width] = (
                saved[row.depth, row.width],
                min(each.change for each in against),
                min(crossed) / row.relu_epochs,
            )
    return found


def network_table(found: Sequence[Row]) -> Table:
    """Make the table of each network at both rates."""
    columns = [
        Column("Network", "depth", lambda r: shape_name(r.cell)),
        Column(
            "Activation", "activation", lambda r: activation_name(r.cell.activation)
        ),
        Column(f"Test AUC at {PAPERS_RATE:g}", "fixed", lambda r: _with_half(r.fixed)),
        Column("Own rate", "rate", lambda r: f"{r.learning_rate:g}"),
        Column("Test AUC, own rate", "tuned", lambda r: _with_half(r.tuned)),
        Column(
            f"− ReLU at {PAPERS_RATE:g}", "fixed_gain", lambda r: _gained(r.fixed_gain)
        ),
        Column("− ReLU, own rates", "tuned_gain", lambda r: _gained(r.tuned_gain)),
    ]
    fields = {
        "depth": lambda r: r.cell.depth,
        "width": lambda r: r.cell.width,
        "activation": lambda r: r.cell.activation,
        "rate": lambda r: r.learning_rate,
        **{
            name: lambda r, name=name: getattr(r, name) and getattr(r, name).mean
            for name in ("fixed", "tuned", "fixed_gain", "tuned_gain")
        },
        **{
            f"{name}_half": lambda r, name=name: (
                getattr(r, name) and getattr(r, name).half
            )
            for name in ("fixed", "tuned", "fixed_gain", "tuned_gain")
        },
    }
    return build(
        columns, fields, found,
        key=lambda row: row.cell,
        name="rates",
        title="Every network at the paper's learning rate and at its own",
        caption=(
            "Mean over seeds and half of its 95% interval (Student's t). Each network's own "
            "rate has the highest validation AUC; the AUCs are those of test rows. "
            "Differences to ReLU are taken seed by seed."
        ),
    )  # fmt: skip


def claim_table(found: Sequence[ClaimRow]) -> Table:
    """Make the table of savings, losses and crossovers at both rates."""
    columns, fields = (
        [Column("ReLU network", "depth", shape_name)],
        {
            "depth": lambda row: row.depth,
            "width": lambda row: row.width,
        },
    )
    titles = {
        "saved": ("Parameters saved", lambda v: f"{v:.1f}%"),
        "change": ("Loss, best DBN", lambda v: f"{v:+.1f}%"),
        "crossover": ("Crossover", lambda v: f"{v:.0%}" if v < math.inf else "never"),
    }
    for name, (title, show) in titles.items():
        for place, when in enumerate((f"at {PAPERS_RATE:g}", "own rates")):
            field = f"{name}_{('fixed', 'tuned')[place]}"
            fields[field] = lambda row, n=name, p=place: getattr(row, n)[p]
            columns.append(
                Column(
                    f"{title}, {when}",
                    field,
                    lambda row, n=name, p=place, show=show: show(getattr(row, n)[p]),
                )
            )
    return build(
        columns,
        fields,
        found,
        name="rate-claims",
        title="What a tuned baseline leaves of the paper's claims",
        caption=(
            "Parameters saved: the smallest DBN of these networks with a higher test AUC "
            "than the best ReLU seed; empty if there is none. Loss: the final training loss "
            "of the best DBN of the same depth against ReLU's. Crossover: the first epoch "
            "in which a DBN is below ReLU's final loss, as a share of ReLU's epochs."
        ),
    )


def sentences(found: Sequence[Row], claims: Sequence[ClaimRow]) -> list[str]:
    """Describe what follows from the tables."""
    lines = []
    for row in found:
        if row.cell.degree is None or row.fixed_gain is None or row.tuned_gain is None:
            continue
        lines.append(
            f"{shape_name(row.cell)} {activation_name(row.cell.activation)} against ReLU in "
            f"test AUC: {_gained(row.fixed_gain)} at {PAPERS_RATE:g}, "
            f"{_gained(row.tuned_gain)} with both tuned."
        )
    for name, verb, test in (
        ("saved", "save parameters", lambda v: v is not None and v > 0),
        ("change", "end with a lower loss", lambda v: v < 0),
        ("crossover", "cross ReLU's loss in half of its epochs", lambda v: v <= 0.5),
    ):
        fixed, tuned = (
            sum(test(getattr(row, name)[place]) for row in claims) for place in (0, 1)
        )
        lines.append(
            f"DBNs {verb} in {fixed} of {len(claims)} architectures at {PAPERS_RATE:g}, in "
            f"{tuned} of {len(claims)} with tuned rates."
        )
    return lines


def ends(found: Sequence[Row], study: RateStudy) -> str:
    """Count the networks whose best rate may be beyond those that were tried."""
    low, high = (
        sum(row.learning_rate == end for row in found)
        for end in (min(study.rates), max(study.rates))
    )
    return f"Of {len(found)} networks {low} chose the lowest rate tried and {high} the highest."


def write(out: Path, tuned: Sequence[Tuned], study: RateStudy, given: Events) -> str:
    """Write ``rates.md`` and both tables as CSV; return the text."""
    found, claims = rows(tuned), claim_rows(tuned)
    tables = claim_table(claims), network_table(found)
    out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (out / f"{table.name}.csv").write_text(comma_separated(table))
    text = "\n".join(
        [
            "# The fair fight: every network with its own learning rate",
            "",
            about(study, given),
            "",
            *(f"- {line}" for line in [*sentences(found, claims), ends(found, study)]),
            "",
            *map(markdown, tables),
        ]
    )
    (out / "rates.md").write_text(text)
    return text


def about(study: RateStudy, given: Events) -> str:
    """Describe what was trained."""
    cell = study.cells(study.every_setting[0])[0]
    config = study.config(study.every_setting[0], cell)
    schedule = "the paper's plateau rule"
    if config.schedule == "cosine":
        schedule = f"a warm-up of {config.warmup_epochs} epochs and a cosine"
    return (
        f"Residual networks on {len(given.data):,} events of {given.source}, the last fifth "
        f"of them for the test; {len(config.seeds)} seeds, at most {config.epochs} epochs of "
        f"batch {config.batch_size:,}; learning rates "
        f"{', '.join(f'{value:g}' for value in study.rates)} with {schedule}."
    )


def _with_half(found: Interval) -> str:
    return f"{found.mean:.4f} ± {found.half:.4f}"


def _gained(found: Interval | None) -> str:
    return "" if found is None else f"{found.mean:+.4f} ± {found.half:.4f}"
