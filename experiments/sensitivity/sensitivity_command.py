"""``python -m experiments sensitivity``: choices that the paper leaves open, and its rate."""

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path

from experiments.core.options import add_out, positive
from experiments.core.options import parser as new_parser

_DESCRIPTION = """\
How far do the conclusions depend on what the paper leaves open? Trains small residual
networks with other intervals, initialisations, weight decays of the coefficients and with
monotone polynomials, and compares AUC and loss with the default and with ReLU.

On HIGGS events that are at hand (JAXBERN_DATA), else on simulated ones. Writes a table
(Markdown, CSV), a figure (PNG, SVG) and what follows from the numbers. It can be stopped:
the same command continues where it was.

  python -m experiments sensitivity rates      every network with its own learning rate,
                                               chosen on validation rows, scored on test rows
  python -m experiments sensitivity events     the same networks on ever more events
"""
_EVENTS = """\
With some ten thousand events a low degree has the higher AUC; the paper, with millions, says
the opposite. Does the order of the degrees turn as data grow? Trains ReLU and n=3, 9, 25 at
5x16 and 15x32 on 20,000 to 1,300,000 simulated events; --paper adds 5x16 on 11,000,000 by the
paper's rules, which takes an hour or more on two cores; --paper-epochs limits it. It can be
stopped: the same command goes on where it was.
"""
_RATES = """\
The paper trains every network with the learning rate 1e-3. What is left of its claims if
ReLU, GELU and DBNs (n=3, n=9) each get their best rate from 3e-4 to 1e-1? Rates are chosen
on validation rows and scored on test rows that no choice sees. Residual networks of width
16 with 5, 15, 50 and 150 layers. It can be stopped: the same command goes on where it was.
"""


def main(argv: list[str]) -> int:
    """Run the study; return the exit status."""
    if argv[:1] == ["rates"]:
        options = rates_parser().parse_args(argv[1:])
        return _reported(options, _rates, options.out / "rates.md")
    if argv[:1] == ["events"]:
        options = events_parser().parse_args(argv[1:])
        return _reported(options, _events, options.out / "events.md")
    options = parser().parse_args(argv)
    return _reported(options, _choices, options.out / "sensitivity.md")


def _choices(options: argparse.Namespace) -> str:
    """Train the study of open choices; return its text."""
    from experiments.sensitivity.sensitivity_run import run
    from experiments.sensitivity.sensitivity_study import QUICK, Study

    study = _with_options(QUICK if options.quick else Study(), options)
    return run(options.out, study, source=options.data).text


def _rates(options: argparse.Namespace) -> str:
    """Train the study of learning rates; return its text."""
    from experiments.core.progress import progress
    from experiments.sensitivity import rate_report, rate_study
    from experiments.sensitivity.sensitivity_training import load

    study = rate_study.QUICK if options.quick else rate_study.RateStudy()
    study = _with_options(study, options)
    if options.schedule == "cosine":
        training = {**study.training, "schedule": "cosine", "warmup_epochs": 1}
        study = dataclasses.replace(study, training=training)
    given = load(options.data, study.rows)
    settings = study.every_setting
    with progress(len(settings) * len(study.cells(settings[0]))) as done:
        tuned = rate_study.run(study, given, options.out, done)
    return rate_report.write(options.out, tuned, study, given)


def _events(options: argparse.Namespace) -> str:
    """Train the study of the number of events; return its text."""
    from experiments.core.progress import progress
    from experiments.sensitivity import event_report, event_study

    study = event_study.QUICK if options.quick else event_study.EventStudy()
    if options.paper:
        study = dataclasses.replace(
            study, paper_shapes=((5, 16),), paper_epochs=options.paper_epochs
        )
    if options.sizes:
        study = dataclasses.replace(study, sizes=options.sizes)
    with progress(sum(len(part.networks) for part in study.parts())) as done:
        found = event_study.run(study, options.out, done)
    return event_report.write(options.out, found, study)


def _with_options(study, options: argparse.Namespace):
    """Return a study with the rows and epochs of a command line."""
    training = dict(study.training)
    if options.epochs is not None:
        training["epochs"] = options.epochs
    return dataclasses.replace(
        study, rows=options.rows or study.rows, training=training
    )


def _reported(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], str],
    written: Path,
) -> int:
    """Run a study, print its text or error, and return the exit status."""
    # Imported here: help must not wait for JAX.
    import jaxbern as jb
    from experiments.sensitivity.sensitivity_training import Failed
    from experiments.sweep.cell_training import DiskFull
    from experiments.sweep.sweep_settings import OtherSettings

    began = time.perf_counter()
    try:
        text = run(options)
    except OtherSettings as problem:
        print(f"{problem} (here --out takes its place)", file=sys.stderr)
        return 2
    except (jb.data.DataError, ImportError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    except (DiskFull, Failed) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The same command goes on where it was.", file=sys.stderr)
        return 130
    print(text)
    print(f"took {time.perf_counter() - began:.0f} s; written to {written}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Define the options of the study of open choices."""
    top = new_parser("sensitivity", _DESCRIPTION)
    _add_options(top)
    add_out(top, "results/sensitivity")
    return top


def rates_parser() -> argparse.ArgumentParser:
    """Define the options of the study of learning rates."""
    top = new_parser("sensitivity rates", _RATES)
    _add_options(top)
    top.add_argument(
        "--schedule",
        choices=("plateau", "cosine"),
        default="plateau",
        help="the paper's rule, or one epoch of warm-up and a cosine (plateau)",
    )
    add_out(top, "results/rates")
    return top


def events_parser() -> argparse.ArgumentParser:
    """Define the options of the study of the number of events."""
    top = new_parser("sensitivity events", _EVENTS)
    top.add_argument(
        "--sizes",
        type=lambda text: tuple(positive(part) for part in text.split(",")),
        help="numbers of events (20000,80000,320000,1300000)",
    )
    top.add_argument(
        "--paper", action="store_true", help="also 5x16 on 11,000,000 events"
    )
    top.add_argument(
        "--paper-epochs",
        type=positive,
        metavar="N",
        help="at most, on 11,000,000 events; else until the paper's rule stops them",
    )
    top.add_argument("--quick", action="store_true", help="to see that it works")
    add_out(top, "results/events")
    return top


def _add_options(top: argparse.ArgumentParser) -> None:
    top.add_argument(
        "--data",
        metavar="SOURCE",
        help="collider (simulated), published (found or downloaded), or a directory that "
        "holds HIGGS.csv.gz",
    )
    top.add_argument("--rows", type=positive, help="maximum number of events")
    top.add_argument("--epochs", type=positive, help="maximum number of epochs")
    top.add_argument(
        "--quick",
        action="store_true",
        help="tiny networks, few events: to see that it works",
    )
