"""``python -m experiments sweep``: train a part of the grid, or all of it."""

import argparse
import re
import shlex
import sys
from pathlib import Path

from experiments.core.options import parser as new_parser
from experiments.core.options import positive

_DESCRIPTION = """\
Trains cells of the paper's grid, three seeds each, into a store. It can be killed at any
moment: the same command goes on where it was, to the same numbers. Several sweeps may work
on one store at once; each cell is trained by one of them.

  python -m experiments sweep                                  the demo, in minutes
  python -m experiments sweep --preset small --data DIRECTORY  HIGGS and SUSY rows
  python -m experiments sweep --preset half --data DIRECTORY   224 of the 448 cells
  python -m experiments sweep --preset paper --dataset higgs --depth 5,15 \\
      --activation relu,bernstein:9                            a part of the grid
  python -m experiments sweep --preset paper --shard 3/16      one of 16 jobs of an array
  python -m experiments sweep --preset paper --executor ray --ray-address auto
  python -m experiments report                                 tables and figures of it

  python -m experiments sweep pack STORE FILE      the results as one small file
  python -m experiments sweep unpack STORE FILE    a store from it, to go on elsewhere
  python -m experiments sweep reuse                count what is compiled
"""
_PRESETS = ("demo", "small", "half", "paper")


def main(argv: list[str]) -> int:
    """Run a sweep; returns the exit status.

    0: all cells are completed. 1: some failed. 2: the options do not fit. 3: the disk is
    full. 130: stopped by Ctrl-C.
    """
    if argv[:1] == ["reuse"]:
        from experiments.sweep import sweep_reuse

        return sweep_reuse.main(argv[1:])
    if argv[:1] in (["pack"], ["unpack"]):
        from experiments.sweep import sweep_pack

        return sweep_pack.main(argv)
    options = parser().parse_args(argv)
    return _run(options, argv)


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    from experiments.sweep import grid_filter

    top = new_parser("sweep", _DESCRIPTION)
    add_grid_options(top)
    grid_filter.add_options(top)
    where = top.add_argument_group("where")
    where.add_argument(
        "--store", type=Path, default=Path("results/sweep"), help="(results/sweep)"
    )
    where.add_argument("--executor", choices=("local", "ray"), default="local")
    where.add_argument(
        "--shard", type=_shard, metavar="I/N", help="the I-th of N parts, from 1"
    )
    where.add_argument("--jobs", type=positive, help="cells at a time")
    where.add_argument("--ray-address", metavar="ADDRESS", help="of a running cluster")
    where.add_argument(
        "--ray-cpus", type=float, default=1.0, help="cores of each cell (1)"
    )
    where.add_argument(
        "--ray-gpus", type=float, help="GPUs of each cell (1, if there are any)"
    )
    where.add_argument(
        "--no-compiled",
        dest="keep_compiled",
        action="store_false",
        help="do not keep compiled programs in the store",
    )
    return top


def add_grid_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--preset`` and the options that override parts of it."""
    what = parser.add_argument_group("what")
    what.add_argument(
        "--preset", choices=_PRESETS, default="demo", help="a named sweep (demo)"
    )
    what.add_argument(
        "--data",
        metavar="SOURCE",
        help="collider (simulated), published (HIGGS and SUSY, found or downloaded), or "
        "a directory that holds HIGGS.csv.gz and SUSY.csv.gz; else the preset's",
    )
    what.add_argument("--rows", type=positive, help="events; else the preset's")
    what.add_argument("--epochs", type=positive, help="at most; else the preset's")
    what.add_argument("--batch-size", type=positive, help="else the preset's")


def sweep_of(options: argparse.Namespace):
    """Make the sweep that a command line asks for."""
    from experiments.sweep import grid_filter
    from experiments.sweep.sweep_run import Sweep

    changed = {"epochs": options.epochs, "batch_size": options.batch_size}
    return Sweep(
        options.preset,
        grid_filter.from_options(options),
        source=options.data,
        rows=options.rows,
        training={k: v for k, v in changed.items() if v is not None},
        shard=getattr(options, "shard", None),
    )


def _run(options: argparse.Namespace, argv: list[str]) -> int:
    import jaxbern as jb
    from experiments.sweep.cell_training import DiskFull
    from experiments.sweep.sweep_run import run
    from experiments.sweep.sweep_settings import OtherSettings

    try:
        summary = run(
            sweep_of(options),
            root=options.store,
            executor=options.executor,
            at_once=options.jobs,
            keep_compiled=options.keep_compiled,
            ray_options={
                "address": options.ray_address,
                "cpus": options.ray_cpus,
                "gpus": options.ray_gpus,
            },
        )
    except DiskFull as problem:
        print(f"{problem}\n  {_again(argv)}", file=sys.stderr)
        return 3
    except (OtherSettings, jb.data.DataError, ImportError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"cannot sweep into {options.store}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Stopped. To go on, write\n  {_again(argv)}", file=sys.stderr)
        return 130
    print(summary)
    if not summary.failed:
        return 0
    print(f"{len(summary.failed)} cells failed; why is in {summary.root / 'failed'}")
    return 1


def _again(argv: list[str]) -> str:
    return shlex.join(["python", "-m", "experiments", "sweep", *argv])


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"must be I/N with I from 1 to N, such as 3/16, got {text!r}"
        )
    return int(found[1]), int(found[2])
