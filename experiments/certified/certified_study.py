"""Which networks are trained how often, and what is chosen on which rows."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

import jaxbern as jb
from experiments.certified import deepbern_training
from experiments.certified.certified_networks import Rows, digits
from experiments.certified.certified_training import fast_scores, train

RADII = (0.05, 0.1)
ACTIVATIONS = ("bernstein:3", "bernstein:5", "bernstein:9", "relu")
DEEPBERN_DEGREES = (3, 5)


@dataclasses.dataclass(frozen=True)
class Setting:
    """How much of everything."""

    steps: int
    rates: tuple[float, ...]
    mixes: tuple[float, ...]
    seeds: int
    rows: int  # of the test set
    seconds: tuple[float, ...]  # of branch and bound


FULL = Setting(800, (2e-3, 5e-3, 1e-2), (0.5, 0.8), 3, 500, (0.0, 2.0, 5.0, 15.0, 30.0))
QUICK = Setting(60, (5e-3,), (0.5,), 2, 64, (0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class Result:
    """One method, with what was chosen on validation rows.

    Attributes:
      method: its name.
      rate, mix: the choice.
      scores: ``[seeds, 3]``, clean accuracy and certified at both radii, on test rows.
      note: how it was certified, or why it was not run.
    """

    method: str
    rate: float
    mix: float
    scores: np.ndarray
    note: str


def methods() -> dict[str, tuple[str, str]]:
    """Name: kind of network and activation."""
    ours = {f"{kind} {act}": (kind, act)
            for kind in ("mlp", "cnn") for act in ACTIVATIONS}  # fmt: skip
    theirs = {f"deepbern {n}": ("deepbern", str(n)) for n in DEEPBERN_DEGREES}
    return ours | theirs


def run(
    names: list[str], setting: Setting, done: Callable[[str], None]
) -> list[Result]:
    """Every method in turn."""
    results = []
    for name in names:
        kind, act = methods()[name]
        results.append(_one(name, kind, act, setting))
        done(name)
    return results


def _one(name: str, kind: str, act: str, setting: Setting) -> Result:
    if kind == "deepbern" and (problem := deepbern_training.problem()):
        return Result(name, np.nan, np.nan, np.full((1, 3), np.nan), problem)
    data = digits()
    options = {"steps": setting.steps, "eps": RADII[-1]}

    def model_of(seed: int, rate: float, mix: float):
        given = {**options, "rate": rate, "mix": mix}
        if kind == "deepbern":
            return deepbern_training.train(int(act), seed, data.train, **given)
        return train(kind, act, seed, data.train, **given)

    def quality(choice: tuple[float, float]) -> float:
        """Certified accuracy on validation rows, mean of both radii, by intervals."""
        model = model_of(0, *choice)
        judge = deepbern_training.scores if kind == "deepbern" else fast_scores
        return float(np.mean(judge(model, data.validation, RADII)[1:]))

    choices = list(itertools.product(setting.rates, setting.mixes))
    if kind == "cnn":  # takes ten times as long: the higher rates, the larger mixture
        choices = [pair for pair in choices if pair[1] == setting.mixes[-1]][-2:]
    rate, mix = max(choices, key=quality)
    test = Rows(data.test.x[: setting.rows], data.test.labels[: setting.rows])
    scores = [
        _judged(kind, model_of(1 + k, rate, mix), test) for k in range(setting.seeds)
    ]
    note = "Bern-IBP, their code" if kind == "deepbern" else "affine, rigorous"
    return Result(name, rate, mix, np.array(scores), note)


def _judged(kind: str, model, test: Rows) -> list[float]:
    if kind == "deepbern":
        return deepbern_training.scores(model, test, RADII)
    clean = fast_scores(model, test, ())
    proved = [
        jb.certify.robustness(
            model, *test, eps, lower=0.0, upper=1.0, attacks=0
        ).certified_accuracy
        for eps in RADII
    ]
    return [*clean, *proved]
