"""Format the results as Markdown and CSV tables."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.comparison import compared_packages
from experiments.comparison.compared_layers import Measured
from experiments.comparison.comparison_tasks import Task
from experiments.comparison.comparison_training import Trained
from experiments.core.environment import environment
from experiments.core.tables import Lines, csv_text, pipe_table

UNIT = compared_packages.JAXBERN.name  # of the ratios
TITLES = {
    "layer-activation": "An activation layer",
    "layer-dense": "A layer with its matrix",
    "training-collider": "Two classes",
    "training-function": "A smooth function",
}


def layer_records(found: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return one record per layer, with ratios to jaxbern's in the same table."""
    unit = next(m for m in found if m.candidate.name == UNIT)
    return [
        {
            "package": m.candidate.name,
            "computes": m.candidate.what,
            "parameters": m.parameters,
            "ms": m.milliseconds,
            "ratio": m.milliseconds / unit.milliseconds,
            "kept_mib": m.kept / 2**20,
            "peak_mib": m.peak / 2**20,
        }
        for m in found
    ]


def layer_table(records: Sequence[dict[str, Any]]) -> str:
    """Write the layers' times as a Markdown table."""
    lines: Lines = [
        (
            "package",
            "computes",
            "parameters",
            "ms",
            "/ jaxbern",
            "kept, MiB",
            "peak, MiB",
        )
    ]
    lines += [
        (
            r["package"],
            r["computes"],
            f"{r['parameters']:,}",
            f"{r['ms']:.2f}",
            f"{r['ratio']:.2f}",
            f"{r['kept_mib']:.1f}",
            f"{r['peak_mib']:.1f}",
        )
        for r in records
    ]
    return pipe_table(lines)


def training_records(found: Sequence[Trained]) -> list[dict[str, Any]]:
    """Return one record per network, with ratios to jaxbern's."""
    unit = next(t for t in found if t.candidate.name == UNIT)
    return [
        {
            "package": t.candidate.name,
            "network": t.candidate.what,
            "width": t.width,
            "parameters": t.runs[0].parameters,
            "learning_rate": t.learning_rate,
            "reached": t.reached,
            "seeds": len(t.runs),
            "steps": t.steps,
            "ms_per_step": t.milliseconds,
            "seconds": t.seconds,
            "ratio": _ratio(t.seconds, unit.seconds),
            "lowest_loss": t.loss,
            "problem": next((r.problem for r in t.runs if r.problem), ""),
        }
        for t in found
    ]


def _ratio(seconds: float, unit: float) -> float:
    """Return the ratio; None if either time is infinite."""
    both = math.isfinite(seconds) and math.isfinite(unit)
    return seconds / unit if both else math.nan


def training_table(records: Sequence[dict[str, Any]]) -> str:
    """Write the trainings as a Markdown table; a dash where the loss was not reached."""
    lines: Lines = [
        (
            "package", "network", "width", "parameters", "rate", "reached", "steps",
            "ms per step", "seconds", "/ jaxbern", "lowest loss",
        )
    ]  # fmt: skip
    lines += [
        (
            r["package"],
            r["network"],
            str(r["width"]),
            f"{r['parameters']:,}",
            f"{r['learning_rate']:g}",
            f"{r['reached']} of {r['seeds']}",
            _number(r["steps"], ".0f"),
            _number(r["ms_per_step"], ".2f"),
            _number(r["seconds"], ".2f"),
            _number(r["ratio"], ".2f"),
            _number(r["lowest_loss"], ".4g"),
        )
        for r in records
    ]
    notes = [f"{r['package']} {r['problem']}." for r in records if r["problem"]]
    return "\n\n".join([pipe_table(lines), *notes])


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "–"


def machine(threads: int, missing: Mapping[str, str]) -> str:
    """Describe the machine and the versions, and list missing packages."""
    here = environment()
    used = [p for p in compared_packages.OTHERS if p.name not in missing]
    versions = ", ".join(f"{p.name} {p.version()}" for p in used)
    lines = [
        f"{here['processor']}, {here['cores']} cores, threads for each: {threads}; JAX "
        f"{here['jax']}, jaxbern {here['jaxbern']}{versions and ', '}{versions}; float32."
    ]
    lines += [f"{name} is left out ({why})." for name, why in missing.items()]
    return "\n\n".join(lines)


def task_caption(task: Task, seeds: int, rates: Sequence[float]) -> str:
    """Describe the task and its target."""
    loss = "cross-entropy" if task.classes else "mean square"
    rates_text = " and ".join(f"{rate:g}" for rate in rates)
    return (
        f"`{task.name}`: {len(task.x):,} rows to learn, {len(task.test_x):,} held out, "
        f"{task.x.shape[1]} inputs; the widest network with at most {task.budget:,} "
        f"parameters; Adam, batch {task.batches.shape[1]}, the better of the rates "
        f"{rates_text}; steps until the held-out {loss} is {task.target:g} (at most "
        f"{len(task.batches):,}), seeds: {seeds}, the median counts; seconds are steps "
        "times the best time of a step, without compilation."
    )


def layer_caption(rows: int, width: int, repeats: int) -> str:
    """Describe what is timed."""
    return (
        f"`x` {rows:,}x{width}: forward, and gradients in the input and in every "
        f"parameter; best of {repeats}, in turns. Kept: for the backward pass, besides "
        "the input and the parameters. Peak: results and temporaries."
    )


def write(
    out: Path, sections: Mapping[str, tuple[str, str, list[dict[str, Any]]]], head: str
) -> str:
    """Write ``comparison.md`` and a CSV file per section; return the text.

    Args:
      out: the directory to write to.
      sections: caption, table and records by file name.
      head: text before the sections.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = [head]
    for name, (caption, shown, records) in sections.items():
        parts += [f"### {TITLES[name]}", caption, shown]
        (out / f"{name}.csv").write_text(csv_text(records))
    text = "\n\n".join(parts) + "\n"
    (out / "comparison.md").write_text(text)
    return text


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
