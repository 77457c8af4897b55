"""No package uses a private name of another."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.project.import_graph import is_ours, modules


def privates_in(module: str, tree: ast.AST) -> Iterator[str]:
    """What a module uses that is another package's own business.

    ``p._m`` is there for the modules of ``p``, and ``_f`` in a module for that module alone.
    """
    known = {}  # names of modules in this one
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_ours(str(node.module)):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield from private(module, f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name] = alias.name
                yield from private(module, alias.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of = known.get(node.value.id, "")
            if of in modules():
                yield from private(module, f"{of}.{node.attr}")


def private(module: str, whole: str) -> Iterator[str]:
    parts = whole.split(".")
    for k, part in enumerate(parts):
        owner = ".".join(parts[:k])
        within = module == owner or module.startswith(f"{owner}.")
        if is_ours(whole) and re.match(r"_(?!_)", part) and not within:
            yield whole


@pytest.mark.slow
def test_no_package_uses_the_private_parts_of_another():
    for module, path in modules().items():
        found = sorted(set(privates_in(module, ast.parse(path.read_text()))))
        assert not found, f"{module} must not use {', '.join(found)}: it is private"


@pytest.mark.parametrize(
    "module, source, found",
    [
        ("jaxbern.train._fit", "from jaxbern.nn._mlp import MLP", ["jaxbern.nn._mlp.MLP"]),
        ("jaxbern.train._fit", "from jaxbern.nn import _mlp", ["jaxbern.nn._mlp"]),
        ("experiments.demo", "import jaxbern._version as v", ["jaxbern._version"]),
        ("jaxbern.nn._mlp", "from jaxbern.nn._act import _f", ["jaxbern.nn._act._f"]),
        ("jaxbern.nn._mlp", "from jaxbern.nn import _act\n_act._f()", ["jaxbern.nn._act._f"]),
        ("jaxbern.nn._mlp", "from jaxbern.nn import _act\n_act.f()", []),
        ("jaxbern.data.collider", "from jaxbern.data._dataset import Dataset", []),
    ],
)  # fmt: skip
def test_what_is_private(module, source, found):
    assert list(privates_in(module, ast.parse(source))) == found
