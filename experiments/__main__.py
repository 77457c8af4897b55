"""``python -m experiments NAME ...`` runs one experiment; without a name it lists them.

An experiment is a module with ``main(argv) -> int | None``. It is imported only when it
is run, so that the list of experiments appears at once.
"""

import contextlib
import difflib
import errno
import importlib
import os
import sys

# name: (module, what it does)
EXPERIMENTS = {
    "bench": (
        "experiments.bench.bench_command",
        "time and memory of activation, step, epoch, data; against ReLU and PyTorch",
    ),
    "capacity": (
        "experiments.capacity.capacity_command",
        "one neuron that solves XOR: what small networks can do, against ReLU",
    ),
    "certified": (
        "experiments.certified.certified_command",
        "train networks for certified robustness: Bernstein, ReLU, DeepBern-Nets",
    ),
    "comparison": (
        "experiments.comparison.comparison_command",
        "time, memory and training against DeepBern-Nets, rationals and KANs",
    ),
    "data": (
        "experiments.data.data_command",
        "list the data on this machine; download, convert and plot them",
    ),
    "demo": (
        "experiments.demo",
        "run everything once, in minutes: capacity, a small sweep, its report",
    ),
    "dropin": (
        "experiments.dropin.dropin_command",
        "BernsteinAct in ordinary networks, against relu, gelu, silu and tanh",
    ),
    "gpu": (
        "experiments.gpu.gpu_command",
        "compile for named GPUs without one: registers, instructions, roofline",
    ),
    "plan": (
        "experiments.sweep.plan_command",
        "cost of a sweep: cells, parameters, memory on a GPU, time",
    ),
    "report": (
        "experiments.report.report_command",
        "the paper's tables and figures from a sweep, next to the paper's numbers",
    ),
    "sensitivity": (
        "experiments.sensitivity.sensitivity_command",
        "effect of interval, initialisation, decay and shape on the conclusions",
    ),
    "sweep": (
        "experiments.sweep.sweep_command",
        "train the paper's grid or a part of it; resumes after a kill",
    ),
    "theory": (
        "experiments.theory.theory_command",
        "check the paper's theory: degree, rate, stability, table of bounds",
    ),
}
# Earlier names of commands, and what to write instead.
RENAMED = {
    "network": "bench memory, bench step, bench compile or bench deep",
    "timing": "bench epoch",
    "training": "bench seeds, bench torch or bench auc",
}


def usage() -> str:
    """Return the list of experiments."""
    width = max(map(len, EXPERIMENTS))
    lines = [f"  {name:<{width}}  {what}" for name, (_, what) in EXPERIMENTS.items()]
    return "\n".join(
        [
            "usage: python -m experiments NAME [options]",
            "",
            *lines,
            "",
            "python -m experiments NAME --help explains the options of each.",
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Run the experiment that ``argv`` names."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = argv
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        if name in RENAMED:
            hint = f": it is {RENAMED[name]} now"
        print(f"no experiment is called {name!r}{hint}\n\n{usage()}", file=sys.stderr)
        return 2
    try:
        status = importlib.import_module(EXPERIMENTS[name][0]).main(rest) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe early, as head -1 does
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except OSError as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 3 if problem.errno in (errno.ENOSPC, errno.EDQUOT) else 1
    return status


if __name__ == "__main__":
    sys.exit(main())
