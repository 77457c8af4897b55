"""``run``: from a study to its table, its figure and what follows from them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from experiments.core.progress import progress
from experiments.core.table_formats import comma_separated, markdown
from experiments.sensitivity import sensitivity_figure, sensitivity_tables
from experiments.sensitivity.sensitivity_analysis import Compared, compare
from experiments.sensitivity.sensitivity_conclusion import conclusion
from experiments.sensitivity.sensitivity_study import DEFAULT, Study
from experiments.sensitivity.sensitivity_training import load, train
from experiments.sweep.sweep_events import Events


@dataclasses.dataclass(frozen=True)
class Report:
    """What came out.

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
    cells = [c for s in (DEFAULT, *study.settings) for c in study.cells(s)]
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
    """What was trained."""
    config = study.config(DEFAULT, study.cells(DEFAULT)[0])
    return (
        f"Residual networks on {len(given.data):,} events of {given.source}, "
        f"{len(config.seeds)} seeds, at most {config.epochs} epochs of batch "
        f"{config.batch_size:,}, learning rate {config.learning_rate:g}, weight decay "
        f"{config.weight_decay:g}; one choice at a time "
        "differs from the default."
    )
