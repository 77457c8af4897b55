"""The page: one table, one figure, and how they were made."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from experiments.core.tables import csv_text, pipe_table
from experiments.dropin.dropin_figures import draw
from experiments.dropin.dropin_methods import METHODS, OURS, RIVALS
from experiments.dropin.dropin_study import Result, Study, as_records, best_rival
from experiments.dropin.dropin_tasks import Task

CERTAIN = 0.95


@dataclass(frozen=True)
class Difference:
    """A method minus a rival over the same seeds; above zero is better for the method."""

    mean: float
    half: float  # of the interval that holds the true mean with 95%
    scale: float  # the rival's mean score

    @property
    def verdict(self) -> str:
        """Win, loss or tie: the interval is above zero, below it, or contains it."""
        if not math.isfinite(self.mean + self.half):
            return "loss"
        if self.mean - self.half > 0:
            return "win"
        return "loss" if self.mean + self.half < 0 else "tie"

    def __str__(self) -> str:
        """Print with the digits that the interval leaves."""
        digits = max(0, 1 - math.floor(math.log10(self.half))) if self.half > 0 else 3
        digits = min(digits, 6)
        return f"{self.mean:+.{digits}f} ± {self.half:.{digits}f} ({self.verdict})"


def difference(mine: Result, its: Result, *, higher: bool) -> Difference:
    """Compute the difference paired by seeds, which share start and batches.

    The interval is at least as wide as the change of a score by one test row; otherwise seeds
    that all differ by the same few rows would give an interval of no width.
    """
    d = (mine.test - its.test) * (1 if higher else -1)
    factor = stats.t.ppf(0.5 + CERTAIN / 2, len(d) - 1)
    half = max(factor * d.std(ddof=1) / math.sqrt(len(d)), 1.01 * mine.finest)
    return Difference(float(d.mean()), float(half), float(its.test.mean()))


def find(study: Study, task: str, method: str, kind: str = "steps") -> Result | None:
    """Find one result; None if it was not trained."""
    matching = [
        r for r in study.results if (r.task, r.method, r.kind) == (task, method, kind)
    ]
    return matching[0] if matching else None


def against_best(study: Study, task: Task, method: str) -> dict[str, Difference]:
    """Compare a method with the best rival at equal steps, parameters and time."""
    mine, rival = find(study, task.name, method), best_rival(study, task)
    if mine is None or rival is None:
        return {}
    found = {}
    for kind in ("steps", "parameters", "time"):
        its = find(study, task.name, rival.method, kind)
        if its is not None and (kind == "steps" or method == OURS):
            found[kind] = difference(mine, its, higher=task.higher)
    return found


def write(study: Study, tasks: list[Task], folder: Path, command: str) -> Path:
    """Write ``dropin.md``, ``dropin.csv`` and ``dropin.png``; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    run = [task for task in tasks if find(study, task.name, OURS) is not None]
    (folder / "dropin.csv").write_text(csv_text(as_records(study)))
    differences = {
        (task.name, name): found["steps"]
        for task in run
        for name in METHODS
        if name not in RIVALS and (found := against_best(study, task, name))
    }
    draw(differences, [task.name for task in run], folder / "dropin.png")
    page = folder / "dropin.md"
    page.write_text(_page(study, run, command))
    return page


def _page(study: Study, run: list[Task], command: str) -> str:
    setting = study.setting
    names = [name for name in METHODS if any(r.method == name for r in study.results)]
    lines = [
        "# Drop-in: `jb.BernsteinAct` where an activation stood",
        "",
        f"`{command}`. Networks without normalisation (the transformer has its own), Adam "
        f"with a cosine schedule. The learning rate of each method is the best of "
        f"{', '.join(f'{rate:g}' for rate in setting.rates)} on validation rows "
        f"({setting.tuning_seeds} seed(s)); then {setting.seeds} fresh seeds, scored on test "
        "rows. Scores are means over seeds.",
        "",
        pipe_table(_scores(study, run, names)),
        "",
        "Against the best of relu, gelu and silu on the test rows of each task: difference "
        "with its 95% interval, paired by seeds; above zero is better. *Equal parameters*: "
        "the rival widened until it has as many. *Equal time*: the rival trained for more "
        "steps, by the ratio of the times of a step. For both its rate is chosen anew.",
        "",
        pipe_table(_differences(study, run)),
        "",
        *(f"- {line}" for line in (*counts(study, run), *edges(study))),
        "",
        "![Differences to the best of relu, gelu and silu](dropin.png)",
        "",
        "Methods: " + "; ".join(f"**{n}** {METHODS[n].about}" for n in names) + ".",
        "",
        "Tasks: " + "; ".join(f"**{task.name}** {task.about}" for task in run) + ".",
    ]
    lines += [f"\nLeft out: **{name}** {why}." for name, why in study.missing.items()]
    return "\n".join(lines) + "\n"


def _scores(study: Study, run: list[Task], names: list[str]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("task", "score", *names)]
    for task in run:
        found = [find(study, task.name, name) for name in names]
        values = [r.test.mean() if r is not None else math.nan for r in found]
        best = np.nanmax(values) if task.higher else np.nanmin(values)
        cells = [
            "" if r is None else f"**{v:.4g}**" if v == best else f"{v:.4g}"
            for r, v in zip(found, values, strict=True)
        ]
        lines.append(
            (task.name, f"{task.metric} {'↑' if task.higher else '↓'}", *cells)
        )
    return lines


def _differences(study: Study, run: list[Task]) -> list[tuple[str, ...]]:
    head = ("task", "best rival", "equal steps", "equal parameters", "equal time",
            "time of a step", "shared, equal steps")  # fmt: skip
    lines: list[tuple[str, ...]] = [head]
    for task in run:
        rival, found = best_rival(study, task), against_best(study, task, OURS)
        assert rival is not None
        times = [study.seconds.get((task.name, name)) for name in (OURS, rival.method)]
        ratio = f"{times[0] / times[1]:.1f}x" if times[0] and times[1] else ""
        shared = against_best(study, task, "shared").get("steps", "")
        kinds = [str(found.get(kind, "")) for kind in ("steps", "parameters", "time")]
        lines.append((task.name, rival.method, *kinds, ratio, str(shared)))
    return lines


def counts(study: Study, run: list[Task]) -> list[str]:
    """Count wins, ties and losses, a line for each comparison."""
    lines = []
    for kind in ("steps", "parameters", "time"):
        verdicts = [
            found[kind].verdict
            for task in run
            if kind in (found := against_best(study, task, OURS))
        ]
        lines.append(
            f"equal {kind}, against the best of relu, gelu, silu: {_count(verdicts)}"
        )
    for name in (*RIVALS, "tanh", "shared", "paper"):
        verdicts = []
        for task in run:
            mine, its = find(study, task.name, OURS), find(study, task.name, name)
            if mine is not None and its is not None:
                verdicts.append(difference(mine, its, higher=task.higher).verdict)
        if verdicts:
            lines.append(f"equal steps, against {name}: {_count(verdicts)}")
    return lines


def edges(study: Study) -> list[str]:
    """List methods whose chosen rate is at an end of those tried: others may be better."""
    rates = study.setting.rates
    found = [
        f"{r.task} {r.method} {r.rate:g}"
        for r in study.results
        if r.kind == "steps" and r.rate in (min(rates), max(rates))
    ]
    if not found:
        return []
    return [f"learning rate at an end of those tried: {', '.join(found)}"]


def _count(verdicts: list[str]) -> str:
    words = {"win": "wins", "tie": "ties", "loss": "losses"}
    return ", ".join(f"{verdicts.count(one)} {many}" for one, many in words.items())
