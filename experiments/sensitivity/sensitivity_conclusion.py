"""What follows from the numbers, in sentences."""

from collections.abc import Sequence

from experiments.sensitivity.sensitivity_analysis import Change, Compared, Summary
from experiments.sensitivity.sensitivity_study import CHOICES, DEFAULT
from experiments.sensitivity.sensitivity_tables import METRICS, TITLES, signed


def conclusion(compared: Sequence[Compared]) -> list[str]:
    """Which wins there are by default, what they hang on, and how large changes are."""
    default = [each for each in compared if each.setting == DEFAULT]
    others = [each for each in compared if each.setting != DEFAULT]
    return [
        _by_default(default),
        *(_losses(others, metric) for metric in METRICS),
        _largest(others, default),
        *(_verdict(others, metric) for metric in METRICS),
    ]


def _by_default(default: Sequence[Compared]) -> str:
    wins = (
        f"{Summary.of(default, metric).wins} of {len(default)} networks in {TITLES[metric]}"
        for metric in METRICS
    )
    return (
        "By default DBN beats ReLU of the same depth and width, by medians over seeds, in "
        f"{' and '.join(wins)}."
    )


def _losses(others: Sequence[Compared], metric: str) -> str:
    """Which of these wins a setting undoes."""
    settings = list(dict.fromkeys(each.setting.name for each in others))
    lost: dict[str, list[str]] = {}
    for each in others:
        change: Change = getattr(each, metric)
        if change.beat_relu and not change.beats_relu:
            name = f"{CHOICES[each.setting.question]} {each.setting.label}"
            lost.setdefault(name, []).append(each.network)
    kept = len(settings) - len(lost)
    of_all = f"{kept} of {len(settings)} other settings"
    sentence = f"In {TITLES[metric]}, {of_all} keep all such wins"
    if not lost:
        return f"{sentence}."
    text = "; ".join(f"{name} ({', '.join(own)})" for name, own in lost.items())
    return f"{sentence}; lost with {text}."


def _largest(others: Sequence[Compared], default: Sequence[Compared]) -> str:
    """The largest change of a median AUC that each choice makes."""
    parts = []
    for question in dict.fromkeys(each.setting.question for each in others):
        own = [each for each in others if each.setting.question == question]
        most = max(own, key=lambda each: abs(each.auc.change))
        where = f"{most.setting.label}, {most.network}"
        parts.append(f"{CHOICES[question]} {signed(most.auc.change)} ({where})")
    spread = Summary.of(default, "auc").spread
    return (
        f"The largest changes of a median AUC: {'; '.join(parts)}; the seeds of a network "
        f"are {spread:.4f} apart (median over networks)."
    )


def _verdict(others: Sequence[Compared], metric: str) -> str:
    """A choice matters if one of its settings undoes a win."""
    matters: dict[str, bool] = {}
    for each in others:
        change: Change = getattr(each, metric)
        choice = CHOICES[each.setting.question]
        undone = change.beat_relu and not change.beats_relu
        matters[choice] = matters.get(choice, False) or undone
    on = [choice for choice, found in matters.items() if found]
    other = [choice for choice, found in matters.items() if not found]
    claim = f"That DBN beats ReLU in {TITLES[metric]} hangs on"
    if not on:
        return f"{claim} none of the choices tried."
    rest = f", not on {', '.join(other)}" if other else ""
    return f"{claim} {' and '.join(on)}{rest}."
