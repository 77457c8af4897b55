"""``python -m experiments timing``: time and memory over the grid, beside ReLU's."""

import argparse
import dataclasses
import sys
from pathlib import Path

_DESCRIPTION = """\
Times an epoch of training for every activation and measures the memory that it takes, on
the device at hand, as ratios to ReLU in the layout of the paper's runtime tables. With
--target also compiles for GPUs that need not be here, and tells the memory there.

The programs are those that jb.train.fit runs. All activations of one architecture take
turns, and the best time of each counts. Compiling takes most of the time.

  python -m experiments timing                        4 networks, minutes on 2 cores
  python -m experiments timing --depth 50 --width 128 --activation relu,bernstein:9
  python -m experiments timing --target a30 --depth 150 --width 256
  python -m experiments timing --all                  the whole grid: hours on a CPU
"""


def main(argv: list[str]) -> int:
    """Measure, print and write; returns the exit status."""
    options = parser().parse_args(argv)
    # Imported here: help must not wait for JAX.
    from experiments.sweep import select
    from experiments.timing.measure import Setup
    from experiments.timing.run import QUICK, cells_of, run

    names = (field.name for field in dataclasses.fields(Setup))
    given = {name: getattr(options, name) for name in names}
    try:
        setup = dataclasses.replace(
            QUICK if options.quick else Setup(),
            **{name: value for name, value in given.items() if value is not None},
        )
        cells = cells_of(select.from_options(options), everything=options.all)
        text = run(options.out, cells, setup, targets=options.target)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(text)
    print(f"written to {options.out}; start with {options.out / 'timing.md'}")
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    from experiments.sweep import select

    top = argparse.ArgumentParser(
        prog="python -m experiments timing",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    select.add_options(top)
    top.add_argument(
        "--all",
        action="store_true",
        help="whatever is not chosen above: all of the grid, instead of HIGGS, residual, "
        "depth 5,15, width 16,32",
    )
    what = top.add_argument_group("what is measured")
    what.add_argument("--batch-size", type=int, help="rows per step (16384)")
    what.add_argument("--steps", type=int, help="in the epoch that is timed (3)")
    what.add_argument("--seeds", type=int, help="that train in one program (3)")
    what.add_argument("--rounds", type=int, help="the best of so many counts (3)")
    what.add_argument(
        "--target",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAMES",
        help="also compile for these GPUs: a30, a100, h100, l4",
    )
    what.add_argument(
        "--quick", action="store_true", help="short epochs: to see that it works"
    )
    top.add_argument(
        "--out", type=Path, default=Path("results/timing"), help="(%(default)s)"
    )
    return top
