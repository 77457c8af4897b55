"""``python -m experiments bench``: measure time and memory, all variants in one run."""

import argparse
import dataclasses
import os
import sys

from experiments.core import options as types

_DESCRIPTION = """\
Measures time and memory on this machine, and memory on GPUs that are not here. Compare
times only as ratios: programs take turns, and the best time of each counts.

  op       forward and both gradients of the activation, against other ways to write it
  step     milliseconds of a training step, over widths and degrees
  dropin   a training step with BernsteinAct in place of gelu, and compiling a PINN
  compile  seconds to trace and compile 5 and 150 layers
  memory   memory and traffic of a training step compiled for a GPU; none is needed
  epoch    time and memory of an epoch over the paper's grid, as ratios to ReLU
  seeds    time of an epoch with one and with three seeds
  torch    time of an epoch and AUC against PyTorch, if it is installed
  auc      AUC of Bernstein activations against ReLU, on HIGGS rows
  deep     whether deep networks learn from the default initialisation, on HIGGS rows
  data     converting HIGGS text, against pandas and NumPy
  split    simulating, splitting and scaling events

python -m experiments bench NAME --help explains the options of each.
"""
_EPOCH = """\
Times an epoch of training for every activation and measures the memory that it takes, on
the local device, as ratios to ReLU in the layout of the paper's runtime tables. With
--target it also compiles for GPUs that need not be present and prints the memory there.

The programs are those that jb.train.fit runs. All activations of one architecture take
turns, and the best time of each counts. Compiling takes most of the time.

  python -m experiments bench epoch                   4 networks, minutes on 2 cores
  python -m experiments bench epoch --depth 50 --width 128 --activation relu,bernstein:9
  python -m experiments bench epoch --target a30 --depth 150 --width 256
  python -m experiments bench epoch --all             the whole grid: hours on a CPU
"""


def main(argv: list[str]) -> int:
    """Run one benchmark; return the exit status."""
    options = parser().parse_args(argv)
    return options.run(options) or 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    top = types.parser("bench", _DESCRIPTION)
    kinds = top.add_subparsers(required=True, dest="kind", metavar="NAME")
    _add_programs(kinds)
    _add_trainings(kinds)
    _add_epoch(kinds)
    for name, run in (("data", _data), ("split", _split)):
        part = _part(kinds, name, run)
        part.add_argument("--rows", type=types.positive, default=1_000_000)
        _rounds(part, "--repeats", 3)
    return top


def _add_programs(kinds) -> None:
    """Add the benchmarks of one activation and of one training step."""
    op = _part(kinds, "op", _op)
    _sizes(op, degrees="3,9,25")
    _rounds(op, "--repeats", 7)
    step = _part(kinds, "step", _step)
    _sizes(step, depth=15, width="64,256", degrees="3,9,25")
    _rounds(step, "--rounds", 7)
    dropin = _part(kinds, "dropin", _dropin)
    small = "5x32,3x128,3x512"
    dropin.add_argument(
        "--sizes", type=types.sizes, default=small, help=f"layers x neurons ({small})"
    )
    dropin.add_argument("--rows", type=int, default=256, help="batch (256)")
    _rounds(dropin, "--rounds", 25)
    compiling = _part(kinds, "compile", _compile)
    _sizes(compiling, degrees="3,9,25")
    _rounds(compiling, "--rounds", 3)
    memory = _part(kinds, "memory", _memory)
    _sizes(memory, depth=150, degrees="9,25")
    memory.add_argument("--target", default="a30", help="GPU (a30)")
    memory.add_argument(
        "--kernel", default="pallas", choices=("pallas", "mosaic", "triton")
    )


def _add_trainings(kinds) -> None:
    """Add the benchmarks of epochs on HIGGS rows, simulated if there are none."""
    seeds = _part(kinds, "seeds", _seeds)
    torch = _part(kinds, "torch", _torch)
    auc = _part(kinds, "auc", _auc)
    for part in (seeds, torch, auc, _part(kinds, "deep", _deep)):
        part.add_argument("--data", default="higgs", help="as for jb.data.load (higgs)")
    several = "5x16,5x32,5x128,15x16"
    seeds.add_argument(
        "--sizes",
        type=types.sizes,
        default=several,
        help=f"layers x neurons ({several})",
    )
    for part in (seeds, torch):
        _rounds(part, "--rounds", 15)
    for part, epochs in ((torch, 15), (auc, 40)):
        part.add_argument(
            "--size", type=types.size, default="5x32", help="layers x neurons (5x32)"
        )
        part.add_argument("--epochs", type=int, default=epochs, help=f"({epochs})")
        part.add_argument("--seeds", type=int, default=3, help="how many (3)")
    default = "relu,bernstein:3,bernstein:9"
    for part in (seeds, auc):
        part.add_argument(
            "--activation",
            type=types.activations,
            default=default,
            help=f"separated by commas ({default})",
        )


def _add_epoch(kinds) -> None:
    from experiments.sweep import grid_filter

    part = _part(kinds, "epoch", _epoch, _EPOCH)
    grid_filter.add_options(part)
    part.add_argument(
        "--all",
        action="store_true",
        help="use all of the grid for what is not chosen above, instead of HIGGS, "
        "residual, depth 5,15, width 16,32",
    )
    what = part.add_argument_group("what is measured")
    what.add_argument("--batch-size", type=int, help="rows per step (16384)")
    what.add_argument("--steps", type=int, help="steps of the timed epoch (3)")
    what.add_argument("--seeds", type=int, help="seeds trained at the same time (3)")
    what.add_argument(
        "--rounds", type=int, help="number of epochs; the best counts (3)"
    )
    what.add_argument(
        "--target",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAMES",
        help="also compile for these GPUs: a30, a100, h100, l4",
    )
    what.add_argument(
        "--quick", action="store_true", help="short epochs, as a smoke test"
    )
    types.add_out(part, "results/timing")


def _part(kinds, name: str, run, description: str | None = None):
    part = kinds.add_parser(
        name,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    part.set_defaults(run=run)
    return part


def _sizes(part, *, depth: int | None = None, width: str = "256", degrees: str) -> None:
    if depth is not None:
        part.add_argument("--depth", type=int, default=depth, help=f"layers ({depth})")
    for name, default in (("--width", width), ("--degree", degrees)):
        part.add_argument(
            name, type=types.numbers, default=default, help=f"({default})"
        )
    part.add_argument("--rows", type=int, default=16384, help="batch (16384)")


def _rounds(part, name: str, default: int) -> None:
    part.add_argument(
        name,
        type=int,
        default=default,
        help=f"measurements; the best counts ({default})",
    )


# Modules are imported when their command runs, so that --help does not wait for JAX.


def _op(options) -> None:
    from experiments.bench import bench_op

    bench_op.tables(options.rows, options.width, options.degree, options.repeats)


def _step(options) -> None:
    from experiments.bench import bench_step

    bench_step.steps(
        options.depth, options.width, options.degree, options.rows, options.rounds
    )


def _dropin(options) -> None:
    from experiments.bench import bench_dropin

    bench_dropin.steps(options.sizes, options.rows, options.rounds)
    bench_dropin.compilations(min(options.rounds, 3))


def _compile(options) -> None:
    from experiments.bench import bench_step

    [width] = options.width
    bench_step.compilations(width, options.degree, options.rows, options.rounds)


def _memory(options) -> int:
    # JAX looks for a driver when it is imported, and reports an error without one.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from experiments.gpu import toolchain

    try:
        toolchain.require()
    except toolchain.ToolchainMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    with toolchain.no_driver_expected():
        from experiments.bench import bench_memory
        from experiments.gpu import gpu_compile, gpu_targets

        gpu_compile.device(gpu_targets.get(options.target))
    [width] = options.width
    bench_memory.table(
        options.target,
        options.depth,
        width,
        options.rows,
        options.degree,
        options.kernel,
    )
    return 0


def _epoch(options) -> int:
    from experiments.bench.bench_epoch import QUICK, cells_of, run
    from experiments.bench.epoch_measure import Setup
    from experiments.sweep import grid_filter

    names = (field.name for field in dataclasses.fields(Setup))
    given = {name: getattr(options, name) for name in names}
    try:
        setup = dataclasses.replace(
            QUICK if options.quick else Setup(),
            **{name: value for name, value in given.items() if value is not None},
        )
        cells = cells_of(grid_filter.from_options(options), everything=options.all)
        text = run(options.out, cells, setup, targets=options.target)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(text)
    print(f"written to {options.out}; start with {options.out / 'timing.md'}")
    return 0


def _seeds(options) -> None:
    from experiments.bench import bench_seeds

    bench_seeds.table(options.data, options.sizes, options.activation, options.rounds)


def _torch(options) -> int:
    from experiments.bench import bench_torch

    return bench_torch.table(
        options.data, options.size, options.rounds, options.epochs, options.seeds
    )


def _auc(options) -> None:
    from experiments.bench import bench_auc

    bench_auc.table(
        options.data, options.size, options.activation, options.epochs, options.seeds
    )


def _deep(options) -> None:
    from experiments.bench import bench_auc

    bench_auc.deep(options.data)


def _data(options) -> None:
    from experiments.bench import bench_data

    bench_data.report(options.rows, options.repeats)


def _split(options) -> None:
    from experiments.bench import bench_data

    bench_data.split_report(options.rows, options.repeats)
