"""``python -m experiments NAME ...`` runs one experiment; without a name it lists them.

An experiment is a module with ``main(argv) -> int | None``, imported only when it is
run, so that asking for help costs nothing.
"""

import difflib
import importlib
import sys

# name: (module, what it does)
EXPERIMENTS = {
    "bench": (
        "experiments.bench",
        "time forward and both gradients against other ways to write them",
    ),
    "capacity": (
        "experiments.capacity.command",
        "one neuron that solves XOR: what small networks can do, beside ReLU",
    ),
    "comparison": (
        "experiments.comparison.command",
        "time, memory and training beside DeepBern-Nets, rationals and KANs",
    ),
    "data": (
        "experiments.data.cli",
        "what data there are; fetch, convert, draw and time them",
    ),
    "demo": (
        "experiments.demo",
        "everything once, in minutes: capacity, a small sweep, its report",
    ),
    "gpu": (
        "experiments.gpu.cli",
        "compile for named GPUs without one: registers, instructions, roofline",
    ),
    "network": (
        "experiments.network.cli",
        "memory, traffic and time of a whole training step, beside ReLU's",
    ),
    "plan": (
        "experiments.sweep.plan",
        "what a sweep would take: cells, parameters, memory on a card, time",
    ),
    "report": (
        "experiments.report.cli",
        "the paper's tables and figures from a sweep, beside the paper's numbers",
    ),
    "sensitivity": (
        "experiments.sensitivity.command",
        "do the conclusions hang on interval, initialisation, decay or shape?",
    ),
    "sweep": (
        "experiments.sweep.cli",
        "train a part of the paper's grid, or all of it; killed, it goes on",
    ),
    "timing": (
        "experiments.timing.command",
        "time and memory of an epoch over the grid, as ratios to ReLU",
    ),
    "theory": (
        "experiments.theory.command",
        "degree, rate, stability and the table of bounds of the paper, checked",
    ),
    "training": (
        "experiments.training.cli",
        "the training engine: times, beside PyTorch, AUC on HIGGS, kill and resume",
    ),
}


def usage() -> str:
    """The list of experiments."""
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
        print(f"no experiment is called {name!r}{hint}\n\n{usage()}", file=sys.stderr)
        return 2
    return importlib.import_module(EXPERIMENTS[name][0]).main(rest) or 0


if __name__ == "__main__":
    sys.exit(main())
