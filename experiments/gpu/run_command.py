"""``python -m experiments gpu run``: everything that a GPU can say about the kernels."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from experiments.core.options import add_out, numbers, words_of
from experiments.core.options import parser as new_parser

IMPLEMENTATIONS = ("pallas", "mosaic", "triton", "xla")

_DESCRIPTION = """\
On a machine with a GPU: check every kernel against de Casteljau's algorithm in float64,
time forward, gradient and whole training steps beside ReLU, beside the least time that the
GPU allows and beside the paper, and try launch configurations. Writes one page and one
CSV, which belong into a report of a bug. Without a GPU it says what it would do.
"""


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    result = new_parser("gpu run", _DESCRIPTION)
    result.add_argument("--degree", type=numbers, help="degrees (3,9,15,25)")
    result.add_argument(
        "--implementation",
        type=words_of(IMPLEMENTATIONS),
        help="of pallas,mosaic,triton,xla (all that can run here)",
    )
    result.add_argument("--quick", action="store_true", help="a minute instead of ten")
    result.add_argument(
        "--no-tune", action="store_true", help="leave the launch configurations alone"
    )
    add_out(result, "results/gpu-run")
    return result


def main(argv: list[str]) -> int:
    """Run it; returns the exit status: 1 if a kernel is wrong."""
    options = parser().parse_args(argv)
    from experiments.gpu.run_page import write
    from experiments.gpu.run_plan import Card

    names = tuple(options.implementation or IMPLEMENTATIONS)
    if (card := Card.at_hand()) is None:
        import jax

        device = jax.devices()[0]
        print(f"There is no CUDA GPU here: JAX's first device is {device.device_kind}.")
        print(f"With one, this would\n{_plan(options, names).text()}")
        print(f"and write gpu-run.md and gpu-run.csv to {options.out}.")
        return 0
    found = run(options, names, card)
    print(f"wrote {', '.join(write(found, options.out))} to {options.out}")
    for check in found.wrong:
        print(f"wrong: {check}")
    return 1 if found.wrong else 0


def _plan(options: argparse.Namespace, names: tuple[str, ...]) -> Any:
    from dataclasses import replace

    from experiments.gpu.run_plan import Plan

    plan = Plan.quick(names) if options.quick else Plan(names)
    if options.degree:
        plan = replace(plan, degrees=tuple(options.degree))
    return replace(plan, tune=plan.tune and not options.no_tune)


def run(
    options: argparse.Namespace,
    names: tuple[str, ...],
    card: Any,
    clock: Any = None,
    usable: Callable[[str], str | None] | None = None,
    tune: Callable[..., Any] | None = None,
    report: Callable[[str], None] = print,
) -> Any:
    """Collect all findings on ``card``; clock, choice and tuner default to the machine's.

    An implementation that was asked for and cannot run is an error.
    """
    import jaxbern as jb
    from experiments.core.environment import environment
    from experiments.gpu import run_check, run_plan, run_time
    from experiments.gpu.run_page import Findings

    reasons = {name: (usable or run_plan.usable)(name) for name in names}
    left_out = {name: why for name, why in reasons.items() if why is not None}
    if options.implementation and left_out:
        name, why = next(iter(left_out.items()))
        raise SystemExit(f"--implementation {name} cannot run here: {why}")
    plan = _plan(options, tuple(name for name in names if name not in left_out))
    clock = clock or _clock(plan.rounds)
    found = Findings(card, environment(), jb.explain(), left_out)
    report(plan.text())
    _collect(found.checks, run_check.checks(plan), report)
    if any(not check.good for check in found.checks):
        return found  # times of wrong results are of no use
    _collect(found.timings, run_time.timings(plan, card.target, clock), report)
    _collect(found.steps, run_time.steps(plan, clock), report)
    kernels = [name for name in plan.implementations if name != "xla"]
    if plan.tune and kernels:
        (rows, width), lines = plan.timed, found.tuning
        for degree in plan.degrees:
            options_of = {"implementation": kernels[0], "report": lines.append}
            (tune or jb.autotune)(rows, width, degree, **options_of)
            report(lines[-1] if lines else "")
    return found


def _collect(into: list, results: Iterable, report: Callable[[str], None]) -> None:
    for result in results:
        into.append(result)
        report(str(result))


def _clock(rounds: int) -> Callable[[Callable[[], Any]], float]:
    """Return the best time of several calls, after one that compiles."""
    from experiments.core.timing import best_in_turns, timed

    def clock(call: Callable[[], Any]) -> float:
        call()
        return best_in_turns({0: timed(call)}, rounds)[0]

    return clock
