"""Docstrings begin with what a thing does or is, not in the middle of a sentence."""

import ast
import re

import pytest

from tests.project.pages import ROOT

FRAGMENT = re.compile(
    r"(Of|As|Not|So|In|By|At|For|With|On|From|Over|Under|Than|Such|Likewise|Also|Else|"
    r"Before|After|Inside|Between)\b"
)
DECODED = re.compile(r"\bso many\b|\bis no (number|checkpoint)\b|\bfor people\b", re.I)


def docstrings(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(ROOT)}: {text.splitlines()[0]}", text


@pytest.mark.parametrize("folder", ["jaxbern", "kernels", "experiments"])
def test_docstrings_are_whole_sentences(folder):
    found = list(docstrings(folder))
    assert len(found) > 100
    assert [name for name, text in found if FRAGMENT.match(text)] == []
    assert [name for name, text in found if DECODED.search(text)] == []
