"""``report --docs``: the page of results, made from a made-up store."""

import re

import pytest

from experiments.report import paper_claims, report_build, report_command
from experiments.report.trained_models import models
from experiments.sweep import cell_store
from experiments.sweep.grid import Cell
from tests.experiments import report_stores

pytestmark = pytest.mark.slow

CELLS = [
    Cell(dataset, True, depth, 16, activation)
    for dataset in ("higgs", "susy")
    for depth in (5, 15)
    for activation in ("relu", "bernstein:3", "bernstein:9")
]
PICTURE = b"not looked at"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The directory of documentation, and what the command printed of it."""
    root = tmp_path_factory.mktemp("results")
    for result in report_stores.learning(CELLS):
        cell_store.write(root / "store", result)
    (root / "rates.md").write_text("# The fair fight\n\n### A table\n\n![x](x.png)\n")
    (root / "x.png").write_bytes(PICTURE)
    arguments = ["--store", "store", "--out", "report", "--docs", "docs"]
    arguments = [str(root / a) if not a.startswith("--") else a for a in arguments]
    assert report_command.main([*arguments, "--section", str(root / "rates.md")]) == 0
    return root / "docs"


def test_every_claim_has_a_verdict_and_its_evidence(made):
    text = (made / "results.md").read_text()
    verdicts = re.findall(r"\| \*\*(holds|does not hold|cannot be told)\*\*", text)
    assert len(verdicts) == len(paper_claims.CLAIMS) == 19
    for claim in paper_claims.CLAIMS:
        assert f"| {claim.text} |" in text


def test_every_image_is_there_and_every_table_of_what_is_trained(made):
    text = (made / "results.md").read_text()
    images = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(images) == 8  # seven of the report, one of the section
    for image in images:
        assert (made / image).stat().st_size, image
    for title in (
        "Parameter efficiency: HIGGS, residual, validation AUC",
        "Parameter efficiency: SUSY, residual, training loss",
        "Convergence: HIGGS, residual",
    ):
        assert f"### {title}" in text, title
    assert "20,000 events of collider:higgs" in text
    missing = text.split("## What is missing\n")[1]
    assert re.search("^- HIGGS, residual, all activations: .*150x256$", missing, re.M)


def test_a_section_stands_between_verdicts_and_figures(made):
    text = (made / "results.md").read_text()
    names = ("Verdicts on the paper's claims", "The fair fight", "Figures")
    places = [text.index(f"## {name}\n") for name in names]
    assert places == sorted(places)
    assert "\n#### A table\n" in text
    assert "`python -m experiments report --docs docs --section rates.md`" in text
    assert (made / "images" / "results" / "x.png").read_bytes() == PICTURE


def test_savings_near_the_papers_are_counted(made):
    text = (made / "results.md").read_text()
    [found] = re.findall(r"\*\*(\d+) of (\d+)\*\* savings of residual networks", text)
    close, known = map(int, found)
    assert known == 8  # two data sets, two architectures, two metrics
    rows = re.findall(
        r"\| \d+×16 \| (?:\*\*)?≥? ?(-?[\d.]+)%(?:\*\*)? \[(-?[\d.]+)%\]", text
    )
    assert len(rows) == known
    assert close == sum(abs(float(a) - float(b)) <= 5 for a, b in rows)


def test_depth_in_words_has_the_numbers_of_the_store(made):
    lines = report_build.depth_lines(made.parent / "store")
    own = {
        (model.cell.dataset, model.cell.depth, model.cell.activation): []
        for model in models(cell_store.read(made.parent / "store").results)
    }
    for model in models(cell_store.read(made.parent / "store").results):
        cell = model.cell
        own[cell.dataset, cell.depth, cell.activation].append(model.auc)
    means = {key: sum(values) / len(values) for key, values in own.items()}
    [relu] = (line for line in lines[:4] if line.strip().startswith("ReLU"))
    expected = [f"{means['higgs', depth, 'relu']:.3f}" for depth in (5, 15)]
    assert relu.split()[1:] == expected
    ahead = means["higgs", 15, "bernstein:3"] - means["higgs", 15, "relu"]
    word = "better" if ahead > 0 else "worse"
    assert lines[4].endswith(f"at 15 the DBN is {abs(ahead):.3f} {word}.")
    assert sum(line.startswith("SUSY") for line in lines) == 1


def test_a_missing_section_is_told_before_anything_is_drawn(made, tmp_path, capsys):
    out = tmp_path / "report"
    arguments = ["--store", str(made.parent / "store"), "--out", str(out)]
    arguments += ["--docs", str(tmp_path), "--section", str(tmp_path / "none.md")]
    assert report_command.main(arguments) == 1
    assert "--section must be a Markdown file" in capsys.readouterr().err
    assert not out.exists()
