"""``experiments gpu run``: a pretended GPU and clock, real arithmetic."""

import csv
import itertools
import types

import numpy as np
import pytest

from experiments.gpu import gpu_command, gpu_targets, run_check, run_command, run_time
from experiments.gpu.gpu_programs import Workload
from experiments.gpu.run_page import Findings, page, write
from experiments.gpu.run_plan import Card, Plan, known
from tests.oracles import casteljau

A30 = Card("NVIDIA A30", "8.0", gpu_targets.A30)


def started(*argv, card=A30, **options):
    """A run on a pretended card, by a clock that counts its calls in milliseconds."""
    parsed = run_command.parser().parse_args(["--quick", *argv])
    names = tuple(parsed.implementation or ("pallas", "xla"))
    ticks = itertools.count(1)

    def clock(call):
        call()  # it runs
        return 1e-3 * next(ticks)

    options.setdefault("usable", lambda name: None if name == "xla" else "not here")
    said = []
    options.setdefault("report", said.append)
    return run_command.run(parsed, names, card, clock, **options)


def test_without_a_gpu_it_says_what_it_would_do(capsys, tmp_path):
    assert gpu_command.main(["run", "--out", str(tmp_path / "none")]) == 0
    said = capsys.readouterr().out
    assert "no CUDA GPU here" in said
    assert "check pallas, mosaic, triton, xla" in said
    assert "150x256 and 5x16" in said
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_run_writes_one_page_and_one_table(tmp_path):
    found = started("--degree", "3")
    assert found.left_out == {"pallas": "not here"}
    assert not found.wrong
    assert write(found, tmp_path) == ["gpu-run.md", "gpu-run.csv"]
    text = (tmp_path / "gpu-run.md").read_text()
    for part in (
        "# jaxbern on NVIDIA A30",
        "All 4 checks passed",
        "pallas was left out",
    ):
        assert part in text
    with (tmp_path / "gpu-run.csv").open() as file:
        rows = list(csv.DictReader(file))
    # 2 dtypes, clamped or not; 2 passes; a step's time and its memory.
    kinds = [row["kind"] for row in rows]
    assert {k: kinds.count(k) for k in kinds} == {"error": 4, "seconds": 6, "bytes": 2}
    first = next(row for row in rows if row["kind"] == "seconds")
    # ReLU's forward and gradient take the clock's first two milliseconds.
    assert (first["value"], first["relu"]) == ("0.003", "0.001")
    assert float(first["ratio"]) == pytest.approx(3)


@pytest.mark.slow
def test_a_wrong_kernel_is_reported_and_not_timed(monkeypatch, capsys, tmp_path):
    real = run_check.jb.bernstein

    def wrong(x, coeffs, **options):
        return real(x, coeffs, **options) * 1.0001

    monkeypatch.setattr(run_check.jb, "bernstein", wrong)
    found = started("--degree", "3")
    assert found.wrong
    assert not found.timings
    assert "checks failed" in page(found)
    monkeypatch.setattr(Card, "at_hand", classmethod(lambda cls: A30))
    monkeypatch.setattr(run_command, "run", lambda *args: found)
    assert run_command.main(["--quick", "--out", str(tmp_path)]) == 1
    assert "wrong: Check(implementation='xla'" in capsys.readouterr().out


def test_what_raises_is_a_problem_of_that_case(monkeypatch):
    def refuses(*args, **options):
        raise NotImplementedError("no such kernel")

    monkeypatch.setattr(run_check.jb, "bernstein", refuses)
    found = started("--degree", "3")
    assert {check.problem for check in found.wrong} == {"no such kernel"}
    assert "**wrong** no such kernel" in page(found)


def test_an_implementation_asked_for_must_run():
    with pytest.raises(SystemExit, match="--implementation mosaic cannot run here"):
        started("--implementation", "mosaic")


def test_tuning_is_asked_for_once_per_degree(monkeypatch):
    plan = Plan(("pallas",), degrees=(3, 9), tune=True)
    monkeypatch.setattr(run_command, "_plan", lambda options, names: plan)
    for part in ("checks", "timings", "steps"):
        where = run_check if part == "checks" else run_time
        monkeypatch.setattr(where, part, lambda *args: [])
    asked = []

    def tune(rows, width, degree, *, implementation, report):
        asked.append((rows, width, degree, implementation))
        report(f"forward of degree {degree}")

    found = started(tune=tune, usable=lambda name: None)
    assert asked == [(16384, 256, 3, "pallas"), (16384, 256, 9, "pallas")]
    assert "forward of degree 9" in page(found)


@pytest.mark.parametrize("outside", ["clamp", "linear"])
def test_the_oracle_is_that_of_the_tests(outside):
    rng = np.random.default_rng(0)
    x, dy = 2 * rng.normal(size=(2, 20, 3))
    coeffs = rng.normal(size=(3, 6))
    (y, _), (dx, _), (dc, limit) = run_check.oracle(x, coeffs, dy, outside)
    ends, columns = run_check.ENDS, coeffs.T[:, None]
    np.testing.assert_allclose(y, casteljau.value(x, columns, *ends, outside))
    slope = casteljau.slope(x, columns, *ends, outside=outside) * dy
    np.testing.assert_allclose(dx, slope, atol=1e-14)
    want = casteljau.moments(x, dy, *ends, columns.shape, outside)[:, 0].T
    np.testing.assert_allclose(dc, want, atol=1e-13)
    assert (np.abs(dc) <= limit + 1e-12).all()


def test_cards_are_known_by_a_whole_word_of_their_name():
    def named(kind):
        return known(types.SimpleNamespace(device_kind=kind))

    assert named("NVIDIA L40S") is gpu_targets.L40S
    assert named("NVIDIA L4") is gpu_targets.L4
    assert named("NVIDIA A100-SXM4-80GB") is gpu_targets.A100
    assert named("NVIDIA H100 80GB HBM3") is gpu_targets.H100
    assert named("Tesla T4") is None
    unknown = Card("Tesla T4", "7.5", None)
    found = Findings(unknown, {"jax": "0.12"}, "xla: it is old")
    assert "not in experiments/gpu/gpu_targets.py" in page(found)


def test_the_least_time_is_that_of_memory_or_of_a_pipe():
    wide = Workload(16384, 256, "float32")
    memory = 8 * wide.elements / gpu_targets.A30.bandwidth
    assert run_time.least_time(gpu_targets.A30, wide, 3, "forward") == memory
    narrow = Workload(16384, 256, "bfloat16")
    least = run_time.least_time(gpu_targets.A30, narrow, 25, "gradient")
    lanes = 64 * 56 * 1.44e9
    assert least == pytest.approx(73 * narrow.elements / lanes)


def test_the_papers_ratios():
    assert run_time.paper_ratio(150, 256, 25) == pytest.approx(7587 / 7723)
    assert run_time.paper_ratio(5, 16, 3) == pytest.approx(445 / 233)
    assert run_time.paper_ratio(5, 16, 4) is None
    assert run_time.paper_ratio(6, 16, 3) is None
