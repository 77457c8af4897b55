"""The page of the study: accuracies, verdicts, times."""

import math
from pathlib import Path

import numpy as np

from experiments.certified.certified_speed import Speed
from experiments.certified.certified_study import Result, Setting


def accuracies(results: list[Result], setting: Setting) -> str:
    """Make a table of means and standard errors over seeds, and the verdicts."""
    lines = [
        "## Clean and certified accuracy on digits",
        "",
        f"Trained at eps 0.1 for {setting.steps} steps; rate and mixture chosen on validation "
        f"rows; {setting.rows} test rows; mean and standard error of {setting.seeds} seeds.",
        "",
        "| method | rate | mix | clean | certified, eps 0.05 | certified, eps 0.1 | by |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        cells = [show(*mean_and_error(column)) for column in result.scores.T]
        start = f"| {result.method} | {result.rate:g} | {result.mix:g} | "
        lines.append(start + " | ".join([*cells, result.note]) + " |")
    lines += ["", *verdicts(results)]
    return "\n".join(lines)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Compute the mean over seeds and its standard error."""
    count = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return float(np.mean(values)), error


def show(mean: float, error: float) -> str:
    """Print as ``0.912 ± 0.004``."""
    return "not run" if math.isnan(mean) else f"{mean:.3f} ± {error:.3f}"


def verdicts(results: list[Result]) -> list[str]:
    """Bernstein against the others, by two standard errors, for each kind of network.

    Of the degrees the one is taken that was best on validation rows.
    """
    run = [result for result in results if not np.isnan(result.scores).any()]
    lines = []
    for kind in ("mlp", "cnn"):
        of_kind = [r for r in run if r.method.startswith(kind)]
        bernstein = [r for r in of_kind if "bernstein" in r.method]
        if not bernstein:
            continue
        best = max(bernstein, key=lambda r: r.validation)
        for other in of_kind:
            if other not in bernstein:
                lines += [_verdict(best, other, column) for column in range(3)]
    return lines


def _verdict(ours: Result, other: Result, column: int) -> str:
    what = ("clean", "certified, eps 0.05", "certified, eps 0.1")[column]
    (a, ea), (b, eb) = (mean_and_error(r.scores[:, column]) for r in (ours, other))
    gap, error = a - b, math.hypot(ea, eb)
    word = "ahead of" if gap > 2 * error else "level with"
    word = "behind" if gap < -2 * error else word
    return (
        f"- {what}: {ours.method} is {word} {other.method} by {gap:+.3f} "
        f"(standard error {error:.3f})"
    )


def speed(found: Speed) -> str:
    """Make the tables of times and shares."""
    lines = ["## What it costs", "", "| 2x64, batch 128 | plain | robust | ratio |",
             "|---|---|---|---|"]  # fmt: skip
    for act, (plain, robust) in found.steps.items():
        lines.append(
            f"| {act} | {1e3 * plain:.2f} ms | {1e3 * robust:.2f} ms | {robust / plain:.1f} |"
        )
    lines += ["", "| 2x64, eps 0.05 | rows with all margins bounded per second, affine |",
              "|---|---|"]  # fmt: skip
    lines += [f"| {act} | {rate:,.0f} |" for act, rate in found.rows.items()]
    lines += ["", "Branch and bound on a network trained without robustness (degree 5), "
              "eps 0.05:", "", "| seconds | proved | decided |", "|---|---|---|"]  # fmt: skip
    lines += [f"| {s:g} | {p:.1%} | {d:.1%} |" for s, p, d in found.decided]
    lines += ["", "Cutting every box alike:", "", "| splits | seconds | proved |",
              "|---|---|---|"]  # fmt: skip
    lines += [f"| {k} | {s:.1f} | {p:.1%} |" for k, s, p in found.uniform]
    lines += ["", "| degree 4 | seconds to compile |", "|---|---|"]
    lines += [f"| {name} | {s:.1f} |" for name, s in found.compiling.items()]
    return "\n".join(lines)


def write(parts: list[str], folder: Path, command: str) -> Path:
    """Write the page, with the command that made it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certified.md"
    head = f"# Networks that are trained to be provable\n\n`{command}`\n"
    path.write_text("\n\n".join([head, *parts]) + "\n")
    return path
