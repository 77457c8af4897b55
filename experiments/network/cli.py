"""``python -m experiments network``: what a whole network costs, beside ReLU's."""

import argparse
import os
import sys

_DESCRIPTION = """\
Costs of a training step (loss and all gradients) of the paper's residual networks.

  gpu      memory held and bytes moved, compiled for a GPU; none is needed
  step     milliseconds on this machine, over widths and degrees
  compile  seconds to trace and compile 5 and 150 layers
  learn    whether deep networks learn from the default initialisation, on HIGGS rows
"""


def main(argv: list[str]) -> int:
    """Run the experiment; returns the exit status."""
    options = parser().parse_args(argv)
    return options.run(options) or 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(
        prog="python -m experiments network",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = result.add_subparsers(required=True, metavar="{gpu,step,compile,learn}")
    gpu = _kind(kinds, "gpu", _gpu, depth=150, degrees="9,25")
    gpu.add_argument("--target", default="a30", help="GPU (a30)")
    gpu.add_argument("--kernel", default="pallas", choices=("pallas", "triton"))
    step = _kind(kinds, "step", _step, depth=15, width="64,256", degrees="3,9,25")
    step.add_argument("--rounds", type=int, default=7, help="best of so many (7)")
    compiling = _kind(kinds, "compile", _compile, degrees="3,9,25")
    compiling.add_argument("--rounds", type=int, default=3, help="best of so many (3)")
    learn = kinds.add_parser("learn", help="train on HIGGS rows")
    learn.add_argument("--data", default="higgs", help="as for jb.data.load (higgs)")
    learn.set_defaults(run=_learn)
    return result


def _kind(kinds, name, run, *, depth=None, width="256", degrees):
    part = kinds.add_parser(name)
    if depth is not None:
        part.add_argument("--depth", type=int, default=depth, help=f"layers ({depth})")
    part.add_argument("--width", type=_numbers, default=width, help=f"({width})")
    part.add_argument("--degree", type=_numbers, default=degrees, help=f"({degrees})")
    part.add_argument("--rows", type=int, default=16384, help="batch (16384)")
    part.set_defaults(run=run)
    return part


def _numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise argparse.ArgumentTypeError(
            f"must be whole numbers from 1 on, separated by commas, such as 3,9; got {text!r}"
        )
    return [int(word) for word in words]


def _gpu(options) -> int:
    # JAX looks for a driver when it is imported, and reports an error without one.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from experiments.gpu import toolchain
    from experiments.gpu.quiet import no_driver_expected

    try:
        toolchain.require()
    except toolchain.ToolchainMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    with no_driver_expected():
        from experiments.gpu import compile, targets
        from experiments.network import gpu

        compile.device(targets.get(options.target))
    [width] = options.width
    gpu.table(
        options.target,
        options.depth,
        width,
        options.rows,
        options.degree,
        options.kernel,
    )
    return 0


def _step(options) -> None:
    from experiments.network import timing

    timing.steps(
        options.depth, options.width, options.degree, options.rows, options.rounds
    )


def _compile(options) -> None:
    from experiments.network import timing

    [width] = options.width
    timing.compilations(width, options.degree, options.rows, options.rounds)


def _learn(options) -> None:
    from experiments.network import learn

    learn.report(options.data)
