"""Which networks are trained how often, and what is chosen on which rows."""

import dataclasses
import itertools

import numpy as np
from flax import nnx

import jaxbern as jb
from experiments.certified import deepbern_training
from experiments.certified.certified_networks import Rows, digits
from experiments.certified.certified_training import fast_scores, train
from experiments.certified.deepbern_proofs import Converted

RADII = (0.05, 0.1)
ACTIVATIONS = ("bernstein:3", "bernstein:5", "bernstein:9", "relu")
DEEPBERN = ("mlp deepbern:3", "mlp deepbern:5", "cnn deepbern:3")
# Seeds of DeepBern-Nets that may diverge before the method is given up.
MOST_DIVERGED = 9


@dataclasses.dataclass(frozen=True)
class Setting:
    """The size of the study."""

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
      validation: what it was chosen by, certified accuracy on validation rows.
      scores: ``[seeds, 3]``, clean accuracy and certified at both radii, on test rows.
      note: how it was certified, or why it was not run.
    """

    method: str
    rate: float
    mix: float
    validation: float
    scores: np.ndarray
    note: str


def methods() -> list[str]:
    """Names: the kind of network and its activation."""
    ours = [f"{kind} {act}" for kind in ("mlp", "cnn") for act in ACTIVATIONS]
    return [*ours, *DEEPBERN]


def one(name: str, setting: Setting) -> Result:
    """Choose rate and mixture of a method on validation rows, judge it on test rows."""
    kind, act = name.split()
    theirs = act.startswith("deepbern")
    if theirs and (problem := deepbern_training.problem()):
        return Result(name, np.nan, np.nan, np.nan, np.full((1, 3), np.nan), problem)
    data = digits()
    options = {"steps": setting.steps, "eps": RADII[-1]}

    def model_of(seed: int, rate: float, mix: float):
        given = {**options, "rate": rate, "mix": mix}
        trained = deepbern_training.train if theirs else train
        return trained(kind, act, seed, data.train, **given)

    def quality(choice: tuple[float, float]) -> float:
        """Certified accuracy on validation rows, mean of both radii, by intervals."""
        try:
            model = model_of(0, *choice)
        except deepbern_training.Diverged:
            return 0.0
        judge = deepbern_training.scores if theirs else fast_scores
        return float(np.mean(judge(model, data.validation, RADII)[1:]))

    # Theirs learns best at higher rates, on validation rows: its coefficients start near 0.
    # Its convolutional network diverges at the highest ones.
    scale = (10 if kind == "mlp" else 3) if theirs else 1
    choices = list(itertools.product(setting.rates, setting.mixes))
    choices = [(scale * rate, mix) for rate, mix in choices]
    if kind == "cnn":  # takes ten times as long: the higher rates, the larger mixture
        choices = [pair for pair in choices if pair[1] == setting.mixes[-1]][-2:]
    validation, (rate, mix) = max((quality(choice), choice) for choice in choices)
    test = Rows(data.test.x[: setting.rows], data.test.labels[: setting.rows])
    models, diverged = [], 0
    while len(models) < setting.seeds and diverged < MOST_DIVERGED:
        try:
            models.append(model_of(1 + len(models) + diverged, rate, mix))
        except deepbern_training.Diverged:
            diverged += 1
    note = "affine, rigorous"
    if diverged:
        note += f"; {diverged} of {diverged + len(models)} seeds diverged, left out"
    if not models:
        return Result(name, rate, mix, validation, np.full((1, 3), np.nan), note)
    if theirs:
        own = [deepbern_training.scores(model, test, RADII) for model in models]
        _, near, far = np.mean(own, axis=0)
        note += f"; by their own bounds {near:.3f} and {far:.3f}"
        models = [Converted(model) for model in models]
    scores = np.array([_proved(model, test) for model in models])
    return Result(name, rate, mix, validation, scores, note)


def _proved(model: nnx.Module, test: Rows) -> list[float]:
    """Clean accuracy, then certified accuracy by rigorous bounds."""
    proved = [
        jb.certify.robustness(
            model, *test, eps, lower=0.0, upper=1.0, attacks=0
        ).certified_accuracy
        for eps in RADII
    ]
    return [*fast_scores(model, test, ()), *proved]
