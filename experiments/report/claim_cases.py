"""Cases of the paper's claims: about parameters, convergence, activations and cost."""

import itertools
import math
from collections.abc import Callable, Iterator

from experiments.report.convergence import Against
from experiments.report.efficiency import Row
from experiments.report.evidence import Evidence
from experiments.report.grid_groups import GROUPS, METRICS, RELU, Group, activation_name
from experiments.report.judging import Case
from experiments.sweep.grid import DEGREES, FIXED

RESIDUAL = [group for group in GROUPS if group.residual]
DEEP = 50  # the paper's "deep" networks begin here
SMALL_DEPTH, SMALL_WIDTH = 5, 128  # its "smallest" ones end here


def place(group: Group, row) -> str:
    """Name an architecture, such as "HIGGS, residual 5x16"."""
    return f"{group.title} {row.depth}x{row.width}"


def reductions(above: float, *, metrics=tuple(METRICS)) -> Callable:
    """Make a case for each architecture: whether its efficiency exceeds a percentage."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for (group, metric), rows in evidence.efficiency.items():
            if metric in metrics:
                for row in rows:
                    yield _above(row, above, f"{place(group, row)} ({metric})")

    return cases


def deep_reductions(above: float) -> Callable:
    """Return savings by AUC of residual networks of at least 50 layers."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group in RESIDUAL:
            for row in evidence.efficiency[group, "auc"]:
                if row.depth >= DEEP:
                    yield _above(row, above, place(group, row))

    return cases


def not_negative(evidence: Evidence) -> Iterator[Case]:
    """Return the efficiency of all but the smallest architectures."""
    for (group, metric), rows in evidence.efficiency.items():
        for row in rows:
            if row.depth > SMALL_DEPTH or row.width > SMALL_WIDTH:
                yield _above(row, -1e-9, f"{place(group, row)} ({metric})")


def growing(evidence: Evidence) -> Iterator[Case]:
    """Compare the efficiency by AUC of residual neighbours in depth and in width."""
    for group in RESIDUAL:
        rows = {(r.depth, r.width): r for r in evidence.efficiency[group, "auc"]}
        depths, widths = (sorted({shape[i] for shape in rows}) for i in (0, 1))
        for (depth, width), row in rows.items():
            for other in ((_next(depths, depth), width), (depth, _next(widths, width))):
                if other in rows:
                    where = f"{place(group, row)} to {other[0]}x{other[1]}"
                    yield _not_below(rows[other], row, where)


def susy_over_higgs(evidence: Evidence) -> Iterator[Case]:
    """Compare the efficiency of each architecture on the two data sets."""
    for (group, metric), rows in evidence.efficiency.items():
        if group.dataset != "higgs":
            continue
        other = {
            (row.depth, row.width): row
            for row in evidence.efficiency[Group("susy", group.residual), metric]
        }
        for row in rows:
            if (row.depth, row.width) in other:
                where = f"{group.kind} {row.depth}x{row.width} ({metric})"
                yield _not_below(other[row.depth, row.width], row, where)


def most_qualify(evidence: Evidence) -> Iterator[Case]:
    """Test whether most DBN models beat the best ReLU; AUC, residual."""
    for group in RESIDUAL:
        for row in evidence.efficiency[group, "auc"]:
            if row.relu_value is None or not row.compared:
                yield Case(place(group, row), None)
                continue
            # Half of the models will do, as half of the cases do for a claim about most.
            yield Case(
                place(group, row),
                row.total > row.compared / 2,
                settled=row.compared >= row.untrained,
            )


def _above(row: Row, percent: float, where: str) -> Case:
    if row.relu_value is None or (row.best is None and not row.final):
        return Case(where, None)
    if row.efficiency is None:
        return Case(where, False)
    above = row.efficiency > percent
    return Case(where, above, settled=above or row.final, value=row.efficiency)


def _not_below(row: Row, other: Row, where: str) -> Case:
    """Compare two efficiencies to the printed digit.

    Efficiencies can only rise with more cells, which settles some of the cases.
    """
    if row.efficiency is None or other.efficiency is None:
        return Case(where, None)
    true = round(row.efficiency, 1) >= round(other.efficiency, 1)
    return Case(where, true, settled=other.final if true else row.final)


def _next(values: list[int], value: int) -> int | None:
    place = values.index(value) + 1
    return values[place] if place < len(values) else None


MEANINGFUL = 1e-3  # the AUC difference below which the paper's trainings stop


def crossovers(test: Callable[[float], bool], groups=tuple(GROUPS)) -> Callable:
    """Return crossovers as fractions of ReLU's epochs, infinite if there is none."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group, row, degree, against in _against(evidence):
            if group in groups:
                where = f"{place(group, row)} n={degree}"
                if against is None or row.relu_epochs is None:
                    yield Case(where, None)
                    continue
                share = (against.crossover or math.inf) / row.relu_epochs
                yield Case(where, test(share), value=share)

    return cases


def higher_degrees_cross(evidence: Evidence) -> Iterator[Case]:
    """Test whether residual networks of degree 9 and more end below ReLU's final loss."""
    for group, row, degree, against in _against(evidence):
        if group.residual and degree >= 9:
            where = f"{place(group, row)} n={degree}"
            yield Case(
                where, None if against is None else against.crossover is not None
            )


def changes(below: float) -> Callable:
    """Test whether the final loss is lower than ReLU's by more than ``-below`` percent."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group, row, degree, against in _against(evidence):
            where = f"{place(group, row)} n={degree}"
            if against is None:
                yield Case(where, None)
            else:
                yield Case(where, against.change < below, value=-against.change)

    return cases


def earlier_with_degree(evidence: Evidence) -> Iterator[Case]:
    """Test for neighbouring degrees whether the higher crosses over no later."""
    for group, rows in evidence.convergence.items():
        for row in rows:
            for low, high in itertools.pairwise(DEGREES):
                a, b = row.against.get(low), row.against.get(high)
                where = f"{place(group, row)} n={low} to {high}"
                if a is None or b is None:
                    yield Case(where, None)
                else:
                    first, second = (x.crossover or math.inf for x in (a, b))
                    yield Case(where, second <= first)


def improvement_grows(evidence: Evidence) -> Iterator[Case]:
    """Test for residual networks whether n=25 improves on n=3, and 150 layers on 5."""
    for group in RESIDUAL:
        rows = {(row.depth, row.width): row for row in evidence.convergence[group]}
        for (depth, width), row in rows.items():
            where = f"{place(group, row)} n={DEGREES[0]} to {DEGREES[-1]}"
            yield _improves(
                row.against.get(DEGREES[0]), row.against.get(DEGREES[-1]), where
            )
            if depth == 5 and (150, width) in rows:
                for n in DEGREES:
                    deep = rows[150, width].against.get(n)
                    where = f"{place(group, row)} to 150x{width}, n={n}"
                    yield _improves(row.against.get(n), deep, where)


def best_is_dbn(evidence: Evidence) -> Iterator[Case]:
    """Test whether the best cell (mean over seeds) of each group is a DBN, by each metric."""
    for group, rows in evidence.intervals.items():
        trained = {row.cell for row in rows}
        for name, metric in METRICS.items():
            where = f"{group.title} ({name})"
            values = {row.cell: getattr(row, name).mean for row in rows}
            dbn = [value for cell, value in values.items() if cell.degree is not None]
            fixed = [value for cell, value in values.items() if cell.degree is None]
            if not dbn or not fixed:
                yield Case(where, None)
                continue
            first = metric.better(metric.best(dbn), metric.best(fixed))
            yield Case(where, first, settled=trained.issuperset(group.cells()))


def dbn_over_fixed(evidence: Evidence) -> Iterator[Case]:
    """Test whether the best DBN of an architecture beats each fixed activation in mean AUC."""
    for group, rows in evidence.intervals.items():
        means = {row.cell: row.auc.mean for row in rows}
        for relu in (cell for cell in group.cells() if cell.activation == RELU):
            same = {
                cell.activation: means.get(cell)
                for cell in group.cells()
                if (cell.depth, cell.width) == (relu.depth, relu.width)
            }
            dbn = [same[f"bernstein:{n}"] for n in DEGREES]
            known = [value for value in dbn if value is not None]
            for name in FIXED:
                where = f"{place(group, relu)} {activation_name(name)}"
                fixed = same[name]
                if fixed is None or not known:
                    yield Case(where, None)
                else:
                    higher = max(known) > fixed
                    yield Case(where, higher, settled=higher or None not in dbn)


def smooth_like_relu(evidence: Evidence) -> Iterator[Case]:
    """Test whether another fixed activation has a mean AUC meaningfully above ReLU's best."""
    for group, rows in evidence.intervals.items():
        trained = {row.cell for row in rows}
        for name in FIXED[1:]:
            best = {
                activation: max(
                    (r.auc.mean for r in rows if r.cell.activation == activation),
                    default=None,
                )
                for activation in (RELU, name)
            }
            own, relu = best[name], best[RELU]
            where = f"{group.title} {activation_name(name)}"
            if own is None or relu is None:
                yield Case(where, None)
                continue
            needed = [c for c in group.cells() if c.activation in (RELU, name)]
            settled = trained.issuperset(needed)
            yield Case(where, own - relu <= MEANINGFUL, settled, own - relu)


def epoch_costs(at_most: float) -> Callable:
    """Return the time of an epoch as a multiple of ReLU's."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group, rows in evidence.runtime.items():
            for row in rows:
                for n in DEGREES:
                    dbn, where = row.dbn.get(n), f"{place(group, row)} n={n}"
                    if row.relu is None or dbn is None:
                        yield Case(where, None)
                    else:
                        ratio = dbn.per_epoch / row.relu.per_epoch
                        yield Case(where, ratio <= at_most, value=ratio)

    return cases


def large_is_faster(evidence: Evidence) -> Iterator[Case]:
    """Test whether n=9 takes less total time than ReLU in the four networks the paper names."""
    group = Group("higgs", True)
    for row in evidence.runtime[group]:
        if row.depth in (100, 150) and row.width in (128, 256):
            dbn = row.dbn.get(9)
            if row.relu is None or dbn is None:
                yield Case(place(group, row), None)
            else:
                ratio = dbn.seconds / row.relu.seconds
                yield Case(place(group, row), ratio < 1, value=ratio)


def memory(at_most: float) -> Callable:
    """Return the memory of 150x256 as a multiple of ReLU's."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group in RESIDUAL:
            for row in evidence.runtime[group]:
                if (row.depth, row.width) == (150, 256):
                    for n in DEGREES:
                        where = f"{place(group, row)} n={n}"
                        dbn, relu = (
                            row.memory.get(f"bernstein:{n}"),
                            row.memory.get(RELU),
                        )
                        if dbn is None or relu is None:
                            yield Case(where, None)
                        else:
                            yield Case(where, dbn / relu <= at_most, value=dbn / relu)

    return cases


def _improves(low: Against | None, high: Against | None, where: str) -> Case:
    if low is None or high is None:
        return Case(where, None)
    return Case(where, high.change < low.change)


def _against(evidence: Evidence):
    for group, rows in evidence.convergence.items():
        for row in rows:
            for degree in DEGREES:
                yield group, row, degree, row.against.get(degree)
