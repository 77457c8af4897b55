"""The search behind ``robustness``: which parts to bound next, and what is known so far."""

import math
import sys
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.certify import _attack, _branching
from jaxbern.certify._ball import Ball
from jaxbern.certify._branching import Parts
from jaxbern.certify._rounding import Bounds
from jaxbern.certify._training import margin_weights

_AT_ONCE = 64  # parts in one call of the compiled program
_PATIENCE = 256  # parts of a row after which it is cut the other way
_MOST_PARTS = 4096  # waiting parts of one row: beyond, the row is given up


class Region(NamedTuple):
    """All inputs near each row."""

    outer: Bounds  # holds them all, [rows, ...]
    inner: Bounds  # they fill it
    ball: Ball
    eps: float


@dataclass(eq=False)
class Part:
    """Inputs of one row whose margins are not proved yet."""

    row: int
    box: Bounds  # [in]
    limits: Bounds  # [neurons]
    lower: np.ndarray  # [k], bounds of the margins
    neuron: int
    value: float
    entry: int


class Search:
    """The state of the search for every row; ``run`` may be called again to continue."""

    def __init__(
        self,
        kind: Any,
        numbers: Any,
        region: Region,
        labels: np.ndarray,
        *,
        progress: bool | None,
    ):
        """Take rows; a network with an unknown operation is refused here."""
        self.kind, self.numbers, self.region = kind, numbers, region
        centre: Any = region.ball.centre
        self.labels, self.row = labels, centre.shape[1:]
        count, classes = len(labels), self._classes()
        self.examples = np.full_like(centre, np.nan)
        self.parts = np.zeros(count, int)
        self.broken = np.zeros(count, bool)
        self.proved = np.zeros(count, bool)
        self.open: dict[int, list[Part]] = {}
        self.by_input: dict[int, bool] = {}
        self.show = sys.stderr.isatty() if progress is None else progress
        dtype = region.outer.lower.dtype
        self.margins = np.zeros((count, classes - 1), dtype)
        self.neurons = _branching.neurons(kind, numbers, self.row, dtype)
        self.weights = np.asarray(margin_weights(labels, classes), dtype)

    def verdicts(self) -> np.ndarray:
        """Return the verdict of each row."""
        words = np.where(self.proved, "proved", "unknown")
        return np.where(self.broken, "broken", words)

    def first_pass(self, found: np.ndarray) -> None:
        """Look at the worst inputs that were found, and bound every row as one part."""
        rows = range(len(self.labels))
        self._check(found, np.arange(len(rows)))
        flat = [
            end.reshape(len(rows), math.prod(self.row)) for end in self.region.outer
        ]
        whole: Any = np.full(self.neurons, np.inf, flat[0].dtype)
        parts = [
            Part(row, Bounds(flat[0][row], flat[1][row]), Bounds(-whole, whole),
                 np.full(1, -np.inf), 0, 0.0, 0)
            for row in rows
        ]  # fmt: skip
        left = self._bound(parts, "bounds")
        self.margins = (
            np.stack([part.lower for part in parts]) if parts else self.margins
        )
        for part in left:
            self.open.setdefault(part.row, []).append(part)
        for row in rows:
            self.proved[row] = row not in self.open and not self.broken[row]
            if self.broken[row]:
                self.open.pop(row, None)

    def run(self, seconds: float) -> None:
        """Cut parts until none is left or the time is over."""
        end = time.perf_counter() + seconds
        while self.open and time.perf_counter() < end:
            nearest = sorted(self.open, key=self._distance)
            new = [row for row in nearest if row not in self.by_input]
            if new and (len(new) == len(nearest) or nearest[0] == new[0]):
                self._choose_ways(new[: _AT_ONCE // 4])
            else:
                self._go_on([row for row in nearest if row in self.by_input])

    def _distance(self, row: int) -> float:
        """Return a sort key: how far a row seems from a proof, and the work spent on it."""
        worst = min(float(part.lower.min()) for part in self.open[row])
        return -worst * (1 + self.parts[row] / 32)

    def _go_on(self, rows: list[int]) -> None:
        """Halve parts of the nearest rows, as many as fit in one call."""
        chosen: list[Part] = []
        for row in rows:
            chosen += self.open[row]
            if len(chosen) >= _AT_ONCE // 2:
                break
        chosen = chosen[: _AT_ONCE // 2]
        halves = [half for part in chosen for half in self._cut(part)]
        left = self._bound(halves, "parts")
        for part in chosen:
            self.open[part.row].remove(part)
        for part in left:
            self.open[part.row].append(part)
        self._close({part.row for part in chosen})

    def _choose_ways(self, rows: list[int]) -> None:
        """Choose once for each row whether to cut along an input or along an activation.

        Both are tried on the whole row, and the halves with the better worst margin stay.
        """
        halves: list[Part] = []
        for row in rows:
            for way in (True, False):
                self.by_input[row] = way
                halves += self._cut(self.open[row][0])
        left = set(self._bound(halves, "ways"))
        for k, row in enumerate(rows):
            pairs = halves[4 * k : 4 * k + 2], halves[4 * k + 2 : 4 * k + 4]
            worst = [min(float(half.lower.min()) for half in pair) for pair in pairs]
            self.by_input[row] = worst[0] > worst[1]
            kept = pairs[0 if self.by_input[row] else 1]
            self.open[row] = [half for half in kept if half in left]
        self._close(set(rows))

    def _close(self, rows: set[int]) -> None:
        """Remove decided rows, and record what is known of the others."""
        for row in rows:
            parts = self.open[row]
            if self.broken[row] or len(parts) > _MOST_PARTS:
                del self.open[row]
            elif not parts:
                del self.open[row]
                self.proved[row] = True
                # Every part had margins above zero, some maybe by very little.
                tiny = np.finfo(self.margins.dtype).smallest_subnormal
                self.margins[row] = np.maximum(self.margins[row], tiny)
            else:
                worst = np.min([part.lower for part in parts], axis=0)
                self.margins[row] = np.maximum(self.margins[row], np.minimum(worst, 0))

    def _along_input(self, row: int) -> bool:
        """Return the way to cut; a row that stays open alternates from time to time."""
        turned = (self.parts[row] // _PATIENCE) % 2 == 1
        return not self.neurons or self.by_input[row] != turned

    def _cut(self, part: Part) -> list[Part]:
        """Cut a part into two that cover it."""
        made = []
        for right in (False, True):
            box, limits = part.box, part.limits
            if self._along_input(part.row):
                middle = box.lower[part.entry] / 2 + box.upper[part.entry] / 2
                box = _half(box, part.entry, middle, right)
            else:
                limits = _half(limits, part.neuron, part.value, right)
            made.append(Part(part.row, box, limits, part.lower, 0, 0.0, 0))
        return made

    def _bound(self, parts: list[Part], what: str) -> list[Part]:
        """Bound the parts, and return those that are not proved, of rows not broken."""
        left = []
        for start in range(0, len(parts), _AT_ONCE):
            few = parts[start : start + _AT_ONCE]
            report = self._call(few)
            for k, part in enumerate(few):
                own = np.asarray(report.lower[k])
                part.lower = (
                    np.maximum(part.lower, own) if len(part.lower) == len(own) else own
                )
                part.neuron, part.value = int(report.neuron[k]), report.value[k]
                part.entry = int(report.entry[k])
                self.parts[part.row] += 1
                if report.proved[k]:
                    part.lower = np.maximum(part.lower, np.float32(0))
                elif not (part.lower > 0).all():
                    left.append(part)
            rows = np.array([part.row for part in few])
            middles = np.stack([sum(part.box) / 2 for part in few])
            tries = np.concatenate([report.lowest[: len(few)], middles])
            self._check(tries.reshape(-1, *self.row), np.tile(rows, 2))
            self._tell(what)
        return [part for part in left if not self.broken[part.row]]

    def _call(self, few: list[Part]) -> Any:
        """Call the compiled program, always with the same number of parts."""
        padded = few + [few[0]] * (_AT_ONCE - len(few))
        rows: Any = np.array([part.row for part in padded])
        boxes, limits = (
            Bounds(*(self._stack(padded, name, end) for end in (0, 1)))
            for name in ("box", "limits")
        )
        ball = self.region.ball
        centre = ball.centre[rows].reshape(len(rows), -1)
        report = _branching.bounded(
            self.kind,
            self.numbers,
            Parts(boxes, limits, rows),
            self.weights[rows],
            Ball(centre, ball.radius[rows], ball.norm),
            row=self.row,
        )
        return jax.tree.map(np.asarray, report)

    def _stack(self, parts: list[Part], name: str, end: int) -> Any:
        return np.stack([getattr(part, name)[end] for part in parts])

    def _classes(self) -> int:
        x = jax.ShapeDtypeStruct((1, *self.row), self.region.outer.lower.dtype)
        shape = jax.eval_shape(
            lambda numbers, x: _attack.logits_of(self.kind, numbers, x), self.numbers, x
        )
        return shape.shape[1]

    def _check(self, x: np.ndarray, rows: np.ndarray) -> None:
        """Mark rows as broken whose inputs the network assigns to another class."""
        if not len(rows):
            return
        inner, ball = self.region.inner, self.region.ball
        x = np.clip(x, inner.lower[rows], inner.upper[rows])
        away = np.float64(x) - np.float64(ball.centre[rows])
        sizes = np.linalg.norm(away.reshape(len(x), -1), ord=ball.norm, axis=1)
        size = max(2 * _AT_ONCE, len(x))
        padded = np.resize(x, (size, *x.shape[1:]))
        labels = np.resize(self.labels[rows], size)
        margins = np.asarray(
            _attack.worst_margin(self.kind, self.numbers, padded, jnp.asarray(labels))
        )
        for k in np.flatnonzero((margins[: len(x)] <= 0) & (sizes <= self.region.eps)):
            row = rows[k]
            if not self.broken[row]:
                self.broken[row], self.examples[row] = True, x[k]

    def _tell(self, what: str) -> None:
        done = int(self.proved.sum() + self.broken.sum())
        rows, parts = len(self.labels), self.parts.sum()
        self._print(f"\r{what}: {done} of {rows} rows decided, {parts} parts")

    def clear_line(self) -> None:
        """Clear the line of progress."""
        self._print("\r" + " " * 79 + "\r")

    def _print(self, line: str) -> None:
        if self.show:
            print(line, end="", file=sys.stderr, flush=True)


def _half(box: Bounds, index: int, middle: Any, right: bool) -> Bounds:
    lower, upper = box.lower.copy(), box.upper.copy()
    (lower if right else upper)[index] = middle
    return Bounds(lower, upper)
