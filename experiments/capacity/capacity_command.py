"""``python -m experiments capacity``: run Experiment 1 of the paper."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.capacity.capacity_tasks import QUICK, TASKS, Budget
from experiments.core.options import add_out
from experiments.core.options import parser as new_parser
from experiments.core.progress import progress

_DESCRIPTION = """\
XOR, two moons, sinusoidal bands, a damped oscillator and a Gaussian sine, learned by one
hidden layer of one or two Bernstein neurons (DBN) and by ReLU networks with the same
training: 32 seeds each, on held-out points, beside the paper's figures. Writes tables (CSV,
Markdown), figures (PNG, SVG) and an animation (GIF).
"""


def main(argv: list[str]) -> int:
    """Run the experiment; return the exit status."""
    parser = new_parser("capacity", _DESCRIPTION)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few seeds and steps, as a smoke test",
    )
    add_out(parser, "results/capacity")
    parser.add_argument(
        "--picture", type=Path, metavar="PNG",
        help="also write the picture of one neuron that solves XOR to this file",
    )  # fmt: skip
    options = parser.parse_args(argv)
    budget = QUICK if options.quick else Budget()
    run(options.out, budget, picture=options.picture, say=print)
    return 0


def run(
    out: Path,
    budget: Budget,
    *,
    tasks=TASKS,
    picture: Path | None = None,
    say=lambda text: None,
) -> list:
    """Train and write everything; return the rows of results.

    The first of ``tasks`` must be a classification, as the animation shows it.
    """
    # Imported here, so that --help does not wait for JAX.
    from experiments.capacity import (
        capacity_figures,
        capacity_report,
    )
    from experiments.capacity.capacity_results import rows

    out.mkdir(parents=True, exist_ok=True)
    with progress((5 if budget.batchnorm else 3) * len(tasks) + 3) as done:
        outcomes = train_all(tasks, budget, done)
        written = capacity_report.write(outcomes, out, budget)
        for outcome in outcomes:
            written += capacity_figures.save(
                capacity_figures.draw(outcome), out / outcome.task.name
            )
            done(f"figure of {outcome.task.title}")
        written += capacity_figures.save(
            capacity_figures.draw_seeds(outcomes), out / "seeds"
        )
        done("figure of all seeds")
        xor = outcomes[0]
        capacity_figures.write(xor, out / "xor_blobs.gif", budget)
        written.append(out / "xor_blobs.gif")
        done("animation")
        written += capacity_figures.save(
            capacity_figures.draw_xor(xor), out / "xor", dpi=100
        )
        if picture is not None:
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes((out / "xor.png").read_bytes())
            written.append(picture)
        done("picture of one neuron")
    say(capacity_report.results_table(outcomes))
    say(f"wrote {len(written)} files to {out}; start with {out / 'capacity.md'}")
    return [row for outcome in outcomes for row in rows(outcome)]


def train_all(tasks, budget: Budget, done=lambda what: None) -> list:
    """Train every task and return the outcomes.

    While one program runs, another thread compiles the next. Two programs never run at a
    time: each uses all cores, and XLA's threads have been seen to deadlock.
    """
    from experiments.capacity import capacity_training
    from experiments.capacity.capacity_results import Outcome

    runs = [capacity_training.runs_of(task, budget) for task in tasks]
    points = [
        capacity_training.draw(task, own) for task, own in zip(tasks, runs, strict=True)
    ]

    def compiled(k: int, batchnorm: bool, network):
        few = slice(budget.seeds_of_variants if batchnorm else None)
        own = capacity_training.Points(*(array[few] for array in points[k]))
        return capacity_training.compiled(
            tasks[k], network, runs[k][few], own, budget, batchnorm=batchnorm
        )

    found = [({}, {}) for _ in tasks]  # without and with BatchNorm
    with ThreadPoolExecutor(1) as pool:
        programs = [
            (k, batchnorm, network, pool.submit(compiled, k, batchnorm, network))
            for k, task in enumerate(tasks)
            for batchnorm in ((False, True) if budget.batchnorm else (False,))
            for network in task.networks
        ]
        for k, batchnorm, network, program in programs:
            found[k][batchnorm][network.kind] = program.result()()
            done(f"{tasks[k].title}, {network}")
    return [
        Outcome(task, runs[k], points[k], *found[k]) for k, task in enumerate(tasks)
    ]
