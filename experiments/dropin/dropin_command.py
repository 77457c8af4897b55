"""``python -m experiments dropin``: BernsteinAct in networks that people already have."""

import argparse
import dataclasses
from pathlib import Path

from experiments.core import options as command_line
from experiments.core.progress import progress

DESCRIPTION = """\
Trains ordinary networks (no normalisation) with relu, gelu, silu, tanh and with
BernsteinAct: its defaults, one polynomial per layer, and the paper's. Each method gets
the learning rate that is best on validation rows; fresh seeds are judged on test rows,
paired. Beside equal steps stand equal parameters and equal time.

  python -m experiments dropin --quick     2 minutes of CPU time, a first impression
  python -m experiments dropin             the full study, a good hour of CPU time

Each finished task is kept in the folder of the results: the same command, stopped and
started again, continues with the next one.
"""


def main(argv: list[str]) -> int:
    """Run the study and say what it found and where the page is."""
    parser = command_line.parser("dropin", DESCRIPTION)
    parser.add_argument("--quick", action="store_true", help="few steps and seeds")
    parser.add_argument(
        "--tasks",
        help="names, separated by commas (all that can be run; the quick setting takes four)",
    )
    parser.add_argument("--methods", help="names, separated by commas (all)")
    parser.add_argument(
        "--seeds", type=_several, help="that are judged, at least 2 (6; quick 3)"
    )
    parser.add_argument(
        "--tuning-seeds",
        type=command_line.positive,
        help="that each learning rate is tried with (4; quick 1)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="folder with HIGGS.csv.gz, SUSY.csv.gz or the 10,000 test images of MNIST",
    )
    command_line.add_out(parser, "results/dropin")
    options = parser.parse_args(argv)

    from experiments.dropin import dropin_report, dropin_store, dropin_study
    from experiments.dropin.dropin_methods import METHODS
    from experiments.dropin.dropin_tasks import Task, tasks

    quick_tasks = "waves,poisson,digits,collider"
    known = {task.name: task for task in tasks(options.data, quick=options.quick)}
    try:
        names = command_line.words_of(list(known))(
            options.tasks or (quick_tasks if options.quick else ",".join(known))
        )
        methods = command_line.words_of(list(METHODS))(
            options.methods or ",".join(METHODS)
        )
    except Exception as problem:
        parser.error(str(problem))
    chosen = [known[name] for name in names]
    setting = dropin_study.QUICK if options.quick else dropin_study.FULL
    given = {"seeds": options.seeds, "tuning_seeds": options.tuning_seeds}
    setting = dataclasses.replace(setting, **{k: v for k, v in given.items() if v})
    command = " ".join(["python -m experiments dropin", *argv])
    finished = options.out / "tasks"

    def save(study: dropin_study.Study, task: Task) -> None:
        dropin_store.save(finished, study, task, methods)
        dropin_report.write(study, chosen, options.out, command)

    def load(study: dropin_study.Study, task: Task) -> bool:
        return dropin_store.load(finished, study, task, methods)

    with progress(len(chosen) * (len(methods) + 1), lines=True) as done:
        study = dropin_study.run(chosen, methods, setting, done, save, load)
    print(dropin_report.write(study, chosen, options.out, command).read_text())
    print(f"written to {options.out}")
    return 0


def _several(text: str) -> int:
    """Parse a number of seeds, at least two."""
    number = command_line.positive(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text}")
    return number
