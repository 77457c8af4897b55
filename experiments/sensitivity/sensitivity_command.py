"""``python -m experiments sensitivity``: interval, initialisation, decay, monotone."""

import argparse
import dataclasses
import sys
import time

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser

_DESCRIPTION = """\
How much do the conclusions hang on what the paper leaves open? Trains small residual
networks with other intervals, initialisations, weight decays of the coefficients and with
monotone polynomials, and compares AUC and loss with the default and with ReLU.

On HIGGS events that are at hand (JAXBERN_DATA), else on simulated ones. Writes a table
(Markdown, CSV), a figure (PNG, SVG) and what follows from the numbers. It can be stopped:
the same command goes on where it was.
"""


def main(argv: list[str]) -> int:
    """Run the study; returns the exit status."""
    options = parser().parse_args(argv)
    # Imported here: help must not wait for JAX.
    import jaxbern as jb
    from experiments.sensitivity.sensitivity_run import run
    from experiments.sensitivity.sensitivity_study import QUICK, Study
    from experiments.sensitivity.sensitivity_training import Failed
    from experiments.sweep.cell_training import DiskFull
    from experiments.sweep.sweep_settings import OtherSettings

    began = time.perf_counter()
    study = QUICK if options.quick else Study()
    training = dict(study.training)
    if options.epochs is not None:
        training["epochs"] = options.epochs
    study = dataclasses.replace(
        study, rows=options.rows or study.rows, training=training
    )
    try:
        report = run(options.out, study, source=options.data)
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
    print(report.text)
    seconds = time.perf_counter() - began
    print(f"took {seconds:.0f} s; written to {options.out / 'sensitivity.md'}")
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = new_parser("sensitivity", _DESCRIPTION)
    top.add_argument(
        "--data",
        metavar="SOURCE",
        help="collider (simulated), published (found or downloaded), or a directory that "
        "holds HIGGS.csv.gz",
    )
    top.add_argument("--rows", type=int, help="events, at most (40000)")
    top.add_argument("--epochs", type=int, help="at most (15)")
    top.add_argument(
        "--quick",
        action="store_true",
        help="one tiny network, few events: to see that it works",
    )
    add_out(top, "results/sensitivity")
    return top
