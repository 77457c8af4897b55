"""``run``: train a study and write its table, figure and conclusions."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from experiments.core.progress import progress
from experiments.core.tables import comma_separated, markdown
from experiments.sensitivity import sensitivity_figure, sensitivity_tables
from experiments.sensitivity.sensitivity_analysis import (
    Change,
    Compared,
    Summary,
    compare,
)
from experiments.sensitivity.sensitivity_study import CHOICES, DEFAULT, Study
from experiments.sensitivity.sensitivity_tables import METRICS, TITLES, signed
from experiments.sensitivity.sensitivity_training import load, train
from experiments.sweep.sweep_events import Events


@dataclasses.dataclass(frozen=True)
class Report:
    """The outcome of a study.

    Attributes:
      compared: every network under every setting.
      sentences: what follows.
      text: all of it as Markdown, as in ``sensitivity.md``.
    """

    compared: list[Compared]
    sentences: list[str]
    text: str


def run(out: Path, study: Study | None = None, *, source: str | None = None) -> Report:
    """Train what is not trained yet, and write the table, the figure and the conclusion.

    Args:
      out: the directory; ``stores`` in it are those of the trainings.
      study: what to train.
      source: of HIGGS events, as a sweep takes it; if not given, those at hand on this
        machine, else simulated ones.
    """
    study = study or Study()
    given = load(source, study.rows)
    cells = [c for s in study.every_setting for c in study.cells(s)]
    with progress(len(cells)) as done:
        results = train(study, given, out, done)
    compared = compare(study.settings, results)
    return write(out, compared, about(study, given))


def write(out: Path, compared: Sequence[Compared], about: str) -> Report:
    """Write ``sensitivity.md``, both tables as CSV, and the figure as PNG and SVG."""
    out.mkdir(parents=True, exist_ok=True)
    sentences = conclusion(compared)
    both = sensitivity_tables.overview(compared), sensitivity_tables.details(compared)
    for table in both:
        (out / f"{table.name}.csv").write_text(comma_separated(table))
    sensitivity_figure.draw(compared, out / "sensitivity")
    text = "\n".join(
        [
            "# How much do the conclusions hang on what the paper leaves open?",
            "",
            about,
            "",
            *(f"- {sentence}" for sentence in sentences),
            "",
            "![AUC and loss beside ReLU's, for each choice](sensitivity.png)",
            "",
            "How much better than ReLU's median each network is, in AUC and in loss: the "
            "median over seeds, and a line from the worst seed to the best. The default "
            "is shaded.",
            "",
            *map(markdown, both),
        ]
    )
    (out / "sensitivity.md").write_text(text)
    return Report(list(compared), sentences, text)


def about(study: Study, given: Events) -> str:
    """Describe what was trained."""
    config = study.config(DEFAULT, study.cells(DEFAULT)[0])
    return (
        f"Residual networks on {len(given.data):,} events of {given.source}, "
        f"{len(config.seeds)} seeds, at most {config.epochs} epochs of batch "
        f"{config.batch_size:,}, learning rate {config.learning_rate:g}, weight decay "
        f"{config.weight_decay:g}; one choice at a time "
        "differs from the default."
    )


def conclusion(compared: Sequence[Compared]) -> list[str]:
    """Describe the wins by default, what they depend on, and the size of changes."""
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
    """List the wins that a setting undoes."""
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
    """Return the largest change of a median AUC by each choice."""
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
    """Say whether a choice matters: whether one of its settings undoes a win."""
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
