"""``python -m experiments sensitivity``: known answers, what is trained, what is written."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import jaxbern as jb
from experiments.core.tables import markdown
from experiments.sensitivity import (
    sensitivity_command,
    sensitivity_run,
    sensitivity_study,
    sensitivity_tables,
)
from experiments.sensitivity import sensitivity_training as training
from experiments.sensitivity.sensitivity_analysis import Summary, compare
from experiments.sensitivity.sensitivity_run import conclusion
from experiments.sensitivity.sensitivity_study import (
    DEFAULT,
    MONOTONE,
    Study,
    coeff_decay,
    init,
)
from experiments.sweep.grid import Cell
from tests.experiments import report_stores
from tests.experiments.report_stores import trained

pytestmark = pytest.mark.slow

RELU, THREE, NINE = (
    Cell("higgs", True, 5, 16, name) for name in ("relu", "bernstein:3", "bernstein:9")
)
WIDE, RAMP, NONE = sensitivity_study.interval(6.0), init("ramp"), coeff_decay(0.0)
SETTINGS = (WIDE, RAMP, NONE, MONOTONE)
# AUC and loss of three seeds. ReLU's medians: 0.70 and 0.60.
RESULTS = {
    "default": [
        trained(RELU, [0.69, 0.70, 0.72], [0.61, 0.60, 0.59]),
        trained(THREE, [0.74, 0.76, 0.75], [0.55, 0.54, 0.56]),
        trained(NINE, [0.73, 0.71, 0.75], [0.61, 0.62, 0.63]),
    ],
    # Every seed of n=3 is worse; n=9 falls behind ReLU, though one of its seeds gains.
    "interval-6": [
        trained(THREE, [0.73, 0.75, 0.74], [0.56, 0.55, 0.57]),
        trained(NINE, [0.68, 0.72, 0.69], [0.61, 0.62, 0.63]),
    ],
    # Every seed of both is better.
    "initialisation-ramp": [
        trained(THREE, [0.75, 0.77, 0.78], [0.53, 0.52, 0.54]),
        trained(NINE, [0.76, 0.72, 0.77], [0.58, 0.57, 0.59]),
    ],
    # The same, and n=9 is not there.
    "decay-0": [trained(THREE, [0.74, 0.76, 0.75], [0.55, 0.54, 0.56])],
    # AUC holds, n=3 loses its win in loss.
    "shape-monotone": [
        trained(THREE, [0.74, 0.76, 0.75], [0.65, 0.60, 0.60]),
        trained(NINE, [0.73, 0.71, 0.75], [0.61, 0.62, 0.63]),
    ],
}
COMPARED = compare(SETTINGS, RESULTS)


def found(setting, cell):
    [own] = [e for e in COMPARED if e.setting == setting and e.cell == cell]
    return own


def test_changes_are_of_medians_and_of_seeds():
    wide = found(WIDE, THREE)
    assert wide.auc.change == pytest.approx(-0.01)
    assert wide.auc.by_seed == pytest.approx([-0.01] * 3)
    assert wide.auc.spread == pytest.approx(0.02)
    assert wide.auc.margin == pytest.approx(0.04)
    assert (wide.auc.verdict, wide.loss.verdict) == ("worse", "worse")
    nine = found(WIDE, NINE)
    assert nine.auc.change == pytest.approx(0.69 - 0.73)
    assert nine.auc.by_seed == pytest.approx([-0.05, 0.01, -0.06])
    assert nine.auc.verdict == "mixed"
    ramp = found(RAMP, NINE)
    assert (ramp.auc.verdict, ramp.loss.verdict) == ("better", "better")
    assert found(NONE, THREE).auc.verdict == "mixed"  # no change is neither


def test_who_beats_relu():
    assert [found(DEFAULT, cell).auc.beats_relu for cell in (THREE, NINE)] == [True] * 2
    assert [found(DEFAULT, c).loss.beats_relu for c in (THREE, NINE)] == [True, False]
    nine = found(WIDE, NINE)
    assert (nine.auc.beat_relu, nine.auc.beats_relu) == (True, False)
    assert found(RAMP, NINE).loss.beats_relu
    assert not found(MONOTONE, THREE).loss.beats_relu  # a tie is no win


def test_a_setting_over_its_networks():
    rows = {row.label: row for row in sensitivity_tables.rows(COMPARED)}
    wide = rows["±6"].auc
    assert (wide.lowest, wide.highest) == pytest.approx((-0.04, -0.01))
    assert wide.median == pytest.approx(-0.025)
    assert (wide.count("worse"), wide.count("better")) == (1, 0)
    assert wide.wins == 1
    assert {label: row.survives for label, row in rows.items()} == {
        "default": True,
        "±6": False,
        "ramp": True,
        "0": True,
        "monotone": False,
    }
    assert rows["0"].networks == 1


def test_table_and_conclusion_say_so():
    text = markdown(sensitivity_tables.overview(COMPARED))
    assert (
        "| interval | ±6 | 2 | −0.0250 (−0.0400 … −0.0100) | 0.0300 | 0 / 1 |" in text
    )
    assert "| 1 of 2 | 1 of 2 | no |" in text
    assert "| initialisation | ramp | 2 | +0.0250 (+0.0200 … +0.0300)" in text
    lines = conclusion(COMPARED)
    assert lines == [
        "By default DBN beats ReLU of the same depth and width, by medians over seeds, in "
        "2 of 2 networks in AUC and 1 of 2 networks in loss.",
        "In AUC, 3 of 4 other settings keep all such wins; lost with interval ±6 (5×16 "
        "n=9).",
        "In loss, 3 of 4 other settings keep all such wins; lost with shape monotone (5×16 "
        "n=3).",
        "The largest changes of a median AUC: interval −0.0400 (±6, 5×16 n=9); "
        "initialisation +0.0300 (ramp, 5×16 n=9); decay of coefficients +0.0000 (0, 5×16 "
        "n=3); shape +0.0000 (monotone, 5×16 n=3); the seeds of a network are 0.0300 apart "
        "(median over networks).",
        "That DBN beats ReLU in AUC hangs on interval, not on initialisation, decay of "
        "coefficients, shape.",
        "That DBN beats ReLU in loss hangs on shape, not on interval, initialisation, decay "
        "of coefficients.",
    ]
    calm = [each for each in COMPARED if each.setting != WIDE]
    assert conclusion(calm)[-2].endswith("in AUC hangs on none of the choices tried.")


def test_against_numpy():
    """Random numbers for two networks and five seeds."""
    random = np.random.default_rng(0)
    numbers = {
        (name, cell): random.random((2, 5))
        for name, cells in {"default": (RELU, NINE), "decay-0": (NINE,)}.items()
        for cell in cells
    }
    results = {
        name: [
            trained(c, *numbers[key]) for key in numbers for n, c in [key] if n == name
        ]
        for name in ("default", "decay-0")
    }
    own = compare([NONE], results)[-1]
    relu, default, other = numbers.values()
    for k, change in enumerate((own.auc, own.loss)):
        medians = [np.median(part[k]) for part in (other, default, relu)]
        assert change.change == pytest.approx(medians[0] - medians[1])
        assert change.margin == pytest.approx(medians[0] - medians[2])
        np.testing.assert_allclose(change.by_seed, other[k] - default[k])
        assert change.spread == pytest.approx(np.ptp(other[k]))
    assert Summary.of([own], "auc").wins == (own.auc.margin > 0)
    assert Summary.of([own], "loss").wins == (own.loss.margin < 0)


def test_a_seed_that_diverged_is_counted():
    lost = report_stores.result(
        THREE, [[0.6], [0.6], [0.6]], reasons=["early", "nonfinite", "early"]
    )
    results = RESULTS | {"decay-0": [lost]}
    assert compare([NONE], results)[-1].diverged == 1


def test_a_setting_changes_what_it_says_and_nothing_else():
    whole = Study()
    cell = whole.cells(DEFAULT)[0]
    default = whole.config(DEFAULT, cell)
    assert default == jb.train.TrainConfig(cell.network, **whole.training)

    def differences(setting):
        config = whole.config(setting, cell)
        training = dataclasses.replace(default, network=config.network)
        return {
            (name, getattr(config, name))
            for name in ("coeff_decay", "weight_decay", "learning_rate", "epochs")
            if getattr(config, name) != getattr(training, name)
        } | set(config.network.to_dict().items()) - set(
            default.network.to_dict().items()
        )

    assert [differences(setting) for setting in whole.settings] == [
        *({("lower", -end), ("upper", end)} for end in (2.0, 4.0, 6.0)),
        *({("init", name)} for name in ("normal", "relu", "ramp", "identity")),
        *({("coeff_decay", decay)} for decay in (0.0, 1e-2, 1.0)),
        {("monotone", True)},
    ]
    assert len({setting.name for setting in whole.settings}) == len(whole.settings)
    assert {cell.degree for cell in whole.cells(whole.settings[3])} == {3, 9, 25}
    assert {cell.degree for cell in whole.cells(MONOTONE)} == {3, 9}


TINY = Study(
    shapes=((1, 2),),
    degrees=(3,),
    init_degrees=(3,),
    settings=(init("ramp"),),
    rows=120,
    training={"epochs": 2, "batch_size": 48, "seeds": (0, 1)},
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole study: two programs, the one of DBN for both of its settings."""
    out = tmp_path_factory.mktemp("sensitivity")
    return out, sensitivity_run.run(out, TINY, source="collider")


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def test_numbers_are_those_of_the_trainings(finished):
    config = TINY.config(init("ramp"), Cell("higgs", True, 1, 2, "bernstein:3"))
    assert config.network.init == "ramp"
    data = jb.data.load("collider:higgs", rows=120)
    result = jb.train.fit(config, data, progress=False)
    [_, own] = finished[1].compared
    assert own.auc.values == {s: h["auc"].max() for s, h in result.history.items()}
    assert own.loss.values == {
        s: h["train_loss"][-1] for s, h in result.history.items()
    }
    with (finished[0] / "networks.csv").open() as file:
        row = list(csv.DictReader(file))[1]
    assert float(row["auc_median"]) == np.median(list(own.auc.values.values()))


def test_all_is_written(finished):
    out, report = finished
    assert contents(out).keys() == {
        *(f"sensitivity.{suffix}" for suffix in ("csv", "md", "png", "svg")),
        "networks.csv",
    }
    text = (out / "sensitivity.md").read_text()
    assert text == report.text
    assert "120 events of collider:higgs, 2 seeds, at most 2 epochs" in text
    assert all(f"- {sentence}" in text for sentence in report.sentences)


def test_again_trains_nothing_and_writes_the_same(finished, monkeypatch):
    out, _ = finished
    before = contents(out)
    monkeypatch.setattr(jb.train, "fit", None)
    sensitivity_run.run(out, TINY, source="collider")
    assert contents(out) == before


def test_other_rules_are_refused(finished, monkeypatch, capsys):
    monkeypatch.setattr(sensitivity_study, "QUICK", TINY)
    options = ["--quick", "--data", "collider", "--out", str(finished[0])]
    assert sensitivity_command.main([*options, "--epochs", "3"]) == 2
    assert "training.epochs: 2 there, 3 here" in capsys.readouterr().err
    assert sensitivity_command.main(options) == 0
    assert "written to" in capsys.readouterr().out


def test_simulated_events_if_there_are_no_others(monkeypatch):
    """Nothing is downloaded unless it is asked for."""

    def absent(dataset, source, rows, *, download=True):
        if source == "published":
            assert download == asked
            raise jb.data.DataError("nowhere")
        return source, rows

    monkeypatch.setattr(training.sweep_events, "load", absent)
    asked = False
    assert training.load(None, 7) == ("collider", 7)
    assert training.load("folder", 7) == ("folder", 7)
    asked = True
    with pytest.raises(jb.data.DataError, match="nowhere"):
        training.load("published", 7)


def test_a_cell_that_fails_is_told(tmp_path, monkeypatch):
    def fit(*arguments, **options):
        raise RuntimeError("no luck")

    monkeypatch.setattr(jb.train, "fit", fit)
    monkeypatch.setattr(training, "JOBS", 1)  # several are trained in other processes
    with pytest.raises(training.Failed, match="1x2-relu: RuntimeError: no luck"):
        sensitivity_run.run(tmp_path, TINY, source="collider")
