"""Write the four checks as CSV files and one Markdown page."""

import dataclasses
from pathlib import Path

from experiments.core.tables import Lines, csv_text, pipe_table
from experiments.theory import rate_bounds, theory_degree, theory_rate, theory_stability
from experiments.theory.theory_fitting import LOWER, TARGETS, UPPER
from experiments.theory.theory_rate import SMALLEST, Row, network_name


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results of all checks."""

    effort: theory_rate.Effort
    degrees: list[theory_degree.Row]
    outside: theory_degree.Row
    rates: list[theory_rate.Row]
    neurons: list[theory_stability.Row]
    table: list[rate_bounds.Rate]
    shape: tuple[int, int, int, int]  # W, L, n, d of the table

    @property
    def holds(self) -> bool:
        """Whether lemma and proposition hold everywhere they were checked."""
        return all(row.holds for row in (*self.degrees, *self.neurons))


def write(found: Findings, out: Path) -> list[Path]:
    """Write ``degree.csv``, ``rate.csv``, ``stability.csv``, ``bounds.csv``, ``theory.md``."""
    texts = {
        "degree.csv": csv_text(
            map(dataclasses.asdict, [*found.degrees, found.outside])
        ),
        "rate.csv": csv_text(map(theory_rate.as_record, found.rates)),
        "stability.csv": csv_text(map(dataclasses.asdict, found.neurons)),
        "bounds.csv": csv_text(map(dataclasses.asdict, found.table)),
        "theory.md": markdown(found),
    }
    for name, text in texts.items():
        (out / name).write_text(text)
    return [out / name for name in texts]


def markdown(found: Findings) -> str:
    """Format the page."""
    parts = [
        "# The theory, checked",
        "## (a) A network of depth L and degree n is a polynomial of degree n^L",
        "Networks with rational coefficients in exact arithmetic, inputs inside of their "
        "intervals, along a line: differences of order n^L + 1 must vanish exactly, and "
        "the degree is the highest order that does not. Chebyshev's polynomials, one "
        "neuron for each layer, compose to the one of degree n^L.",
        degree_table(found.degrees),
        _outside(found.outside),
        "## (b) The error against depth and degree",
        _method(found.effort),
        rate_table(found.rates),
        lessons(found.rates),
        "![errors and bounds](rate.png)",
        "## (c) How steep an activation is",
        _stability(found.neurons),
        stability_table(found.neurons),
        "![slopes and bounds](stability.png)",
        "## (d) The paper's table of rates",
        "Width W = {}, depth L = {}, degree n = {}, dimension d = {}.".format(
            *found.shape
        ),
        bounds_table(found.table),
        "A bound is the modulus of continuity of the target at this number, times a "
        "constant; for a Lipschitz function the number itself, for sqrt|x| its root.",
    ]
    return "\n\n".join(parts) + "\n"


def degree_table(rows: list[theory_degree.Row]) -> str:
    """Return the rows of table (a), the degree of networks."""
    lines: Lines = [
        ("network", "L", "n", "n^L", "degree found", "order n^L + 1 vanishes")
    ]
    for row in rows:
        lines.append(
            (
                row.network,
                str(row.depth),
                str(row.degree),
                str(row.bound),
                str(row.measured),
                "exactly" if row.vanishes else "NO",
            )
        )
    return pipe_table(lines)


def rate_table(rows: list[theory_rate.Row]) -> str:
    """Return the rows of table (b), errors and bounds."""
    lines: Lines = [("target", "network", "L", "n^L", "parameters", "best error", "median",
              "bound", "best / bound", "best polynomial", "inputs outside",
              "what limits it")]  # fmt: skip
    for row in rows:
        dbn = row.degree is not None
        lines.append(
            (
                row.target,
                theory_rate.network_name(row.degree),
                str(row.depth),
                str(row.degree**row.depth) if row.degree is not None else "",
                str(row.parameters),
                f"{row.best:.2e}",
                f"{row.median:.2e}",
                f"{row.bound:.2e}",
                f"{row.best / row.bound:.2g}",
                _polynomial(row.polynomial),
                f"{row.outside:.0%}" if dbn else "",
                theory_rate.limited(row),
            )
        )
    return pipe_table(lines)


def stability_table(neurons: list[theory_stability.Row]) -> str:
    """Return the rows of table (c): per network, the neuron nearest to its sharp bound."""
    lines: Lines = [("network", "neurons", "steepest slope", "its bound", "paper's bound",
              "nearest to its bound", "nearest to the paper's")]  # fmt: skip
    for name in dict.fromkeys(row.network for row in neurons):
        own = [row for row in neurons if row.network == name]
        steepest = max(own, key=lambda row: row.measured)
        lines.append(
            (
                name,
                str(len(own)),
                f"{steepest.measured:.3g}",
                f"{steepest.sharp:.3g}",
                f"{steepest.paper:.3g}",
                f"{max(row.measured / row.sharp for row in own):.0%}",
                f"{max(row.measured / row.paper for row in own):.0%}",
            )
        )
    return pipe_table(lines)


def bounds_table(rates: list[rate_bounds.Rate]) -> str:
    """Return the rows of table (d), the paper's rates."""
    lines: Lines = [("method", "formula", "omega_f of")]
    for row in rates:
        small = row.log10_delta < -4
        number = f"10^{row.log10_delta:.1f}" if small else f"{row.delta:.3g}"
        lines.append((row.method, row.formula, number))
    return pipe_table(lines)


def _method(effort: theory_rate.Effort) -> str:
    named = ", ".join(f"{target.formula} ({target.name})" for target in TARGETS)
    return (
        f"Targets on [-1, 1]: {named}. Networks of width {effort.width} without BatchNorm, "
        f"activations on [{LOWER:g}, {UPPER:g}], fitted in double precision by "
        f"Levenberg-Marquardt, {effort.iterations} steps, from the mean square towards the "
        f"maximum norm; the best of {effort.seeds} seeds and, from L = 2 on, of "
        f"{effort.seeds // 2} more that start from the best networks of one layer less, "
        "with the identity as a new layer. Errors are maxima over points "
        "that were not fitted. Bounds are omega_f(n^-L) and omega_f((W^2 L^2)^-1) with the "
        "target's own modulus of continuity."
    )


def _outside(row: theory_degree.Row) -> str:
    found = "vanishes" if row.vanishes else "does not vanish"
    return (
        "The assumption matters. With the first interval an eighth as long, inputs are "
        f"clamped, and for L = {row.depth}, n = {row.degree} the difference of order "
        f"{row.bound + 1} {found}: it is no polynomial of that degree."
    )


def _stability(neurons: list[theory_stability.Row]) -> str:
    slope, printed = theory_stability.counterexample()
    broken = sum(not row.holds for row in neurons)
    return (
        "max|sigma'| of every neuron of the networks of (b), by the library's derivative, "
        "against n max|c_{k+1} - c_k| / (u - l), which implies 2 n max|c_k| / (u - l). "
        f"Bounds broken: {broken} of {len(neurons)} neurons. |d sigma / d c_k| is at most "
        f"{max(row.in_coefficients for row in neurons):.6g}. The paper prints "
        "2 n max|c_k| without the length of the interval, which is weaker on [-3, 3] and "
        "wrong on intervals shorter than one: on [0, 1/4] the line from -1 to 1 has slope "
        f"{slope}, the printed bound is {printed}."
    )


def _polynomial(error: float | None) -> str:
    if error is None:
        return ""
    return f"{error:.2e}" if error > SMALLEST else f"below {SMALLEST:.0e}"


_TEXT = """\
What this shows, and what not:

- The bounds have no constant here (it is taken as one), so only their slopes can be compared.
  {above}
- The bound by the modulus of continuity is far from sharp on the smooth target: for an
  analytic function the best polynomials converge geometrically.
- {gains}
- At low n^L a DBN can beat every polynomial of degree n^L: trained freely, it lets inputs
  leave the interval, where it is constant. It is then a spline, and the lemma's assumption
  does not hold for it (see "inputs outside").
- At high n^L it stays far above the best polynomial of that degree: of the n^L + 1
  coefficients it has the parameters for a small part, and the fit ends in local minima.
  The theorem assumes that the best polynomial is among the networks; for such narrow ones
  it is not, and the rate n^-L is that of the assumption.
- The root is hard for polynomials (their error falls like the root of 1/n^L) and easy for
  kinks that crowd around zero. There, what the best network has over the bound comes from
  kinks, ReLU's or those at the ends of the interval."""


def lessons(rows: list[Row]) -> str:
    """Format what the rates show, and what they do not."""
    return _TEXT.format(above=_above(rows), gains=_gains(rows))


def _above(rows: list[Row]) -> str:
    above = [
        f"{network_name(row.degree)} with L = {row.depth} on the {row.target} target "
        f"({row.best / row.bound:.2g} times)"
        for row in rows
        if row.best > row.bound
    ]
    if not above:
        return "No network here is above its bound."
    return f"Above their bounds are: {', '.join(above)}."


def _gains(rows: list[Row]) -> str:
    """State by which factor the best error falls from the shallowest network to the deepest."""
    first, last = min(row.depth for row in rows), max(row.depth for row in rows)
    sentences = []
    for target in dict.fromkeys(row.target for row in rows):
        best = {
            (network_name(r.degree), r.depth): r.best
            for r in rows
            if r.target == target
        }
        kinds = dict.fromkeys(kind for kind, _ in best)
        falls = [f"{kind} {best[kind, first] / best[kind, last]:.2g}" for kind in kinds]
        sentences.append(f"{target}: {', '.join(falls)}")
    return (
        f"From L = {first} to L = {last} the best error falls by these factors. "
        f"{'; '.join(sentences)}."
    )
