"""``python -m experiments comparison``: compare jaxbern with other packages."""

import argparse
import dataclasses
import sys
from pathlib import Path

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser

_DESCRIPTION = """\
Time and memory of one layer, and the training of small networks until a stated loss, for
jaxbern and for those of these packages that are installed: DeepBern-Nets,
rational_activations, FlashKAT, jaxKAN, pykan, efficient-kan. Runs on the CPU; programs take
turns, and the best time of each counts. Says which packages are missing and how to get them.
"""


@dataclasses.dataclass(frozen=True)
class Setup:
    """Sizes of the measurements.

    Attributes:
      rows, width: shape of the layers' input.
      repeats: number of calls; the best time counts.
      seeds: number of seeds of each training.
      steps: maximum number of steps of a training.
      batch: rows per step.
      learning_rates: rates to try; the better one counts.
    """

    rows: int = 4096
    width: int = 64
    repeats: int = 30
    seeds: int = 3
    steps: int = 1000
    batch: int = 256
    learning_rates: tuple[float, ...] = (1e-3, 1e-2)


FEWEST_ROWS = 64  # enough to have training and held-out rows in every task
QUICK = Setup(
    rows=FEWEST_ROWS, width=8, repeats=2, seeds=1, steps=40, learning_rates=(1e-2,)
)


def main(argv: list[str]) -> int:
    """Measure, print and write; return the exit status."""
    options = parser().parse_args(argv)
    given = {
        name: value
        for name in ("rows", "width", "repeats", "seeds", "steps", "batch")
        if (value := getattr(options, name)) is not None
    }
    for name, value in given.items():
        if value < (least := FEWEST_ROWS if name == "rows" else 1):
            print(f"--{name} must be at least {least}, got {value}", file=sys.stderr)
            return 2
    base = QUICK if options.quick else Setup()
    setup = dataclasses.replace(base, **given)
    print(run(options.out, setup), end="")
    print(f"written to {options.out}; start with {options.out / 'comparison.md'}")
    return 0


def run(out: Path, setup: Setup) -> str:
    """Measure the installed packages, write to ``out``; return ``comparison.md``."""
    # Imported here, so that --help does not wait for JAX.
    from experiments.comparison import (
        candidates,
        compared_layers,
        compared_packages,
        comparison_report,
        comparison_tasks,
        comparison_training,
    )
    from experiments.core.progress import progress

    missing = compared_packages.missing()
    threads = comparison_report.available_threads()
    if compared_packages.TORCH.name not in missing:
        import torch

        torch.set_num_threads(threads)
    groups = {
        "activation": candidates.usable(candidates.ACTIVATIONS, missing),
        "dense": candidates.usable(candidates.DENSE, missing),
    }
    networks = candidates.usable(candidates.NETWORKS, missing)
    learned = (
        comparison_tasks.collider(
            setup.rows * 5, min(setup.batch, setup.rows), setup.steps
        ),
        comparison_tasks.function(
            setup.rows // 2, min(setup.batch, setup.rows // 2), setup.steps
        ),
    )
    trainings = len(learned) * setup.seeds * len(setup.learning_rates)
    sections = {}
    with progress(sum(map(len, groups.values())) + trainings) as done:
        for name, own in groups.items():
            found = compared_layers.measure(
                own, setup.rows, setup.width, setup.repeats, done
            )
            records = comparison_report.layer_records(found)
            caption = comparison_report.layer_caption(
                setup.rows, setup.width, setup.repeats
            )
            sections[f"layer-{name}"] = (
                caption,
                comparison_report.layer_table(records),
                records,
            )
        for task in learned:
            trained = comparison_training.measure(
                networks, task, range(setup.seeds), setup.learning_rates, done
            )
            records = comparison_report.training_records(trained)
            caption = comparison_report.task_caption(
                task, setup.seeds, setup.learning_rates
            )
            shown = comparison_report.training_table(records)
            sections[f"training-{task.name}"] = caption, shown, records
    return comparison_report.write(
        out, sections, comparison_report.machine(threads, missing)
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    top = new_parser("comparison", _DESCRIPTION)
    top.add_argument("--rows", type=int, help="rows of a layer's input (4096)")
    top.add_argument("--width", type=int, help="width of a layer's input (64)")
    top.add_argument(
        "--repeats", type=int, help="number of calls of which the best counts (30)"
    )
    top.add_argument("--seeds", type=int, help="seeds of each training (3)")
    top.add_argument(
        "--steps", type=int, help="maximum number of training steps (1000)"
    )
    top.add_argument("--batch", type=int, help="rows per step (256)")
    top.add_argument("--quick", action="store_true", help="tiny sizes, as a smoke test")
    add_out(top, "results/comparison")
    return top
