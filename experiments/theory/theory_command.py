"""``python -m experiments theory``: check the paper's statements."""

import argparse
from pathlib import Path
from typing import Any

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser
from experiments.core.progress import progress

_DESCRIPTION = """\
(a) the degree of a deep Bernstein network, in exact arithmetic; (b) errors of small fitted
networks against depth and degree, with the bounds; (c) slopes of trained activations with
their bounds; (d) the paper's table of rates for given W, L, n and d. Writes tables (CSV,
Markdown) and figures (PNG, SVG).
"""
# Depth and degree; the highest degree is 243.
_PAIRS = [
    (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (1, 3), (2, 3), (3, 3), (4, 3), (5, 3),
    (1, 5), (2, 5), (3, 5), (1, 9), (2, 9), (1, 15), (2, 15), (1, 25),
]  # fmt: skip
_FEW = [(1, 2), (2, 2), (3, 2), (2, 3)]


def main(argv: list[str]) -> int:
    """Run the checks; return 1 if the lemma or the proposition fails anywhere."""
    options = _parser().parse_args(argv)
    if options.table:
        from experiments.theory import rate_bounds, theory_report

        print(theory_report.bounds_table(rate_bounds.rates(*_shape(options))))
        return 0
    found, written = run(options.out, quick=options.quick, shape=_shape(options))
    print(f"wrote {len(written)} files to {options.out}; see {written[-1]}")
    if not found.holds:
        print("a statement does NOT hold: see the tables")
        return 1
    print("the degree lemma and the slope bounds hold wherever they were checked")
    return 0


def run(
    out: Path, *, quick: bool, shape: tuple[int, int, int, int] = (16, 5, 9, 28)
) -> tuple[Any, list[Path]]:
    """Check and write everything; return the findings and the files."""
    # Imported here, so that --help does not wait for JAX.
    from experiments.capacity.capacity_figures import save
    from experiments.theory import (
        rate_bounds,
        theory_degree,
        theory_figures,
        theory_rate,
        theory_report,
        theory_stability,
    )

    out.mkdir(parents=True, exist_ok=True)
    # First, because it checks the options before any work.
    table = rate_bounds.rates(*shape)
    effort = theory_rate.QUICK if quick else theory_rate.Effort()
    fits = len(effort.depths) * (1 + len(effort.degrees))
    with progress(fits + 3) as done:
        degrees = theory_degree.check(_FEW if quick else _PAIRS)
        done("degrees")
        trained = theory_rate.measure(effort, done)
        neurons = [
            neuron
            for each in trained
            if each.row.degree is not None
            for neuron in theory_stability.check(_name(each.row), each.layers)
        ]
        done("slopes")
        rows = [each.row for each in trained]
        found = theory_report.Findings(
            effort, degrees, theory_degree.outside(2, 3), rows, neurons, table, shape
        )
        written = save(theory_figures.draw_rate(rows), out / "rate")
        written += save(theory_figures.draw_stability(neurons), out / "stability")
        written += theory_report.write(found, out)
        done("figures")
    return found, written


def _name(row: Any) -> str:
    return f"{row.target}, L={row.depth} n={row.degree}"


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("theory", _DESCRIPTION)
    parser.add_argument("--quick", action="store_true", help="few and small networks")
    parser.add_argument(
        "--table", action="store_true", help="only print the table of rates (d)"
    )
    for name, letter, default in (
        ("width", "W", 16),
        ("depth", "L", 5),
        ("degree", "n", 9),
        ("dimension", "d", 28),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar=letter,
            help=f"of the table of rates ({default})",
        )  # fmt: skip
    add_out(parser, "results/theory")
    return parser


def _shape(options: argparse.Namespace) -> tuple[int, int, int, int]:
    return options.width, options.depth, options.degree, options.dimension
