"""The table of a study, by setting and by network."""

import dataclasses
from collections.abc import Sequence

from experiments.core.tables import Column, Fields, Table, build
from experiments.sensitivity.sensitivity_analysis import Change, Compared, Summary
from experiments.sensitivity.sensitivity_study import (
    CHOICES,
    DEFAULT,
    DEFAULT_LABELS,
    Setting,
)

METRICS = ("auc", "loss")
TITLES = {"auc": "AUC", "loss": "loss"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One setting, over its networks."""

    question: str
    label: str
    networks: int
    auc: Summary
    loss: Summary

    @property
    def survives(self) -> bool:
        """Whether every network that beats ReLU by default still does, by both metrics."""
        return self.auc.survives and self.loss.survives


def rows(compared: Sequence[Compared]) -> list[Row]:
    """Make a row for each setting, in order."""
    names = dict.fromkeys(each.setting.name for each in compared)
    found = []
    for name in names:
        own = [each for each in compared if each.setting.name == name]
        setting = own[0].setting
        summaries = (Summary.of(own, metric) for metric in METRICS)
        found.append(Row(setting.question, setting.label, len(own), *summaries))
    return found


def overview(compared: Sequence[Compared]) -> Table:
    """Make the table with a line for each setting."""
    columns = [
        Column("choice", "question", _choice),
        Column("setting", "setting", _label),
        Column("networks", "networks", lambda row: str(row.networks)),
    ]
    fields = {
        "question": lambda row: row.question,
        "setting": lambda row: row.label,
        "networks": lambda row: row.networks,
    }
    for metric in METRICS:
        for name in ("median", "lowest", "highest", "spread"):
            fields[f"{metric}_{name}"] = _of(metric, name)
        for verdict in ("better", "worse"):
            fields[f"{metric}_{verdict}"] = lambda row, m=metric, v=verdict: getattr(
                row, m
            ).count(v)
        fields[f"{metric}_wins"] = _of(metric, "wins")
        title = TITLES[metric]
        columns += [
            Column(f"{title}, change", f"{metric}_median", _change(metric)),
            Column(f"{title}, seeds", f"{metric}_spread", _spread(metric)),
            Column(f"{title} better / worse", f"{metric}_better", _verdicts(metric)),
        ]
    fields["survives"] = lambda row: int(row.survives)
    columns += [
        *(
            Column(f"beats ReLU: {TITLES[metric]}", f"{metric}_wins", _wins(metric))
            for metric in METRICS
        ),
        Column("survives", "survives", _survives, tone=_tone),
    ]
    return build(
        columns,
        fields,
        rows(compared),
        key=lambda row: None,
        name="sensitivity",
        title="What each choice changes",
        caption=(
            "Change: of the median over seeds against the default; the median over "
            "networks, and the lowest and highest of them. Seeds: highest minus lowest of "
            "the seeds of a network, median over networks. Better / worse: networks for "
            "which every seed is. Beats ReLU: networks whose median is better than that of "
            "ReLU of the same depth and width. Survives: whether every network that does "
            "so by default still does, in AUC and in loss."
        ),
    )


def details(compared: Sequence[Compared]) -> Table:
    """Make the table with a line for each network under each setting."""
    columns = [
        Column("choice", "question", lambda row: _choice(row.setting)),
        Column("setting", "setting", lambda row: _label(row.setting)),
        Column("network", "depth", lambda row: row.network),
    ]
    fields: dict = {
        "question": lambda row: row.setting.question,
        "setting": lambda row: row.setting.label,
        "depth": lambda row: row.cell.depth,
        "width": lambda row: row.cell.width,
        "degree": lambda row: row.cell.degree,
        "diverged": lambda row: row.diverged,
    }
    for metric in METRICS:
        fields |= _fields(metric)
        title = TITLES[metric]
        columns += [
            Column(title, f"{metric}_median", _number(metric)),
            Column("change [of seeds]", f"{metric}_change", _by_seed(metric)),
            Column("− ReLU", f"{metric}_margin", _margin(metric)),
        ]
    return build(
        columns,
        fields,
        compared,
        key=lambda row: None,
        name="networks",
        title="Network by network",
        caption=(
            "Medians over seeds; the change of the median against the default, and in "
            "brackets the lowest and highest change of a seed; the difference to the "
            "median of ReLU, bold if DBN is better."
        ),
    )


def _fields(metric: str) -> Fields:
    def change(row: Compared) -> Change:
        return getattr(row, metric)

    return {
        f"{metric}_median": lambda row: change(row).median,
        f"{metric}_spread": lambda row: change(row).spread,
        f"{metric}_change": lambda row: change(row).change,
        f"{metric}_change_lowest": lambda row: min(change(row).by_seed),
        f"{metric}_change_highest": lambda row: max(change(row).by_seed),
        f"{metric}_verdict": lambda row: change(row).verdict,
        f"{metric}_margin": lambda row: change(row).margin,
        f"{metric}_beats_relu": lambda row: int(change(row).beats_relu),
    }


def signed(number: float) -> str:
    """Print four digits with a sign that is as wide as the plus.

    >>> signed(-0.00123), signed(0.5), signed(-1e-9)
    ('−0.0012', '+0.5000', '+0.0000')
    """
    return f"{round(number, 4) + 0.0:+.4f}".replace("-", "−")


def _choice(row: Row | Setting) -> str:
    return CHOICES[row.question] if row.question else "default"


def _label(row: Row | Setting) -> str:
    return row.label if row.question else ", ".join(DEFAULT_LABELS.values())


def _of(metric: str, name: str):
    return lambda row: getattr(getattr(row, metric), name)


def _change(metric: str):
    def show(row: Row) -> str:
        own = getattr(row, metric)
        if row.question == DEFAULT.question:
            return ""
        ends = f"{signed(own.lowest)} … {signed(own.highest)}"
        return f"{signed(own.median)} ({ends})"

    return show


def _spread(metric: str):
    return lambda row: f"{getattr(row, metric).spread:.4f}"


def _verdicts(metric: str):
    def show(row: Row) -> str:
        own = getattr(row, metric)
        if row.question == DEFAULT.question:
            return ""
        return f"{own.count('better')} / {own.count('worse')}"

    return show


def _wins(metric: str):
    return lambda row: f"{getattr(row, metric).wins} of {row.networks}"


def _survives(row: Row) -> str:
    if row.question == DEFAULT.question:
        return ""
    return "yes" if row.survives else "no"


def _tone(row: Row) -> str:
    return "holds" if row.survives else "fails"


def _number(metric: str):
    return lambda row: f"{getattr(row, metric).median:.4f}"


def _by_seed(metric: str):
    def show(row: Compared) -> str:
        if row.setting == DEFAULT:
            return ""
        own = getattr(row, metric)
        ends = f"{signed(min(own.by_seed))}, {signed(max(own.by_seed))}"
        return f"{signed(own.change)} [{ends}]"

    return show


def _margin(metric: str):
    def show(row: Compared) -> str:
        own = getattr(row, metric)
        text = signed(own.margin)
        return f"**{text}**" if own.beats_relu else text

    return show
