"""``python -m experiments gpu``: what the kernels cost on GPUs that are not here."""

import argparse
import os
import sys

from experiments.core.options import add_out, numbers, positive, words_of
from experiments.core.options import parser as new_parser
from experiments.core.progress import progress
from experiments.gpu import gpu_targets, toolchain, tpu_targets

IMPLEMENTATIONS = ("xla", "pallas", "mosaic", "triton")

_DESCRIPTION = """\
Compile the Bernstein activation for named GPUs, on any Linux machine, and print for
each degree what the kernels need: registers, spilled bytes, shared memory, FP32
instructions and bytes of memory traffic for each element, occupancy, and the roofline
time, the least the GPU can take, as a multiple of ReLU's, with the resource that
sets it. Nothing is run, so nothing is timed; on a machine with a GPU
`python -m experiments gpu run` checks and times everything. For TPUs (v5e, v6e; extra
tpu-aot) it prints the bytes of memory traffic that XLA's code needs for each element.
"""


def main(argv: list[str]) -> int:
    """Run the experiment; returns the exit status."""
    if argv[:1] == ["run"]:
        from experiments.gpu import run_command

        return run_command.main(argv[1:])
    options = parser().parse_args(argv)
    # JAX looks for a driver when it is imported, and reports an error without one.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    tpus = [target for target in options.target if isinstance(target, tpu_targets.Tpu)]
    options.target = [target for target in options.target if target not in tpus]
    try:
        if tpus:
            toolchain.require_tpu()
        if options.target:
            toolchain.require()
    except toolchain.ToolchainMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    if tpus:
        _run_tpus(options, tpus)
    return _run(options) if options.target else 0


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    result = new_parser("gpu", _DESCRIPTION)
    names = ",".join([*gpu_targets.TARGETS, *tpu_targets.TARGETS])
    result.add_argument(
        "--target", type=_targets, default="a30", help=f"cards, of {names} (a30)"
    )
    result.add_argument(
        "--degree", type=numbers, default="3,9,15,25", help="degrees (3,9,15,25)"
    )
    result.add_argument("--rows", type=positive, default=16384, help="batch (16384)")
    result.add_argument("--width", type=positive, default=256, help="neurons (256)")
    result.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), default="float32"
    )
    result.add_argument(
        "--outside",
        choices=("clamp", "linear"),
        default="clamp",
        help="what the activation does outside of its interval (clamp)",
    )
    result.add_argument(
        "--implementation",
        type=words_of(IMPLEMENTATIONS),
        help="of xla,pallas,mosaic,triton; one that is named must work (all that work here)",
    )
    result.add_argument(
        "--layers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also the traffic and memory of a whole layer (yes)",
    )
    add_out(result, "results/gpu")
    return result


def _targets(text: str) -> list[gpu_targets.Target | tpu_targets.Tpu]:
    tpus = tpu_targets.TARGETS
    try:
        return [tpus.get(name) or gpu_targets.get(name) for name in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run_tpus(options: argparse.Namespace, tpus: list[tpu_targets.Tpu]) -> None:
    """Print the traffic of TPU programs."""
    from experiments.gpu import gpu_tables, tpu_compile
    from experiments.gpu.gpu_programs import Workload

    workload = Workload(options.rows, options.width, options.dtype, options.outside)
    cases = tpu_compile.cases(tpus, workload, options.degree)
    rows = []
    with progress(len(cases), lines=True) as done:
        for case in cases:
            rows.append(tpu_compile.measure(*case))
            done(f"{rows[-1].target} n={rows[-1].degree} {rows[-1].which}")
    print(tpu_compile.text(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    gpu_tables.write_csv(rows, options.out / "tpu.csv")
    print(f"wrote tpu.csv to {options.out}")


def _run(options: argparse.Namespace) -> int:
    with toolchain.no_driver_expected():
        from experiments.gpu import gpu_compile, gpu_jobs, gpu_plot, gpu_tables
        from experiments.gpu.gpu_programs import Workload

        gpu_compile.device(options.target[0])
    listed = gpu_jobs.jobs(
        options.target,
        Workload(options.rows, options.width, options.dtype, options.outside),
        options.degree,
        options.implementation or list(IMPLEMENTATIONS),
        options.layers,
    )
    try:
        with progress(len(listed), lines=True) as done:
            results = gpu_jobs.run(listed, done, bool(options.implementation))
    except NotImplementedError as reason:
        print(reason, file=sys.stderr)
        return 1
    print(gpu_tables.text(results.rows))
    if results.layers:
        print(gpu_tables.layers_text(results.layers))
    for (target, implementation), reason in results.refused.items():
        print(f"{implementation} on {target} left out: {reason}")
    options.out.mkdir(parents=True, exist_ok=True)
    gpu_tables.write_csv(results.rows, options.out / "gpu.csv")
    written = ["gpu.csv", "roofline.png", "roofline.svg"]
    if results.layers:
        gpu_tables.write_csv(results.layers, options.out / "layers.csv")
        written.append("layers.csv")
    gpu_plot.write(results.rows, options.out / "roofline")
    print(f"wrote {', '.join(written)} to {options.out}")
    return 0
