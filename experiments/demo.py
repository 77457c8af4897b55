"""``python -m experiments demo``: run everything once, in minutes, on a CPU."""

import argparse
import sys
import time
from pathlib import Path

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser

_DESCRIPTION = """\
Runs the whole pipeline on a machine with nothing but Python, in minutes:

  1. capacity   what one or two Bernstein neurons learn that ReLU cannot
  2. sweep      ReLU against DBN n=3 from 5 to 150 layers, then other degrees and networks
                without skips, three seeds each, on simulated events
  3. report     the paper's tables and figures from these, on one page

It can be stopped and started again: the sweep goes on where it was.
"""


def main(argv: list[str]) -> int:
    """Run all three; return the exit status."""
    options = parser().parse_args(argv)
    # Imported here, so that --help does not wait for JAX.
    from experiments import capacity
    from experiments.report import report_build
    from experiments.sweep.sweep_run import Sweep, run

    began = time.perf_counter()
    store = options.out / "sweep"
    _step(1, "capacity: five small tasks, one or two neurons, 32 seeds")
    rows = capacity.run(options.out / "capacity", quick=options.quick)
    _step(2, "sweep: a part of the paper's grid on simulated events")
    training = {"epochs": 2} if options.quick else {}
    try:
        summary = run(Sweep("demo", training=training), root=store)
    except KeyboardInterrupt:
        print("Stopped. Run the same command to continue.", file=sys.stderr)
        return 130
    _step(3, "report: the paper's tables and figures from these cells")
    page = report_build.run(store, options.out / "report")
    minutes = (time.perf_counter() - began) / 60
    found = report_build.depth_lines(store), report_build.verdict_lines(store)
    print("\n".join(closing(rows, *found, page, minutes)))
    return 1 if summary.failed else 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    top = new_parser("demo", _DESCRIPTION)
    add_out(top, "results/demo")
    top.add_argument(
        "--quick", action="store_true", help="few seeds and epochs, as a smoke test"
    )
    return top


def closing(
    rows: list, depths: list[str], verdicts: list[str], page: Path, minutes: float
) -> list[str]:
    """Return the closing text: the findings, and which file to open."""
    xor = {row.network: row for row in rows if row.task == "xor_blobs"}
    return [
        "",
        "What was found",
        f"  XOR by one neuron, median accuracy over {xor['DBN'].seeds} seeds: "
        f"Bernstein {xor['DBN'].median:.1f}%, ReLU {xor['ReLU'].median:.1f}%.",
        *(f"  {line}" for line in depths),
        "  The claims of the paper's abstract, on this small part of its grid:",
        *(f"  {line}" for line in verdicts),
        "",
        f"Done in {minutes:.1f} minutes. Open {page.resolve()}",
    ]


def _step(number: int, what: str) -> None:
    print(f"[{number}/3] {what}", flush=True)
