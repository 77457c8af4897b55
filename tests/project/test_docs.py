"""README.md and the pages in docs: their code runs, and what they point at is there."""

import argparse
import doctest
import functools
import importlib
import re
import tomllib

import pytest

import jaxbern as jb
from jaxbern.kernels import backends
from tests.project import pages
from tests.project.pages import PAGES, ROOT

CHAINS = {
    f"{page.name}:{chain[0].line}": (page, chain)
    for page in PAGES
    for chain in pages.chains(page)
}
COMMANDS = sorted(
    {tuple(c) for page in PAGES for c in pages.commands(pages.text_of(page))}
)
RUNNABLE = ("experiments", "jaxbern", "tests.faults", "tests.ptx")
OPTIONAL = ("equinox", "matplotlib", "sklearn")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.mark.slow
@pages.as_a_reader()
@pytest.mark.parametrize("name", CHAINS)
def test_python(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write a file
    # One adds a backend, which other tests are not to find.
    monkeypatch.setattr(backends, "BACKENDS", dict(backends.BACKENDS))
    page, chain = CHAINS[name]
    names: dict = {"__name__": "__main__"}
    for block in chain:
        for package in OPTIONAL:
            if re.search(rf"^(import|from) {package}\b", block.code, flags=re.M):
                pytest.importorskip(package)
        names.pop("checked", None)
        # So many empty lines make a traceback point at the line of the page.
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        assert names.get("checked"), (
            f"{page.name}, block after line {block.line}: a block ends with `checked = ...`, "
            f"which must be true, got {names.get('checked')!r}"
        )


@each_page
def test_no_python_is_overlooked(page):
    assert pages.text_of(page).count("```python") == sum(map(len, pages.chains(page)))


class Understood(Exception):
    """The command line was parsed; nothing more is wanted."""


@pytest.fixture
def only_parse(monkeypatch):
    """Every command ends where its work would begin."""
    parse = argparse.ArgumentParser.parse_args

    def and_stop(*args, **options):
        parse(*args, **options)
        raise Understood

    def stop():
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", and_stop)
    monkeypatch.setattr("jaxbern.doctor.run", stop)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.usefixtures("only_parse")
def test_command(command):
    """An option that is not there ends in ``SystemExit``, with argparse's message."""
    program, *rest = command
    if rest[:1] == ["-m"] and rest[1] in RUNNABLE:
        main = importlib.import_module(f"{rest[1]}.__main__").main
        if not rest[2:]:
            assert main([]) == 0
            return
        with pytest.raises(Understood):
            main(rest[2:])
    elif program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extras in re.findall(
            r"^(?:\.|jaxbern)\[(.+)\]$", "\n".join(rest), flags=re.M
        ):
            assert set(extras.split(",")) <= set(project["optional-dependencies"])
    else:
        assert (ROOT / rest[0]).is_file()


@each_page
def test_no_command_is_overlooked(page):
    text = pages.text_of(page)
    found = [c for c in pages.commands(text) if c[1:3] == ["-m", "experiments"]]
    assert len(re.findall(r"python\s+-m\s+experiments", text)) == len(found)


@each_page
def test_links(page):
    for target in pages.links(pages.text_of(page)):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} points at {target}, which is not there"
        if anchor:
            assert anchor in pages.anchors(pages.text_of(file)), (
                f"{page.name}: {target}"
            )


@each_page
def test_names_between_backquotes(page):
    """Files of the repository, and names of the library."""
    for code in pages.inline_code(pages.text_of(page)):
        of_ours = r"(docs|tests|kernels|jaxbern|experiments)/[\w./-]+\.\w+"
        if re.fullmatch(of_ours, code) and "NAME" not in code:
            assert (ROOT / code).is_file(), f"{page.name} names {code}"
        for dotted in re.findall(
            r"(?<![\w./-])(?:jb|jaxbern)\.([A-Za-z_][\w.]*)", code
        ):
            functools.reduce(getattr, dotted.rstrip(".").split("."), jb)


def test_every_page_and_example_can_be_found():
    """From the README, over links."""
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix not in (".md", ".py"):
            continue
        reached.add(page)
        if page.suffix == ".md":
            targets = (t.partition("#")[0] for t in pages.links(pages.text_of(page)))
            todo += [(page.parent / t).resolve() for t in targets if ":" not in t]
    there = {*PAGES, *(ROOT / "docs" / "examples").glob("*.py")}
    assert there - reached == set()


def public(module):
    """What ``__all__`` says; else what a module defines or a package re-exports."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    home = "jaxbern" if hasattr(module, "__path__") else module.__name__
    return {
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and str(getattr(thing, "__module__", "")).startswith(home)
    }


def test_the_reference_has_every_public_name():
    text = pages.text_of(ROOT / "docs" / "api.md")
    named: dict[str, set[str]] = {}
    for module, name in re.findall(r"^::: ([\w.]+)\.(\w+)$", text, flags=re.MULTILINE):
        named.setdefault(module, set()).add(name)
    assert len(named) > 8
    for module, names in named.items():
        assert names == public(importlib.import_module(module)), module


def test_the_site_shows_every_page():
    site = (ROOT / "mkdocs.yml").read_text()
    named = set(re.findall(r"\w+\.md$", site, flags=re.MULTILINE))
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")}


def documented():
    """Modules with examples in docstrings outside jaxbern, where pytest finds them."""
    for folder, package in (
        ("kernels", "jaxbern.kernels"),
        ("experiments", "experiments"),
    ):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if ">>>" in file.read_text():
                yield ".".join(
                    [package, *file.relative_to(ROOT / folder).with_suffix("").parts]
                )


@pytest.mark.parametrize("name", list(documented()))
def test_examples_in_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


def test_pytest_runs_the_docstrings_of_the_library():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    assert "--doctest-modules" in options["ini_options"]["addopts"].split()
    assert "jaxbern" in options["ini_options"]["testpaths"]


def test_the_walks_name_files_that_are_there():
    """Each file and folder in the blocks of architecture.md, by its last part."""
    text = pages.text_of(ROOT / "docs" / "architecture.md")
    blocks = re.findall(r"^```\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"[\w/]*\w\.py|[\w/]*\w(?=/[\s,])", "".join(blocks)))
    assert len(named) > 40
    places = {
        path.relative_to(ROOT).as_posix()
        for folder in ("jaxbern", "kernels", "experiments", "tests")
        for path in (ROOT / folder, *(ROOT / folder).rglob("*"))
    }
    missing = {n for n in named if not any(f"/{p}".endswith(f"/{n}") for p in places)}
    assert not missing
