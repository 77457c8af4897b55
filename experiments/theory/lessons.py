"""What the errors of (b) show, in words; what can be counted is counted."""

from experiments.theory.theory_rate import Row, network_name

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
    """Markdown."""
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
    """How far the best error falls from the shallowest network to the deepest."""
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
