"""Origin of the numbers: events, rules, machines, and the caveats of a report."""

import dataclasses
import json
from collections.abc import Iterable, Sequence

from experiments.report.grid_groups import GROUPS, Group, activation_name, shapes
from experiments.report.trained_models import diverged
from experiments.sweep.cell_record import CellResult
from experiments.sweep.cell_store import Reading
from experiments.sweep.grid import ACTIVATIONS, PUBLISHED_EVENTS, Cell, paper
from jaxbern.train import TrainConfig

SIMULATED = "collider"
DONE, NOT_TRAINED = "trained", "not trained"
_RULES = ("epochs", "batch_size", "learning_rate", "stop_patience")


@dataclasses.dataclass(frozen=True, order=True)
class Source:
    """The events of a data set, the rules of training on them, and how many cells."""

    dataset: str
    source: str
    events: int
    fingerprint: str
    rules: str
    cells: int

    @property
    def simulated(self) -> bool:
        """Whether the events are not the published ones."""
        return self.source.startswith(SIMULATED)

    @property
    def published_events(self) -> int:
        """Number of events that the paper trained and validated on."""
        return PUBLISHED_EVENTS[self.dataset]


def sources(results: Iterable[CellResult]) -> list[Source]:
    """List the sources: one per data set, or more if its cells differ."""
    counts: dict[tuple[str, str, int, str, str], int] = {}
    for result in results:
        about = result.about
        config = about.get("config", {})
        key = (
            result.cell.dataset,
            str(about.get("source", "unknown")),
            int(about.get("events", 0)),
            str(about.get("fingerprint", "unknown")),
            json.dumps({name: config.get(name) for name in _RULES}),
        )
        counts[key] = counts.get(key, 0) + 1
    return [Source(*key, count) for key, count in sorted(counts.items())]


def rules_text(source: Source) -> str:
    """Describe the rules of training in a line."""
    rules = json.loads(source.rules)
    return ", ".join(f"{name.replace('_', ' ')} {rules[name]}" for name in _RULES)


def _other_rules(source: Source) -> list[str]:
    """Describe how the rules differ from the paper's, which stops trainings early only."""
    rules = json.loads(source.rules)
    usual = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    texts = []
    if rules["epochs"] is not None and rules["epochs"] < usual["epochs"]:
        texts.append(f"at most {rules['epochs']} epochs")
    for name in _RULES[1:]:
        if rules[name] is not None and rules[name] != usual[name]:
            words = name.replace("_", " ")
            texts.append(f"{words} {rules[name]:,} instead of {usual[name]:,}")
    return texts


def caveats(results: Sequence[CellResult]) -> list[str]:
    """Return what a reader must know before any number, one or two sentences each."""
    found = []
    own = sources(results)
    simulated = sorted({s.dataset.upper() for s in own if s.simulated})
    if simulated:
        found.append(
            f"The events of {' and '.join(simulated)} are simulated: a toy with the same "
            "columns, not the published data set. The paper's numbers, printed beside ours, "
            "are of the full published data sets. Only trends can be compared."
        )
    fewer = [s for s in own if not s.simulated and s.events < s.published_events]
    if fewer:
        parts = [
            f"{s.events:,} of {s.published_events:,} events of {s.dataset.upper()}"
            for s in fewer
        ]
        found.append(
            f"Trained on {' and '.join(parts)}. The paper's numbers, printed beside ours, "
            "are of the full data sets."
        )
    other = sorted({text for s in own for text in _other_rules(s)})
    if other:
        found.append(f"Not the paper's rules of training: {'; '.join(other)}.")
    for dataset in sorted({s.dataset for s in own}):
        if sum(s.dataset == dataset for s in own) > 1:
            found.append(
                f"Cells of {dataset.upper()} were trained on different events or by "
                "different rules, and are compared all the same: see below where the "
                "numbers come from."
            )
    lost = diverged(results)
    if lost:
        names = ", ".join(f"{cell.name} (seed {seed})" for cell, seed in lost[:5])
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        found.append(
            "A loss or gradient was no finite number, which ended the training, in "
            f"{names}{more}. Epochs before that count."
        )
    return found


def environments(results: Iterable[CellResult]) -> dict[str, list[str]]:
    """Collect the values of each entry of the cells' environments, except the host."""
    found: dict[str, set[str]] = {}
    for result in results:
        for name, value in result.about.get("environment", {}).items():
            if name != "host" and value not in (None, ""):
                found.setdefault(name, set()).add(str(value))
    return {name: sorted(values) for name, values in found.items()}


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Which cells of a group are trained: ``states[shape][activation]``."""

    group: Group
    states: dict[tuple[int, int], dict[str, str]]


def coverage(reading: Reading) -> list[Coverage]:
    """Compute the coverage of every group of the paper's grid."""
    states = dict.fromkeys((cell.name for cell in paper()), NOT_TRAINED)
    for word in ("damaged", "running", "failed"):
        states |= {name: word for name, _ in getattr(reading, word)}
    states |= {result.cell.name: DONE for result in reading.results}
    return [
        Coverage(
            group,
            {
                shape: {
                    activation: states[
                        Cell(group.dataset, group.residual, *shape, activation).name
                    ]
                    for activation in ACTIVATIONS
                }
                for shape in shapes(group.cells())
            },
        )
        for group in GROUPS
    ]


def missing_lines(reading: Reading) -> list[str]:
    """List the architectures of the grid that lack cells, and each problem."""
    lines = []
    for covered in coverage(reading):
        untrained, begun = [], []
        for (depth, width), states in covered.states.items():
            lacking = [name for name, state in states.items() if state != DONE]
            if len(lacking) == len(states):
                untrained.append(f"{depth}x{width}")
            elif lacking:
                names = ", ".join(activation_name(name) for name in lacking)
                begun.append(f"{covered.group.title} {depth}x{width}: {names}")
        if untrained:
            title = f"{covered.group.title}, all activations"
            lines.append(f"{title}: {', '.join(untrained)}")
        lines += begun
    for word in ("damaged", "failed", "running"):
        for name, reason in getattr(reading, word):
            lines.append(f"{name} is {word}: {reason}")
    return lines
