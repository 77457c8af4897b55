"""Docstrings begin with what a thing does or is, not in the middle of a sentence."""

import ast
import re

import pytest

from tests.project.pages import ROOT

FRAGMENT = re.compile(
    r"(Of|As|Not|So|In|By|At|For|With|On|From|Over|Under|Than|Such|Likewise|Also|Else|"
    r"Before|After|Inside|Between)\b"
)
DECODED = re.compile(
    r"\bso many\b|\bis no (number|checkpoint)\b|\bfor people\b|\bsees? to it\b|"
    r"\bas told\b|\bwhatever (comes|else)\b|\bin nobody's way\b|"
    r"\bsuch as it is\b",
    re.I,
)
# How a description of a result begins, where "Return ..." would say what the function does.
NOUN = re.compile(
    r"(The|A|An|What|Which|Whether|How|Where|All|Both|Each|Every|Those|One|Two|Some|It|"
    r"Nothing)\b|``"
)
# Folders whose functions all begin with a verb; properties may be named by a noun.
VERBS = ["jaxbern", "experiments", "tests/oracles"]
# Sentences that describe data, which the report of the experiment prints.
DESCRIBED = ("two_moons", "damped_oscillator", "gaussian_sine")


def documented(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node)
                if text:
                    yield (
                        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}",
                        text,
                        node,
                    )


@pytest.mark.parametrize("folder", ["jaxbern", "kernels", "experiments"])
def test_docstrings_are_whole_sentences(folder):
    found = list(documented(folder))
    assert len(found) > 100
    assert [name for name, text, _ in found if FRAGMENT.match(text)] == []
    assert [name for name, text, _ in found if DECODED.search(text)] == []


@pytest.mark.parametrize("folder", VERBS)
def test_functions_say_what_they_do(folder):
    found = [
        (name, text)
        for name, text, node in documented(folder)
        if isinstance(node, ast.FunctionDef)
        and node.name not in DESCRIBED
        and not any("property" in ast.unparse(mark) for mark in node.decorator_list)
    ]
    assert found
    assert [name for name, text in found if NOUN.match(text)] == []
