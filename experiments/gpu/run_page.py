"""What a run on a GPU found, as one page of text and one CSV."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.gpu.run_check import Check
from experiments.gpu.run_plan import Card
from experiments.gpu.run_time import Step, Timing

PAPER_MEMORY = 1.5  # appendix G: memory over ReLU's at 150x256
_FIELDS = (
    "kind", "implementation", "depth", "width", "degree", "dtype", "case",
    "value", "relu", "ratio", "least", "paper",
)  # fmt: skip


@dataclass
class Findings:
    """Everything that was found, in order."""

    card: Card
    environment: Mapping[str, Any]
    choice: str  # what jb.explain says
    left_out: dict[str, str] = field(default_factory=dict)  # implementation: why
    checks: list[Check] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    tuning: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[Check]:
        """Checks that failed."""
        return [check for check in self.checks if not check.good]


def page(found: Findings) -> str:
    """Markdown."""
    wrong = found.wrong
    verdict = f"{len(wrong)} of {len(found.checks)} checks failed."
    if not wrong:
        verdict = f"All {len(found.checks)} checks passed."
    parts = [
        f"# jaxbern on {found.card.kind}",
        verdict,
        f"Chosen by default: {found.choice}",
        _table(["", ""], [[k, str(v)] for k, v in found.environment.items() if v]),
        "## Right?",
        "The largest error of value and gradients, in units of what is allowed; and whether "
        "a second run gave the same bits.",
        _table(
            ["implementation", "degree", "dtype", "outside", "error", "same bits", ""],
            [
                [
                    c.implementation, str(c.degree), c.dtype, c.outside,
                    f"{c.worst:.3f}", "yes" if c.same_bits else "no",
                    "" if c.good else f"**wrong** {c.problem}",
                ]
                for c in found.checks
            ],
        ),
    ]  # fmt: skip
    parts += [f"{name} was left out: {why}" for name, why in found.left_out.items()]
    parts += ["## Fast?", _least_note(found.card), _timings(found.timings)]
    parts += ["## Training steps", _paper_note(), _steps(found.steps)]
    if found.tuning:
        parts += ["## Tuning", "```\n" + "\n".join(found.tuning) + "\n```"]
    return "\n\n".join(parts) + "\n"


def _least_note(card: Card) -> str:
    if card.target is None:
        return (
            "This card's data sheet is not in experiments/gpu/gpu_targets.py, so there is "
            "no least time to compare with."
        )
    return (
        f"Least: what pipes and memory of {card.target.description} allow, all of them busy "
        "all the time."
    )


def _paper_note() -> str:
    return (
        "Paper: the ratio of training times on HIGGS, with skip connections, in which the "
        f"number of epochs counts too. Its memory at 150x256 is about {PAPER_MEMORY} times "
        "ReLU's."
    )


def _timings(rows: Sequence[Timing]) -> str:
    return _table(
        ["implementation", "degree", "dtype", "pass", "us", "ReLU", "/ ReLU", "/ least"],
        [
            [
                r.implementation, str(r.degree), r.dtype, r.which,
                f"{1e6 * r.seconds:.1f}", f"{1e6 * r.relu:.1f}", f"{r.ratio:.2f}",
                f"{r.seconds / r.least:.2f}" if r.least else "",
            ]
            for r in rows
        ],
    )  # fmt: skip


def _steps(rows: Sequence[Step]) -> str:
    return _table(
        ["network", "dtype", "degree", "ms", "/ ReLU", "paper", "MiB", "/ ReLU"],
        [
            [
                f"{r.depth}x{r.width}", r.dtype, str(r.degree), f"{1e3 * r.seconds:.2f}",
                f"{r.ratio:.2f}", f"{r.paper:.2f}" if r.paper else "",
                f"{r.memory / 2**20:.1f}", f"{r.memory / r.relu_memory:.2f}",
            ]
            for r in rows
        ],
    )  # fmt: skip


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(found: Findings, folder: Path) -> list[str]:
    """Write the page and the CSV; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu-run.md").write_text(page(found))
    with (folder / "gpu-run.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, _FIELDS)
        writer.writeheader()
        writer.writerows(records(found))
    return ["gpu-run.md", "gpu-run.csv"]


def records(found: Findings) -> list[dict[str, Any]]:
    """Return every number as a row: seconds, bytes, or errors in units of the limit."""
    rows: list[dict[str, Any]] = []
    for c in found.checks:
        rows.append(
            {
                "kind": "error", "implementation": c.implementation, "degree": c.degree,
                "dtype": c.dtype, "case": c.outside, "value": c.worst,
            }
        )  # fmt: skip
    for t in found.timings:
        rows.append(
            {
                "kind": "seconds", "implementation": t.implementation,
                "degree": t.degree, "dtype": t.dtype, "case": t.which,
                "value": t.seconds, "relu": t.relu, "ratio": t.ratio, "least": t.least,
            }
        )  # fmt: skip
    for s in found.steps:
        shape = {
            "depth": s.depth,
            "width": s.width,
            "degree": s.degree,
            "dtype": s.dtype,
        }
        rows.append(
            {
                "kind": "seconds", **shape, "case": "training step", "value": s.seconds,
                "relu": s.relu, "ratio": s.ratio, "paper": s.paper,
            }
        )  # fmt: skip
        ratio = s.memory / s.relu_memory
        paper = PAPER_MEMORY if (s.depth, s.width) == (150, 256) else None
        rows.append(
            {
                "kind": "bytes", **shape, "case": "training step", "value": s.memory,
                "relu": s.relu_memory, "ratio": ratio, "paper": paper,
            }
        )  # fmt: skip
    return rows
