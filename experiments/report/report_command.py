"""``python -m experiments report``: the paper's tables and figures from a store."""

import argparse
import errno
import sys
from pathlib import Path

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser

_DESCRIPTION = """\
Turns the cells of a store into every table and figure of the paper, beside the paper's own
numbers, with a verdict on each of its claims; says what is missing. Any part of the grid
will do, and the store may still be growing.

Written are a page that needs nothing else (report.html), the same as Markdown (report.md),
tables/ as Markdown, CSV and LaTeX, and figures/ as PNG and SVG.
"""


def main(argv: list[str]) -> int:
    """Make a report; return the exit status.

    1: there is nothing to report, or no place to write to. 3: the disk is full.
    """
    options = parser().parse_args(argv)
    from experiments.report import report_build

    try:
        if sys.stderr.isatty():
            print("drawing ...", end="\r", file=sys.stderr, flush=True)
        page = report_build.run(
            options.store,
            options.out,
            memory=options.memory,
            docs=options.docs,
            sections=options.section,
        )
    except (FileNotFoundError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"cannot write a report to {options.out}: {problem}", file=sys.stderr)
        return 3 if problem.errno in (errno.ENOSPC, errno.EDQUOT) else 1
    for line in report_build.verdict_lines(options.store):
        print(line)
    print(f"wrote {page}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    top = new_parser("report", _DESCRIPTION)
    top.add_argument(
        "--store", type=Path, default=Path("results/sweep"), help="(results/sweep)"
    )
    add_out(top, "results/report")
    top.add_argument(
        "--memory",
        type=Path,
        metavar="FILE",
        help="plan.csv of python -m experiments plan --card NAME, to show memory too",
    )
    top.add_argument(
        "--docs",
        type=Path,
        metavar="DIRECTORY",
        help="also write results.md and its images there, as a page of documentation",
    )
    top.add_argument(
        "--section",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="Markdown that results.md shows below the verdicts, such as "
        "results/rates/rates.md; may be given several times",
    )
    return top
