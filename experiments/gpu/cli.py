"""``python -m experiments gpu``: what the kernels cost on GPUs that are not here."""

import argparse
import os
import sys
import time
from pathlib import Path

from experiments.gpu import targets, toolchain
from experiments.gpu.quiet import no_driver_expected

IMPLEMENTATIONS = ("xla", "pallas", "triton")

_DESCRIPTION = """\
Compile the Bernstein activation for named GPUs, on any Linux machine, and print for
each degree what the kernels need: registers, spilled bytes, shared memory, FP32
instructions and bytes of memory traffic for each element, occupancy, and the roofline
time, the least the GPU can take, as a multiple of ReLU's, with the resource that
sets it. Nothing is run, so nothing is timed.
"""


def main(argv: list[str]) -> int:
    """Run the experiment; returns the exit status."""
    options = parser().parse_args(argv)
    # JAX looks for a driver when it is imported, and reports an error without one.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        toolchain.require()
    except toolchain.ToolchainMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    return _run(options)


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(
        prog="python -m experiments gpu",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ",".join(targets.TARGETS)
    result.add_argument(
        "--target", type=_targets, default="a30", help=f"GPUs, of {names} (a30)"
    )
    result.add_argument(
        "--degree", type=_degrees, default="3,9,15,25", help="degrees (3,9,15,25)"
    )
    result.add_argument("--rows", type=_positive, default=16384, help="batch (16384)")
    result.add_argument("--width", type=_positive, default=256, help="neurons (256)")
    result.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), default="float32"
    )
    result.add_argument(
        "--implementation",
        type=_implementations,
        help="of xla,pallas,triton; one that is named must work (all that work here)",
    )
    result.add_argument(
        "--layers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also the traffic and memory of a whole layer (yes)",
    )
    result.add_argument(
        "--out", type=Path, default=Path("results/gpu"), help="folder (results/gpu)"
    )
    return result


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _targets(text: str) -> list[targets.Target]:
    try:
        return [targets.get(name) for name in _words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _implementations(text: str) -> list[str]:
    words = _words(text)
    for word in words:
        if word not in IMPLEMENTATIONS:
            known = ", ".join(IMPLEMENTATIONS)
            raise argparse.ArgumentTypeError(f"must be of {known}, got {word!r}")
    return words


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text!r}")
    return int(text)


def _degrees(text: str) -> list[int]:
    return [_positive(word) for word in _words(text)]


def _run(options: argparse.Namespace) -> int:
    with no_driver_expected():
        from experiments.gpu import compile, plot, sweep, table
        from experiments.gpu.programs import Workload

        compile.device(options.target[0])
    listed = sweep.jobs(
        options.target,
        Workload(options.rows, options.width, options.dtype),
        options.degree,
        options.implementation or list(IMPLEMENTATIONS),
        options.layers,
    )
    progress = Progress(len(listed))
    try:
        results = sweep.run(listed, progress.step, bool(options.implementation))
    except NotImplementedError as reason:
        print(f"\n{reason}", file=sys.stderr)
        return 1
    finally:
        progress.close()
    print(table.text(results.rows))
    if results.layers:
        print(table.layers_text(results.layers))
    for (target, implementation), reason in results.refused.items():
        print(f"{implementation} on {target} left out: {reason}")
    options.out.mkdir(parents=True, exist_ok=True)
    table.write_csv(results.rows, options.out / "gpu.csv")
    written = ["gpu.csv", "roofline.png", "roofline.svg"]
    if results.layers:
        table.write_csv(results.layers, options.out / "layers.csv")
        written.append("layers.csv")
    plot.write(results.rows, options.out / "roofline")
    print(f"wrote {', '.join(written)} to {options.out}")
    return 0


class Progress:
    """One line on standard error: how far, what now, how long it may still take."""

    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.start = time.monotonic()
        self.live = sys.stderr.isatty()

    def step(self, what: str) -> None:
        """Say that ``what`` begins."""
        spent = time.monotonic() - self.start
        left = spent / self.done * (self.total - self.done) if self.done else None
        remains = f", about {left:.0f} s left" if left is not None else ""
        self.done += 1
        line = f"[{self.done}/{self.total}] {what}{remains}"
        end = "" if self.live else "\n"
        print(f"\r\033[K{line}" if self.live else line, end=end, file=sys.stderr)
        sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
