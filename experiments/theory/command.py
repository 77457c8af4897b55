"""``python -m experiments theory``: the paper's statements, checked."""

import argparse
from pathlib import Path
from typing import Any

from experiments.progress import progress

_DESCRIPTION = """\
(a) the degree of a deep Bernstein network, in exact arithmetic; (b) errors of small fitted
networks against depth and degree, beside the bounds; (c) slopes of trained activations
beside theirs; (d) the paper's table of rates for given W, L, n and d. Writes tables (CSV,
Markdown) and figures (PNG, SVG).
"""
# Depth and degree; the highest degree is 243.
_PAIRS = [
    (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (1, 3), (2, 3), (3, 3), (4, 3), (5, 3),
    (1, 5), (2, 5), (3, 5), (1, 9), (2, 9), (1, 15), (2, 15), (1, 25),
]  # fmt: skip
_FEW = [(1, 2), (2, 2), (3, 2), (2, 3)]


def main(argv: list[str]) -> int:
    """Run the checks; 1 if the lemma or the proposition fails anywhere."""
    options = _parser().parse_args(argv)
    if options.table:
        from experiments.theory import bounds, report

        print(report.bounds_table(bounds.rates(*_shape(options))))
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
    """Check everything, write everything; what was found, and the files."""
    # Imported here: help must not wait for JAX.
    from experiments.capacity.figures import save
    from experiments.theory import bounds, degree, figures, rate, report, stability

    out.mkdir(parents=True, exist_ok=True)
    table = bounds.rates(*shape)  # first: it refuses wrong numbers before any work
    effort = rate.QUICK if quick else rate.Effort()
    fits = len(effort.depths) * (1 + len(effort.degrees))
    with progress(fits + 3) as done:
        degrees = degree.check(_FEW if quick else _PAIRS)
        done("degrees")
        trained = rate.measure(effort, done)
        neurons = [
            neuron
            for each in trained
            if each.row.degree is not None
            for neuron in stability.check(_name(each.row), each.layers)
        ]
        done("slopes")
        rows = [each.row for each in trained]
        found = report.Findings(
            effort, degrees, degree.outside(2, 3), rows, neurons, table, shape
        )
        written = save(figures.draw_rate(rows), out / "rate")
        written += save(figures.draw_stability(neurons), out / "stability")
        written += report.write(found, out)
        done("figures")
    return found, written


def _name(row: Any) -> str:
    return f"{row.target}, L={row.depth} n={row.degree}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments theory",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    parser.add_argument(
        "--out", type=Path, default=Path("results/theory"), help="(%(default)s)"
    )
    return parser


def _shape(options: argparse.Namespace) -> tuple[int, int, int, int]:
    return options.width, options.depth, options.degree, options.dimension
