"""``python -m experiments report``: its files, and the page in a real browser."""

import csv
import re
import xml.etree.ElementTree

import pytest

from experiments.report import efficiency, report_build, report_command
from experiments.report.grid_groups import METRICS, Group
from experiments.report.provenance import missing_lines
from experiments.report.report_contents import judged
from experiments.report.trained_models import models
from experiments.sweep import cell_store
from tests.experiments import report_browser, report_site

pytestmark = pytest.mark.slow

SHOWN = "#efficiency-higgs-residual-auc"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build a report; returns the folder with its store and output."""
    return report_site.build(tmp_path_factory.mktemp("report"))


def read_csv(site, name):
    with (site / "out" / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_and_figure_is_there_in_every_format(site):
    groups = [f"{d}-{k}" for d in ("higgs", "susy") for k in ("residual", "plain")]
    tables = {"claims"}
    tables |= {f"efficiency-{g}-{m}" for g in groups for m in ("auc", "loss")}
    tables |= {f"{x}-{g}" for x in ("convergence", "runtime", "seeds") for g in groups}
    expected = {f"{t}.{s}" for t in tables for s in ("csv", "md", "tex")}
    written = {path.name for path in (site / "out" / "tables").iterdir()}
    assert written == expected | {"models.csv"}
    trained = ("higgs-residual", "susy-plain")
    figures = {"savings", *(f"intervals-{g}" for g in trained)}
    figures |= {f"distribution-{g}-{m}" for g in trained for m in ("auc", "loss")}
    figures |= {f"pareto-{g}-{c}" for g in trained for c in ("parameters", "flops")}
    folder = site / "out" / "figures"
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.{suffix}" for name in figures for suffix in ("png", "svg")
    }
    for path in folder.glob("*.svg"):
        xml.etree.ElementTree.parse(path)
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_csv_has_the_analysis_and_the_papers_numbers(site):
    results = cell_store.read(site / "store").results
    rows = efficiency.table(models(results), Group("higgs", True), METRICS["auc"])
    written = read_csv(site, "efficiency-higgs-residual-auc")
    assert len(written) == 20
    for row, line in zip(rows, written, strict=True):
        known = row.efficiency is not None
        assert line["efficiency_percent"] == (str(row.efficiency) if known else "")
        assert int(line["dbn_models_compared"]) == 24
    assert written[1]["paper_dbn_parameters"] == "5858"
    assert written[2]["qualifying_total"] == ""  # not trained is not zero
    runs = read_csv(site, "models")
    assert len(runs) == 3 * (16 + 3) + 2  # and the two seeds that trained


def test_memory_of_a_plan_is_shown_and_judged(site):
    lines = {(line["depth"], line["width"]): line for line in read_csv(
        site, "runtime-higgs-residual"
    )}  # fmt: skip
    assert lines["5", "16"]["relu_memory"] == "1073741824"
    assert lines["5", "16"]["n9_memory"] == ""
    assert lines["5", "16"]["paper_relu_seconds"] == "233.0"
    text = (site / "out" / "tables" / "runtime-higgs-residual.md").read_text()
    assert "1.00 GiB" in text
    verdict = next(c for c in read_csv(site, "claims") if c["claim"] == "memory")
    assert verdict["ours"] == "does not hold"
    assert "2.00x" in verdict["numbers"]


def test_another_file_than_a_plan_is_told(site, tmp_path, capsys):
    other = tmp_path / "other.csv"
    other.write_text("cell,seconds\na,1\n")
    options = ["--store", str(site / "store"), "--out", str(tmp_path / "out")]
    assert report_command.main([*options, "--memory", str(other)]) == 1
    assert "must have the columns cell and memory_bytes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_text_formats_mark_what_is_not_trained(site):
    name = "efficiency-susy-plain-auc"
    markdown = (site / "out" / "tables" / f"{name}.md").read_text()
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 8
    assert {line.count("|") for line in lines} == {13}
    assert lines[2].startswith("| 5×16 | · [-22.4%] |")  # the paper's alone
    latex = (site / "out" / "tables" / f"{name}.tex").read_text()
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {11}
    assert r"\textcolor{gray}{-22.4\%}" in latex
    assert not re.search(r"(?<!\\)%", latex)
    assert latex.isascii()


def test_markdown_report_says_what_is_missing(site):
    report = (site / "out" / "report.md").read_text()
    assert "> The events of HIGGS and SUSY are simulated" in report
    [untrained] = re.findall("- HIGGS, residual, all activations: (.*)", report)
    assert "15x16" in untrained.split(", ")
    lacking = "Leaky ReLU, SELU, DBN n=9, DBN n=15"
    assert f"- SUSY, plain 15x16: {lacking}" in report
    assert f"{report_site.DAMAGED.name} is damaged: " in report
    assert f"{report_site.LOST.name} (seed 0)" in report
    assert "![Parameters saved](figures/savings.png)" in report
    lines = missing_lines(cell_store.read(site / "store"))
    assert not any("HIGGS, residual" in line and " 5x16" in line for line in lines)


def test_page_is_one_file_with_sound_links(site):
    content = (site / "out" / "report.html").read_text()
    assert len(content) < 3_000_000
    page = report_site.Html(content)
    assert not page.open
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        elif link != "data:,":
            assert (site / "out" / link).is_file(), link
    assert "default-src 'none'" in content


def test_verdict_lines_are_of_the_store(site):
    lines = report_build.verdict_lines(site / "store")
    own = judged(cell_store.read(site / "store").results)
    assert len(lines) == sum(verdict.claim.headline for verdict in own)


@pytest.fixture(scope="module")
def browser(site, tmp_path_factory):
    if report_browser.find() is None:
        pytest.skip("no Chromium here")
    with report_browser.started(tmp_path_factory.mktemp("profile")) as opened:
        opened.size(1280, 900)
        opened.prefer("light")
        yield opened


@pytest.fixture
def page(browser, site):
    """Loaded anew, as it is first seen; nothing may reach the console."""
    browser.open(site / "out" / "report.html")
    yield browser
    assert browser.problems == []
    assert {url.partition(":")[0] for url in browser.requests} == {"file"}


def column(page, number):
    """What is shown in a column, from above."""
    return page.run(
        f"[...document.querySelector('{SHOWN} tbody').rows].filter(r => !r.hidden)"
        f".map(r => r.cells[{number}].firstChild.textContent)"
    )


def click(page, selector):
    page.run(f"document.querySelector({selector!r}).click()")


def test_browser_sorts(page):
    assert column(page, 0) == ["5×16", "5×32"]
    click(page, f"{SHOWN} th:nth-child(5) button")  # parameters of ReLU
    assert column(page, 4) == ["1,586", "5,218"]
    click(page, f"{SHOWN} th:nth-child(5) button")
    assert column(page, 4) == ["5,218", "1,586"]
    order = (
        f"[...document.querySelectorAll('{SHOWN} th[scope=col]')].map(h => h.ariaSort)"
    )
    assert page.run(order).count("descending") == 1
    click(page, "#tools input[type=checkbox]")
    click(page, f"{SHOWN} th:nth-child(5) button")
    sizes = [int(text.replace(",", "")) for text in column(page, 4)]
    assert sizes == sorted(sizes)
    assert len(sizes) == 20
    click(page, f"{SHOWN} th:nth-child(6) button")  # AUC of ReLU: 18 are not known
    click(page, f"{SHOWN} th:nth-child(6) button")
    values = column(page, 5)
    assert len(values) == 20
    assert values[0] > values[1]
    assert set(values[2:]) == {"·"}


def test_browser_filters_and_chooses(page):
    click(page, "#tools input[type=checkbox]")
    assert len(column(page, 0)) == 20
    page.run(
        "const field = document.querySelector('#tools input[type=search]');"
        "field.value = '150x'; field.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert column(page, 0) == ["150×16", "150×32", "150×128", "150×256"]
    shown = (
        "[...document.querySelectorAll('.part, figure')].filter(p => p.dataset.dataset"
        " && p.offsetParent).map(p => p.id)"
    )
    assert "efficiency-higgs-residual-auc" in page.run(shown)
    page.run("location.hash = '#efficiency-susy-plain-loss'; new Promise(r => "
             "addEventListener('hashchange', () => setTimeout(r)))")  # fmt: skip
    assert {name for name in page.run(shown) if name.startswith("eff")} == {
        "efficiency-susy-plain-loss"
    }
    assert "distribution-susy-plain-loss" in page.run(shown)


def test_browser_says_that_a_group_is_empty(page):
    click(page, "input[name=kind][value=plain]")
    part = "document.querySelector('#efficiency-higgs-plain-auc"
    assert page.run(f"{part} .empty').offsetParent !== null")
    assert page.run(f"{part} table').offsetParent === null")


def test_browser_draws_losses_on_focus_and_on_hover(page):
    assert page.run("document.getElementById('peek').hidden")
    page.run(f"document.querySelector('{SHOWN} tbody button').focus()")
    assert not page.run("document.getElementById('peek').hidden")
    # ReLU and four degrees
    assert page.run("document.querySelectorAll('#peek polyline').length") == 5
    assert "DBN n=25, 5×16" in page.run("document.getElementById('peek').textContent")
    # A mouse that rests elsewhere does not close what has the focus.
    page.hover(2, 2)
    assert not page.run("document.getElementById('peek').hidden")
    page.press("Escape")
    assert page.run("document.getElementById('peek').hidden")
    x, y = page.run(
        f"(() => {{ const e = document.querySelector('{SHOWN} tbody td[data-curves]');"
        "e.scrollIntoView({behavior: 'instant', block: 'center'});"
        "const box = e.getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()"
    )
    page.hover(x, y)
    assert page.run("document.querySelectorAll('#peek polyline').length") == 2
    point = (
        "document.querySelector('[id$=\"point--higgs-residual-5x16-relu\"]')"
        ".dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    page.run(point)
    assert page.run("document.getElementById('peek').textContent").endswith(
        "ReLU, 5×16"
    )


def test_browser_is_usable_with_the_keyboard(page):
    page.run(f"document.querySelector('{SHOWN} th:nth-child(5) button').focus()")
    page.press("Enter")
    page.press("Enter")
    assert column(page, 4) == ["5,218", "1,586"]
    page.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.run("document.activeElement.textContent") == "ReLU AUC"
    assert page.run(outline) == "solid"


def test_browser_has_light_and_dark(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    page.prefer("dark")
    dark = page.run(background)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    axis = (
        "getComputedStyle(document.querySelector('#overview svg text')).fill"
        " === getComputedStyle(document.body).color"
    )
    assert page.run(axis)
    click(page, "#theme")
    assert page.run(background) == light
    click(page, "#theme")
    assert page.run(background) == dark
    page.prefer("light")
    assert page.run(background) == dark  # what was chosen stays
    page.run("localStorage.clear()")


def test_browser_on_a_phone_does_not_scroll_sideways(page):
    page.size(360, 740, mobile=True)
    page.run("document.querySelector('details').open = true")
    wide = page.run("document.documentElement.scrollWidth")
    page.size(1280, 900)
    assert wide == 360
