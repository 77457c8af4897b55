"""``jaxbern.certify.robustness``: is a prediction the same for all inputs nearby?"""

import math
import numbers as abstract
import time
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import ArrayLike

from jaxbern.certify import _arguments, _attack, _modules, _programs
from jaxbern.certify._ball import NORMS, Ball
from jaxbern.certify._rounding import Bounds
from jaxbern.certify._search import Region, Search
from jaxbern.op import arithmetic

PROVED, BROKEN, UNKNOWN = "proved", "broken", "unknown"


@dataclass(frozen=True, eq=False)
class Robustness:
    """The verdict on each row.

    Attributes:
      verdict: ``[rows]``, ``"proved"``, ``"broken"`` or ``"unknown"``.
      margins: ``[rows, classes - 1]``, lower bounds of the margins over every other class
        that hold for all inputs nearby; of a row that is proved they are positive.
      counterexamples: ``[rows, ...]``, an input nearby that gets another class; NaN in rows
        that are not broken.
      parts: ``[rows]``, how many parts were bounded.
      seconds: how long it took, compiling included.
    """

    verdict: np.ndarray
    margins: np.ndarray
    counterexamples: np.ndarray
    parts: np.ndarray
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def proved(self) -> np.ndarray:
        """``[rows]``: whether no input nearby changes the class."""
        return self.verdict == PROVED

    @property
    def broken(self) -> np.ndarray:
        """``[rows]``: whether an input nearby is known that does, or the row is wrong."""
        return self.verdict == BROKEN

    @property
    def certified_accuracy(self) -> float:
        """The fraction of rows that are right, and proved to stay so."""
        return float(np.mean(self.proved)) if len(self.proved) else math.nan

    def __str__(self) -> str:
        """Format a table of verdicts."""
        rows = len(self.verdict)
        eps, norm = self.settings.get("eps"), self.settings.get("norm")
        lines = [f"{rows} rows, eps {eps:g} in the norm {norm:g}, {self.seconds:.1f} s"]
        lines.append(f"{'verdict':<8} {'rows':>6} {'share':>7} {'parts':>8}")
        for name in (PROVED, BROKEN, UNKNOWN):
            chosen = self.verdict == name
            share = np.mean(chosen) if rows else 0.0
            parts = int(self.parts[chosen].sum())
            lines.append(f"{name:<8} {int(chosen.sum()):>6} {share:>7.1%} {parts:>8}")
        return "\n".join(lines)


def robustness(
    model: nnx.Module,
    x: ArrayLike,
    labels: ArrayLike,
    eps: float,
    *,
    norm: float = math.inf,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    seconds: float = 0.0,
    attacks: int = 3,
    seed: int = 0,
    progress: bool | None = None,
) -> Robustness:
    """Decide each row: proved, broken by a counterexample, or unknown.

    A row is *proved* if its class has the largest logit for every input within ``eps``, with
    affine bounds and for the stored numbers in exact arithmetic, as :func:`bounds`. It is
    *broken* if the network itself, as it computes, gives another class the largest logit
    at an input within ``eps``, which projected gradients look for, or at the row itself.

    With ``seconds`` the rows that are left are cut into parts, along inputs or activations,
    whichever helps more, until each is proved or broken or the time is over. Compiling and
    the first pass over all rows are not counted.

    Args:
      model: in evaluation mode, as for :func:`bounds`; one row of logits for each input.
      x: inputs ``[rows, ...]``.
      labels: classes ``[rows]``, whole numbers.
      eps: radius.
      norm: of the distance: ``jnp.inf`` (each entry within ``eps``), 2 or 1.
      lower: least value that an input can have, such as 0 for pixels, or one for each.
      upper: largest value.
      seconds: time for cutting into parts.
      attacks: number of starts of the search for counterexamples; 0 tries the row alone.
      seed: of the starts.
      progress: whether to show a line of progress; if not given, on a terminal.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> model = nnx.Linear(2, 2, use_bias=False, rngs=nnx.Rngs(0))
    >>> model.kernel[...] = jnp.array([[1.0, -1.0], [0.0, 0.0]])
    >>> x, labels = jnp.array([[1.0, 0.0], [0.1, 0.0]]), jnp.array([0, 0])
    >>> found = jb.certify.robustness(model, x, labels, eps=0.5)
    >>> found.verdict.tolist()
    ['proved', 'broken']
    """
    began = time.perf_counter()
    _modules.check_known(model)
    _modules.check_evaluation(model)
    _arguments.check_choice("norm", norm, NORMS)
    _check_numbers(eps=eps, seconds=seconds)
    _check_count(attacks)
    dtype = arithmetic(*_arguments.dtypes_of(model), np.float32)
    x, labels = _checked_rows(model, x, labels, dtype)
    region = _region(x, float(eps), norm, lower, upper, dtype)
    kind, numbers = _programs.parts(model)
    _check_classes(_programs.outputs(kind, numbers, x.shape[1:], dtype), labels)
    search = Search(kind, numbers, region, labels, progress=progress)
    found = np.asarray(x)
    if attacks and len(x):
        found = _attack.attacked(
            kind, numbers, region.inner, region.ball, jnp.asarray(labels),
            jax.random.key(seed), steps=30, starts=attacks,
        )  # fmt: skip
    try:
        search.first_pass(np.asarray(found))
        search.run(float(seconds))
    finally:  # also after Ctrl-C
        search.clear_line()
    settings = {"eps": float(eps), "norm": float(norm)}
    spent = time.perf_counter() - began
    return Robustness(
        search.verdicts(),
        search.margins,
        search.examples,
        search.parts,
        spent,
        settings,
    )


def _region(x: np.ndarray, eps: float, norm, lower, upper, dtype) -> Region:
    """Return two boxes of inputs within eps: rounded outward for proofs, inward for attacks.

    What is proved holds for the radius that was given; a counterexample is within it. So
    ends are rounded outward for proofs and inward for attacks.
    """
    least = _end("lower", lower, -np.inf, x.shape)
    most = _end("upper", upper, np.inf, x.shape)
    if not (least <= most).all():
        raise ValueError(
            f"lower must be at most upper, and neither may be NaN; got lower={lower}, "
            f"upper={upper}"
        )
    if not (least <= x).all() or not (x <= most).all():
        raise ValueError(
            f"x must lie between lower={lower} and upper={upper}, got values from "
            f"{x.min()} to {x.max()}"
        )
    wide = np.float64(x)
    low, high = np.maximum(wide - eps, least), np.minimum(wide + eps, most)
    outer = Bounds(_rounded(low, dtype, -1), _rounded(high, dtype, 1))
    inner = Bounds(_rounded(low, dtype, 1), _rounded(high, dtype, -1))
    inner = inner._replace(
        lower=_least(inner.lower, x), upper=-_least(-inner.upper, -x)
    )
    radius = _rounded(np.full(len(x), eps), dtype, 1)
    return Region(outer, inner, Ball(x, radius, norm), float(eps))


def _end(name: str, end: Any, missing: float, shape: tuple[int, ...]) -> np.ndarray:
    """Check a limit of the inputs, which must broadcast to them."""
    try:
        values = np.asarray(missing if end is None else end, np.float64)
        np.broadcast_to(values, shape)
    except (TypeError, ValueError) as error:
        have = list(np.shape(end)) or repr(end)
        raise ValueError(
            f"{name} must be a number, or numbers that broadcast to {list(shape)}, got "
            f"{have}"
        ) from error
    return values


def _least(a: Any, b: Any) -> Any:
    return np.minimum(a, b)


def _rounded(values: np.ndarray, dtype, direction: int) -> Any:
    """Round to the dtype, downwards or upwards."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = values.astype(dtype)
    inside = nearest > values if direction < 0 else nearest < values
    # One step more: the sum of two doubles is rounded too.
    inside |= nearest == values
    step = np.nextafter(nearest, np.asarray(direction * np.inf, dtype))
    return np.where(inside, step, nearest)


def _checked_rows(model, x, labels, dtype) -> tuple[np.ndarray, np.ndarray]:
    given = np.asarray(x)
    if given.dtype.kind != "f":
        raise TypeError(f"x must be floating point, got {given.dtype}")
    rows, classes = given.astype(dtype), np.asarray(labels)
    if (
        classes.dtype.kind not in "iu"
        or classes.shape != rows.shape[:1]
        or rows.ndim < 2
    ):
        raise ValueError(
            "x must have shape [rows, ...] and labels [rows], whole numbers; got x of shape "
            f"{list(rows.shape)} and labels of shape {list(classes.shape)}, {classes.dtype}"
        )
    shape = _arguments.shape_of(model)
    if shape is not None and rows.shape[1:] != shape:
        raise ValueError(
            f"x must have shape [rows, {shape[0]}], got {list(rows.shape)}"
        )
    if not np.isfinite(rows).all():
        raise ValueError("x must be finite")
    return rows, classes


def _check_classes(classes: int | None, labels: np.ndarray) -> None:
    if classes is None or classes < 2:
        raise ValueError("the model must give at least two logits for each row")
    if len(labels) and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(
            f"labels must be from 0 to {classes - 1}, as there are {classes} logits, got "
            f"{labels.min()} to {labels.max()}"
        )


def _check_numbers(**values: Any) -> None:
    for name, value in values.items():
        number = isinstance(value, abstract.Real) and not isinstance(value, bool)
        if not number or not 0 <= float(value) < math.inf:
            raise ValueError(
                f"{name} must be a finite number of at least 0, got {value!r}"
            )


def _check_count(attacks: Any) -> None:
    if isinstance(attacks, bool) or not isinstance(attacks, int) or attacks < 0:
        raise ValueError(f"attacks must be an int of at least 0, got {attacks!r}")
