"""Cases of the paper's claims about parameters, read off efficiency tables."""

from collections.abc import Callable, Iterator

from experiments.report.efficiency import Row
from experiments.report.evidence import Evidence
from experiments.report.grid_groups import GROUPS, METRICS, Group
from experiments.report.judging import Case

RESIDUAL = [group for group in GROUPS if group.residual]
DEEP = 50  # the paper's "deep" networks begin here
SMALL_DEPTH, SMALL_WIDTH = 5, 128  # its "smallest" ones end here


def place(group: Group, row) -> str:
    """Such as "HIGGS, residual 5x16"."""
    return f"{group.title} {row.depth}x{row.width}"


def reductions(above: float, *, metrics=tuple(METRICS)) -> Callable:
    """One case for each architecture: its efficiency is above so many percent."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for (group, metric), rows in evidence.efficiency.items():
            if metric in metrics:
                for row in rows:
                    yield _above(row, above, f"{place(group, row)} ({metric})")

    return cases


def deep_reductions(above: float) -> Callable:
    """By AUC, residual networks of at least 50 layers."""

    def cases(evidence: Evidence) -> Iterator[Case]:
        for group in RESIDUAL:
            for row in evidence.efficiency[group, "auc"]:
                if row.depth >= DEEP:
                    yield _above(row, above, place(group, row))

    return cases


def not_negative(evidence: Evidence) -> Iterator[Case]:
    """Efficiency of all but the smallest architectures."""
    for (group, metric), rows in evidence.efficiency.items():
        for row in rows:
            if row.depth > SMALL_DEPTH or row.width > SMALL_WIDTH:
                yield _above(row, -1e-9, f"{place(group, row)} ({metric})")


def growing(evidence: Evidence) -> Iterator[Case]:
    """Efficiency by AUC of neighbours in depth and in width, residual."""
    for group in RESIDUAL:
        rows = {(r.depth, r.width): r for r in evidence.efficiency[group, "auc"]}
        depths, widths = (sorted({shape[i] for shape in rows}) for i in (0, 1))
        for (depth, width), row in rows.items():
            for other in ((_next(depths, depth), width), (depth, _next(widths, width))):
                if other in rows:
                    where = f"{place(group, row)} to {other[0]}x{other[1]}"
                    yield _not_below(rows[other], row, where)


def susy_over_higgs(evidence: Evidence) -> Iterator[Case]:
    """Efficiency of the same architecture on the two data sets."""
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
    """More than half of the DBN models are better than the best ReLU; AUC, residual."""
    for group in RESIDUAL:
        for row in evidence.efficiency[group, "auc"]:
            if row.relu_value is None or not row.compared:
                yield Case(place(group, row), None)
                continue
            half = (row.compared + row.untrained) / 2
            yield Case(
                place(group, row),
                row.total > row.compared / 2,
                settled=row.total > half or row.total + row.untrained <= half,
            )


def _above(row: Row, percent: float, where: str) -> Case:
    if row.relu_value is None or (row.best is None and not row.final):
        return Case(where, None)
    if row.efficiency is None:
        return Case(where, False)
    above = row.efficiency > percent
    return Case(where, above, settled=above or row.final, value=row.efficiency)


def _not_below(row: Row, other: Row, where: str) -> Case:
    """To the printed digit.

    Efficiencies can only rise with more cells, which settles some of the cases.
    """
    if row.efficiency is None or other.efficiency is None:
        return Case(where, None)
    true = round(row.efficiency, 1) >= round(other.efficiency, 1)
    return Case(where, true, settled=other.final if true else row.final)


def _next(values: list[int], value: int) -> int | None:
    place = values.index(value) + 1
    return values[place] if place < len(values) else None
